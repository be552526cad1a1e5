"""The schedule of a match: which programs and opening each numbered game has.

Numbers do not depend on the match's length, so that a journal stays valid if the match is lengthened.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

KINDS = ("round-robin", "gauntlet", "ladder")
"""Each program against each other one, the first against all others, or each against the next."""


class ScheduledGame(NamedTuple):
    """A game: the index of its pairing in `Schedule.pairings`, its number ``within`` the pairing, the indices of the
    programs with Black and White and of its opening.
    """

    pairing: int
    within: int
    black: int
    white: int
    opening: int


class Schedule(NamedTuple):
    """All games of a match: ``games`` for each pairing, in pairs with one opening and exchanged colours.

    Games are numbered from 0, round after round, two for each pairing in a round. If ``games`` is odd, the last round
    has only the first of the two, and the number of the second is not used: iterate over `numbers`, not over
    ``range(total)``. If there are fewer ``openings`` than rounds, they repeat.
    """

    programs: int
    kind: str
    games: int
    openings: int

    @property
    def pairings(self) -> list[tuple[int, int]]:
        """The pairs of programs that meet, the one that begins with Black first."""
        others = range(1, self.programs)
        if self.kind == "gauntlet":
            return [(0, other) for other in others]
        if self.kind == "ladder":
            return [(other - 1, other) for other in others]
        return [(first, second) for second in others for first in range(second)]

    @property
    def rounds(self) -> int:
        """The number of openings that each pairing plays."""
        return (self.games + 1) // 2

    @property
    def total(self) -> int:
        """The number of games."""
        return self.games * len(self.pairings)

    def numbers(self) -> Iterator[int]:
        """Yield the numbers of the games in the order of play. If ``games`` is odd, each pairing plays only the first
        game of the last round, and the numbers of the second games are left out.
        """
        for number in range(2 * self.rounds * len(self.pairings)):
            if self.place(number).within < self.games:
                yield number

    def place(self, number: int) -> ScheduledGame:
        """Return the game with a number, which may be beyond the end of the match."""
        pairings = self.pairings
        pair, second = divmod(number, 2)
        turn, pairing = divmod(pair, len(pairings))
        black, white = pairings[pairing]
        if second:
            black, white = white, black
        return ScheduledGame(pairing, 2 * turn + second, black, white, turn % self.openings)
