"""The games of a match by a cluster, for `desdaemon match --cluster`: played at the workers, returned in order.

A game travels as a text: the command lines of its programs, digests of their files, opening and terms. A worker whose
programs are others gets no more games.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import lru_cache
from typing import NamedTuple

from desdaemon.book.growth.engine_evaluator import HASH_BITS
from desdaemon.clients.match.adjudicator import Adjudicator
from desdaemon.clients.match.engine_process import EngineFault, command_of, command_text
from desdaemon.clients.match.identity import identity as files_of
from desdaemon.clients.match.process_groups import ProcessGroups
from desdaemon.clients.match.referee import Finished, MatchTerms
from desdaemon.clients.match.results.journal import entry_game, game_entry
from desdaemon.clients.match.time_control import TimeControl
from desdaemon.clients.match.workers import GameToPlay, Program, play_single
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.othello.notation import board_text, moves_text, parse_board, parse_moves, play_moves

from . import tasks as remote
from .connection import CONNECTIONS
from .identity import identity
from .pool import ClusterSearches, SearchKind

_LONG = 60


class GameTask(NamedTuple):
    """A game to play, as a text."""

    text: str

    @property
    def level(self) -> int:
        """As of a very long search: games go out one by one until it is known how long they take."""
        return _LONG

    @property
    def empties(self) -> int:
        """The same for all."""
        return _LONG


class GameAnswer(NamedTuple):
    """A finished game as a text, and the ms that it took."""

    text: str
    ms: float

    @property
    def compared(self) -> str:
        """Nothing: programs with clocks, or with choices by lot, play another game each time."""
        return ""


def task_of(game: GameToPlay) -> GameTask:
    """A game as a text."""
    return GameTask(
        json.dumps(
            {
                "programs": [
                    [command_text(program.command), program.protocol, program.name, program.control, digest]
                    for program, digest in zip(game.programs, game.digests, strict=True)
                ],
                "board": board_text(game.opening.initial),
                "moves": moves_text([played.move for played in game.opening.moves]),
                "terms": game.terms._replace(solver=None),
            }
        )
    )


def game_of(task: GameTask) -> GameToPlay:
    """The game in a text."""
    sent = json.loads(task.text)
    programs = [
        Program(command_of(text), protocol, name, TimeControl(*control))
        for text, protocol, name, control, _ in sent["programs"]
    ]
    initial = parse_board(sent["board"])
    moves = tuple(PlayedMove(move, 0.0) for move in play_moves(initial, parse_moves(sent["moves"])))
    return GameToPlay(
        (programs[0], programs[1]),
        (sent["programs"][0][-1], sent["programs"][1][-1]),
        GameRecord(initial, moves),
        MatchTerms(*sent["terms"]),
    )


@lru_cache(maxsize=64)
def _digest(command: tuple[str, ...]) -> str:
    return str(files_of(list(command))["sha256"])


def _played(game: GameToPlay, groups: ProcessGroups) -> GameAnswer:
    adjudicator = Adjudicator(groups)
    begun = time.perf_counter()
    try:
        finished, remarks = play_single(game, groups, adjudicator.solve)
    finally:
        adjudicator.close()
    text = json.dumps({**game_entry(finished), "remarks": remarks})
    return GameAnswer(text, (time.perf_counter() - begun) * 1000)


def play_batch(
    expected: tuple[str, str], job: str, hash_bits: int, games: tuple[tuple[str], ...]
) -> tuple[str, list[tuple[str, float] | None]]:
    """The task of games: the worker's name, and each finished game, None from the moment on when the job was stopped.

    Raises `OtherIdentity` where a program has other files here, `BadInput` where one does not start.
    """
    state = remote.asked(expected)

    def one(task: GameTask, groups: ProcessGroups) -> GameAnswer | None:
        game = game_of(task)
        for program, digest in zip(game.programs, game.digests, strict=True):
            if _digest(tuple(program.command)) != digest:
                text = command_text(program.command)
                raise remote.OtherIdentity(state.name, f"has another state of the files of the program {text}, or none")
        try:
            answer = _played(game, groups)
        except (BadInput, EngineFault):
            if groups.stopped:
                return None
            raise
        return None if groups.stopped else answer

    found = [state.run(job, one, GameTask(*game), ProcessGroups()) for game in games]
    return state.name, [None if answer is None else (answer.text, answer.ms) for answer, _ in found]


GAMES = SearchKind[GameTask, GameAnswer](play_batch, GameAnswer, lambda task: "a game", checked=False)


class ClusterPlayers:
    """The workers of a scheduler as players of games; `play` is called from one thread, `stop` from any."""

    def __init__(self, address: str, tls: str, groups: ProcessGroups, note: Callable[[str], None]) -> None:
        """``groups`` are for games that the cluster cannot play, ``note`` gets what a person should know. Raises
        `BadInput` where there is no scheduler."""
        self._groups = groups
        self._note = note
        self._remarked: set[str] = set()
        self._games = ClusterSearches(
            CONNECTIONS.client(address, tls),
            identity(Weights.load()),
            GAMES,
            self._here,
            hash_bits=HASH_BITS,
            note=note,
        )

    def _here(self, task: GameTask) -> GameAnswer | None:
        try:
            return _played(game_of(task), self._groups)
        except (BadInput, EngineFault):
            if self._groups.stopped:
                return None
            raise

    def play(self, games: Iterable[GameToPlay]) -> Iterator[Finished | None]:
        """See `OtherPlayers.play`."""
        with closing(self._games.answers(map(task_of, games))) as answers:
            for answer in answers:
                if answer is None:
                    yield None
                    return
                entry = json.loads(answer.text)
                for remark in entry["remarks"]:
                    if remark not in self._remarked:
                        self._remarked.add(remark)
                        self._note(remark)
                yield entry_game(entry)

    def stop(self) -> None:
        """See `OtherPlayers.stop`."""
        self._games.stop()
