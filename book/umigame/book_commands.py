"""The row of the book command `umigame`."""

from __future__ import annotations

from desdaemon.protocol.commands.book_rows import BookCommand, number
from desdaemon.protocol.wire.fields import Field

COMMANDS = (
    BookCommand(
        "umigame",
        (number("depth", 1, 60, "Moves from the position on the board to the ends of lines, at most.", 60),),
        "Show how few lines of the book each side must know to keep its score from here against every best reply.",
        long=True,
        places=True,
        handler="desdaemon.book.umigame.handlers:umigame",
        results=(
            Field("black", "int", "Lines that Black must know to keep the score, at most 2^53.", "lines", since="1.5"),
            Field("white", "int", "Lines that White must know.", "lines", since="1.5"),
            Field("black_after", "{int}", "The same for Black after each move of the book.", "lines", since="1.5"),
            Field("white_after", "{int}", "The same for White.", "lines", since="1.5"),
        ),
    ),
)
