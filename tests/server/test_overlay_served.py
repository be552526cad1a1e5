"""Clients that edit one book at the same time: an overlay over a packed base."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest
import referee
from served import Peer, serving

pytestmark = [pytest.mark.slow, pytest.mark.compiled, pytest.mark.needs("book.packed")]

EDITS = 16


def edits(owner: Peer, seed: int, done: set[tuple[int, int]]) -> list[tuple[str, str, int]]:
    """Lines to positions of the book, with a move to edit and its score; no two lead to the same position."""
    found: list[tuple[str, str, int]] = []
    rng = random.Random(seed)
    while len(found) < EDITS:
        board, line = referee.start(), ""
        for _ in range(rng.randrange(1, 7)):
            move = rng.choice(referee.legal_moves(board))
            board, line = referee.play(board, move), line + referee.name(move).lower()
        key = referee.canonical_bits(board)
        if key not in done and owner.final("book.get", {"moves": line[:-2]})["found"]:
            done.add(key)
            found.append((line[:-2], line[-2:], rng.randrange(-40, 41)))
    return found


def test_every_acknowledged_edit_of_two_clients_is_found(tmp_path: Path) -> None:
    wrong: list[object] = []
    together = threading.Barrier(2)

    def edit(endpoint: str, plan: list[tuple[str, str, int]]) -> None:
        with Peer(endpoint) as peer:
            together.wait()
            for number, (line, move, score) in enumerate(plan):
                peer.final("book.edit", {"moves": line, "move": move, "score": score})
                wrong.extend(missing(peer, plan[: number + 1]))

    def missing(peer: Peer, plan: list[tuple[str, str, int]]) -> list[object]:
        """Edits that a look-up does not give, with what it gives."""
        asked = [(line + move, -score) for line, move, score in plan]
        return [
            (line, score, entry)
            for line, score in asked
            if (entry := peer.final("book.get", {"moves": line})).get("score") != score
        ]

    with serving(tmp_path) as served:
        with Peer(served.ipc) as owner:
            owner.final("book.load", {"file": "builtin"})
            owner.final("book.save", {"file": "base.packed"})
            owner.final("book.load", {"file": "base.packed", "overlay": "mine"})
            done: set[tuple[int, int]] = set()
            plans = [edits(owner, seed, done) for seed in (1, 2)]
            threads = [threading.Thread(target=edit, args=(served.ipc, plan)) for plan in plans]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert wrong == []
            assert missing(owner, [*plans[0], *plans[1]]) == []
        served.kill()
        served.start()
        with Peer(served.ipc) as owner:
            owner.final("book.load", {"file": "mine"})
            assert missing(owner, [*plans[0], *plans[1]]) == []
