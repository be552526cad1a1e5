"""Why a move loses discs: what its line of best play shows on the board, and what that of the best move shows."""
