"""Offsets and sizes in a book.dat, version 4, for kernels and Python."""

# A record of Edax's book.dat, version 4: the fields, then the links (score and move, a byte each), then the leaf.
DAT_COUNTS = 16
DAT_SCORE = 32
"""Offset of the score, a signed 16-bit number, as are the two bounds after it."""
DAT_LINKS = 38
"""Offset of the number of links."""
DAT_LEVEL = 39
DAT_FIXED = 40
"""Bytes before the links."""
DAT_LINK_BYTES = 2
DAT_LEAST = DAT_FIXED + DAT_LINK_BYTES
"""Bytes of the shortest record, which has no links."""
DAT_MOST = 176
"""At least as many bytes as the longest record has."""
DAT_BOUND = 512
"""Largest absolute value of Edax's bounds."""
