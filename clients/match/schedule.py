"""The schedule of a match: its games by number, which the journal refers to and which do not depend on the match's
length.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

KINDS = ("round-robin", "gauntlet")
"""Each program against each other one, or the first against all others."""


class ScheduledGame(NamedTuple):
    """A scheduled game: its pairing, its number within the pairing, the programs that play Black and White, its
    opening.
    """

    pairing: int
    within: int
    black: int
    white: int
    opening: int


class Schedule(NamedTuple):
    """All games of a match: ``games`` for each pairing, in pairs with the same opening and exchanged colours.

    Game numbers count from 0: round after round, in each the two games of each pairing. They do not depend on
    ``games``. If the ``openings`` are fewer than the rounds, they repeat.
    """

    programs: int
    kind: str
    games: int
    openings: int

    @property
    def pairings(self) -> list[tuple[int, int]]:
        """The programs that meet, the one that begins with Black first."""
        others = range(1, self.programs)
        if self.kind == "gauntlet":
            return [(0, other) for other in others]
        return [(first, second) for second in others for first in range(second)]

    @property
    def rounds(self) -> int:
        """Openings that each pairing plays."""
        return (self.games + 1) // 2

    @property
    def total(self) -> int:
        """Games in all."""
        return self.games * len(self.pairings)

    def numbers(self) -> Iterator[int]:
        """The games in the order in which they are begun."""
        for number in range(2 * self.rounds * len(self.pairings)):
            if self.place(number).within < self.games:
                yield number

    def place(self, number: int) -> ScheduledGame:
        """The place of a game."""
        pairings = self.pairings
        pair, second = divmod(number, 2)
        turn, pairing = divmod(pair, len(pairings))
        black, white = pairings[pairing]
        if second:
            black, white = white, black
        return ScheduledGame(pairing, 2 * turn + second, black, white, turn % self.openings)
