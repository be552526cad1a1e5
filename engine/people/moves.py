"""Moves as people choose them, and as the option `strength` plays: for it, `people.get` and `desdaemon.Engine`.

Any thread may call the functions. They raise `EngineFailure` if the policy or the search cannot be loaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from desdaemon.core.search.loader import EngineFailure
from desdaemon.engine.compiler.library import LibraryError
from desdaemon.engine.evaluation.weights_file import WeightsError
from desdaemon.protocol.othello.rules import PASS

from .rows import STRENGTH, STRENGTH_SEED

if TYPE_CHECKING:
    from desdaemon.dialogue.session import Session
    from desdaemon.engine.limits import Limits
    from desdaemon.protocol.othello.notation import Position

    from .strength import StrengthPolicy

_LOCK = Lock()


@contextmanager
def _policy() -> Iterator[StrengthPolicy]:
    """Return a context manager: within the block its value, the shipped policy, belongs to the caller."""
    from .strength import StrengthPolicy

    with _LOCK:
        try:
            policy = StrengthPolicy.load()
        except (LibraryError, WeightsError, OSError, MemoryError) as error:
            raise EngineFailure(str(error)) from None
        yield policy


def choose(session: Session, position: Position, limits: Limits) -> int:
    """Return the move of the option `strength` in a dialogue, which takes no time that ``limits`` would bound."""
    settings, game = session.settings, session.game
    line = game.moves if position == game.position else ()
    strength, seed = settings.value(STRENGTH, int), settings.value(STRENGTH_SEED, int)
    return human_move(position.player, position.opponent, strength, seed, line)


def chances(player: int, opponent: int, rating: int, line: Sequence[int] = ()) -> dict[int, float]:
    """Return how likely people of a rating are to choose each legal move of ``player``, who has at least one. ``line``
    are the moves that led to the position, empty if they are not known.
    """
    with _policy() as policy:
        return policy.chances(player, opponent, rating, _last(line))


def human_move(player: int, opponent: int, strength: int, seed: int, line: Sequence[int] = ()) -> int:
    """Return the move that a strength plays for ``player``, who has at least one, after ``line``: with the same
    ``seed`` the same move, with 0 another one each time.
    """
    return drawn_move(chances(player, opponent, strength, line), player, opponent, strength, seed)


def drawn_move(found: dict[int, float], player: int, opponent: int, strength: int, seed: int) -> int:
    """Return what `human_move` returns. ``found`` is what `chances` returned for this position and strength."""
    from .policy import drawn
    from .strength import weight_of

    with _policy() as policy:
        found = policy.raised(found, player, opponent, weight_of(strength))
    return drawn(found, player, opponent, seed or int.from_bytes(os.urandom(8), "little"))


def _last(line: Sequence[int]) -> int:
    return line[-1] if line else PASS
