"""What Egaroucid's books bring: their format."""

from __future__ import annotations

from desdaemon.protocol.rows import HAND, LEAF_LEVELS, SCORES, BookFormat, Satellite

SATELLITE = Satellite(
    book_formats=(
        BookFormat(
            "egaroucid",
            (".egbk3",),
            b"DICUORAGE",
            "desdaemon.book.egaroucid.file:read",
            "desdaemon.book.egaroucid.file:write",
            frozenset((SCORES, LEAF_LEVELS, HAND)),
            rule="egaroucid",
            old=(".egbk2", ".egbk"),
        ),
    ),
    libraries=("desdaemon.book.egaroucid.exports",),
)
