"""What Edax's books bring: their format."""

from __future__ import annotations

from desdaemon.protocol.rows import BOUNDS, PATHS, SCORES, SETTINGS, BookFormat, Satellite

SATELLITE = Satellite(
    book_formats=(
        BookFormat(
            "edax",
            (".dat",),
            b"XADEKOOB",
            "desdaemon.book.edax.file:read",
            "desdaemon.book.edax.file:write",
            frozenset((BOUNDS, PATHS, SETTINGS, SCORES)),
        ),
    ),
    libraries=("desdaemon.book.edax.exports",),
)
