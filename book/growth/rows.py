"""What book growth brings: the book commands that add moves near the best lines, search leaves again, and play."""

from __future__ import annotations

from desdaemon.protocol.rows import Satellite

SATELLITE = Satellite(
    book_commands="desdaemon.book.growth.book_commands:COMMANDS", libraries=("desdaemon.book.growth.exports",)
)
