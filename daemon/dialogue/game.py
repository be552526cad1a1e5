"""A game in progress: initial position, moves, moves taken back, thinking times."""

from __future__ import annotations

import os

from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, Position


class PlayedGame:
    """A game in progress: plays moves, takes them back, and sums up the engine's thinking times. For one thread."""

    def __init__(self) -> None:
        self.initial: Position = START
        self.position: Position = START
        """``initial`` after all ``moves``."""
        self.moves: list[int] = []
        """All moves, passes included."""
        self.black_ms = 0.0
        """Ms that the engine has thought as Black."""
        self.white_ms = 0.0
        self._undone: list[int] = []
        """Moves taken back; the last of the list is redone first."""
        self.mark = os.urandom(16)
        """Tells this game from all others, of the same moves too."""

    def start(self, initial: Position) -> None:
        """Start a game from a position."""
        self.initial = initial
        self.restart()

    def restart(self) -> None:
        """Start the game again from its initial position; forget its moves and the times. It is another game."""
        self.position = self.initial
        self.moves = []
        self._undone = []
        self.mark = os.urandom(16)
        self.black_ms = self.white_ms = 0.0

    def play(self, move: int) -> None:
        """Play a move; moves taken back before can no longer be redone. Raises `IllegalMove`."""
        self.position = self.position.after(move)
        self.moves.append(move)
        self._undone.clear()

    def undo(self) -> bool:
        """Take back one ply. Returns False if there is none."""
        if not self.moves:
            return False
        self._undone.append(self.moves.pop())
        self.position = self.initial
        for move in self.moves:
            self.position = self.position.after(move)
        return True

    def redo(self) -> bool:
        """Play the move that was taken back last. Returns False if there is none."""
        if not self._undone:
            return False
        move = self._undone.pop()
        self.position = self.position.after(move)
        self.moves.append(move)
        return True

    @property
    def taken_back(self) -> int:
        """The number of plies that `redo` can play."""
        return len(self._undone)

    def positions(self) -> list[Position]:
        """Return the position before each move, and the present one."""
        positions = [self.initial]
        for move in self.moves:
            positions.append(positions[-1].after(move))
        return positions

    def charge(self, black: bool, ms: float) -> None:
        """Add ``ms`` to the time that the engine has thought as Black (``black``) or White."""
        if black:
            self.black_ms += ms
        else:
            self.white_ms += ms

    def transform(self, symmetry: int, swap_colours: bool = False) -> None:
        """Turn the game and the moves that `redo` would play by a symmetry of `rules.transform`; with ``swap_colours``
        exchange the colours and their times too.
        """

        def image(position: Position) -> Position:
            player, opponent, black = position
            return Position(
                rules.transform(player, symmetry), rules.transform(opponent, symmetry), black != swap_colours
            )

        self.initial = image(self.initial)
        self.position = image(self.position)
        self.moves, self._undone = (
            [rules.transform_move(move, symmetry) for move in moves] for moves in (self.moves, self._undone)
        )
        if swap_colours:
            self.black_ms, self.white_ms = self.white_ms, self.black_ms
