"""What reports bring: the book commands that look at many positions, merge two books, and salvage a damaged one."""

from __future__ import annotations

from desdaemon.protocol.rows import Satellite

SATELLITE = Satellite(
    book_commands="desdaemon.book.reports.book_commands:COMMANDS", libraries=("desdaemon.book.reports.exports",)
)
