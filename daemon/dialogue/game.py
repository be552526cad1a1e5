"""A game in progress: initial position, moves, moves taken back, thinking time."""

from __future__ import annotations

from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, Position


class PlayedGame:
    """The state of a game. Used by one thread."""

    def __init__(self) -> None:
        self.initial: Position = START
        self.position: Position = START
        """The position after ``moves`` from ``initial``."""
        self.moves: list[int] = []
        """All moves, passes included."""
        self.black_ms = 0.0
        """Thinking time of the engine as Black."""
        self.white_ms = 0.0
        self._undone: list[int] = []
        """The moves taken back, the first one of the game last."""
        self._counted: list[int] = []
        """The moves of the game whose result was counted last."""

    def start(self, initial: Position) -> None:
        """Start a game from a position."""
        self.initial = initial
        self.restart()

    def restart(self) -> None:
        """Go back to the initial position."""
        self.position = self.initial
        self.moves = []
        self._undone = []
        self._counted = []
        self.black_ms = self.white_ms = 0.0

    def play(self, move: int) -> None:
        """Play a move; the moves taken back can no longer be redone. Raises `IllegalMove`."""
        self.position = self.position.after(move)
        self.moves.append(move)
        self._undone.clear()

    def undo(self) -> bool:
        """Take back one ply. Returns False at the beginning."""
        if not self.moves:
            return False
        self._undone.append(self.moves.pop())
        self.position = self.initial
        for move in self.moves:
            self.position = self.position.after(move)
        return True

    def redo(self) -> bool:
        """Play the move taken back last. Returns False when there is none."""
        if not self._undone:
            return False
        move = self._undone.pop()
        self.position = self.position.after(move)
        self.moves.append(move)
        return True

    def counted(self) -> bool:
        """Return True if the result of the game with these moves was counted already; mark it as counted."""
        already = self._counted == self.moves
        self._counted = list(self.moves)
        return already

    def positions(self) -> list[Position]:
        """Return the positions before each move, and the one on the board."""
        positions = [self.initial]
        for move in self.moves:
            positions.append(positions[-1].after(move))
        return positions

    def charge(self, black: bool, ms: float) -> None:
        """Add thinking time to a side."""
        if black:
            self.black_ms += ms
        else:
            self.white_ms += ms

    def transform(self, symmetry: int, swap_colours: bool = False) -> None:
        """Put the whole game under a symmetry of `rules.transform`, and optionally exchange the colours."""

        def image(position: Position) -> Position:
            player, opponent, black = position
            return Position(
                rules.transform(player, symmetry), rules.transform(opponent, symmetry), black != swap_colours
            )

        self.initial = image(self.initial)
        self.position = image(self.position)
        self.moves = [rules.transform_move(move, symmetry) for move in self.moves]
        self._undone = [rules.transform_move(move, symmetry) for move in self._undone]
        if swap_colours:
            self.black_ms, self.white_ms = self.white_ms, self.black_ms
