"""The kinds of reasons."""

KINDS = {
    "corner": "discs on edges that are held from corners",
    "x-square": "moves on X-squares beside empty corners",
    "c-square": "moves on C-squares beside empty corners",
    "moves": "legal moves, the mean over the line",
    "opens": "squares that the move opens to the other side",
    "wall": "discs that border on empty squares",
    "quiet": "empty neighbours of the discs that the move turns",
    "wedge": "moves between two discs of the other side on an edge",
    "free": "moves that open nothing to the other side",
    "pass": "passes",
    "early": "discs, while many empty squares are left",
    "last": "regions of empty squares in which the side moves last",
    "turns": "most discs turned by a move",
}
"""What each kind counts for a side."""
