"""Moves as people choose them: for the option `strength`, the operation `people.get` and `desdaemon.Engine`.

Any thread may call the functions. They raise `EngineFailure` if the policy or the search cannot be loaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from desdaemon.engine.compiler.library import LibraryError
from desdaemon.engine.evaluation.weights_file import WeightsError
from desdaemon.protocol.othello.rules import PASS

from .loader import EngineFailure

if TYPE_CHECKING:
    from desdaemon.engine.policy import HumanPolicy

_LOCK = Lock()


@contextmanager
def _policy() -> Iterator[HumanPolicy]:
    """Return a context manager: within the block its value, the shipped policy, belongs to the caller."""
    from desdaemon.engine.policy import HumanPolicy

    with _LOCK:
        try:
            policy = HumanPolicy.load()
        except (LibraryError, WeightsError, OSError, MemoryError) as error:
            raise EngineFailure(str(error)) from None
        yield policy


def chances(player: int, opponent: int, rating: int, line: Sequence[int] = ()) -> dict[int, float]:
    """Return how likely people of a rating are to choose each legal move of ``player``, who has at least one. ``line``
    are the moves that led to the position, empty if they are not known.
    """
    with _policy() as policy:
        return policy.probabilities(player, opponent, rating, line[-1] if line else PASS)


def human_move(player: int, opponent: int, rating: int, seed: int, line: Sequence[int] = ()) -> int:
    """Return a legal move of ``player`` as people of a rating choose it after ``line``; ``seed`` as in `drawn`."""
    return drawn(chances(player, opponent, rating, line), player, opponent, seed)


def drawn(found: dict[int, float], player: int, opponent: int, seed: int) -> int:
    """Return a move drawn by the chances ``found`` of a position's moves: with the same ``seed`` the same move, with 0
    another one each time.
    """
    from desdaemon.engine.policy import drawn

    return drawn(found, player, opponent, seed or int.from_bytes(os.urandom(8), "little"))
