"""What Umigame's numbers bring: the book command `umigame`, on the wire `book.umigame`."""

from __future__ import annotations

from desdaemon.protocol.rows import Feature, Satellite

SATELLITE = Satellite(
    book_commands="desdaemon.book.umigame.book_commands:COMMANDS",
    features={"book.umigame": Feature("1.5", "`book.umigame`: how few lines must be known.")},
)
