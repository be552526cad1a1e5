"""Offsets and sizes in an .egbk3, for kernels and Python."""

# A record of Egaroucid's .egbk3.
EGBK_BYTES = 25
EGBK_SCORE = 16
EGBK_LEVEL = 17
EGBK_LINES = 18
EGBK_LEAF_SCORE = 22
EGBK_LEAF_MOVE = 23
EGBK_LEAF_LEVEL = 24
