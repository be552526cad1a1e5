"""What packed books bring: their format."""

from __future__ import annotations

from desdaemon.protocol.rows import BOOK_CONTENT, BookFormat, Satellite

SATELLITE = Satellite(
    book_formats=(
        BookFormat(
            "packed",
            (".packed",),
            b"DESPACK\n",
            "desdaemon.book.packed.table:read",
            "desdaemon.book.packed.table:write",
            BOOK_CONTENT,
            open="desdaemon.book.packed.table:open_mapped",
        ),
    ),
    libraries=("desdaemon.book.packed.exports",),
)
