"""The kinds of reasons."""

KINDS = {
    "corner": "discs on edges that are held from corners",
    "x-square": "moves on X-squares beside empty corners",
    "c-square": "moves on C-squares beside empty corners",
    "moves": "legal moves, the mean over the line",
    "room": "empty squares beside discs of the other side, the mean over the line",
    "opens": "squares that the move opens to the other side",
    "wall": "discs that border on empty squares, the mean over the line",
    "taken": "moves of the other side to the square that this one should have taken",
    "quiet": "empty neighbours of the discs that the move turns",
    "wedge": "moves between two discs of the other side on an edge",
    "free": "moves that open nothing to the other side, the mean over the line",
    "pass": "passes",
    "early": "discs, while many empty squares are left",
    "last": "regions of empty squares in which the side moves last",
    "turns": "discs turned up to the end of the game, where the lines reach it",
}
"""What each kind counts for a side."""
