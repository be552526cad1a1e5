"""A match that runs: threads play its games, each with its own programs; the main thread collects the results."""

from __future__ import annotations

import functools
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from desdaemon.clients.match.results.journal import Journal
from desdaemon.clients.match.results.scores import (
    FAILED_GAMES,
    PairingScore,
    failed_program,
    pairing_tallies,
    standings,
)
from desdaemon.clients.programs import statistics
from desdaemon.clients.programs.engine_process import EngineFault, command_text
from desdaemon.clients.programs.engine_protocols import START_S, EngineClient, start_player
from desdaemon.clients.programs.process_groups import ProcessGroups
from desdaemon.clients.programs.time_control import TimeControl
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.records import GameRecord
from desdaemon.protocol.othello.scores import BlackScore
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system import logs
from desdaemon.protocol.system.interpreter import SIGNALS_S
from desdaemon.protocol.system.terminal import ProgressLine

from .page import MatchPage
from .referee import Finished, MatchTerms, RunningGame, play_game
from .schedule import Schedule, ScheduledGame

T = TypeVar("T")
R = TypeVar("R")

_SILENT_S = 10.0
"""Seconds of a program's silence at its start before a message tells of it."""


class Program(NamedTuple):
    """A program of the match: command line, protocol, name or "", time control."""

    command: list[str]
    protocol: str
    name: str
    control: TimeControl


class Setting(NamedTuple):
    """All that defines a match. ``sprt`` are the two Elo differences of the sequential test (SPRT), and
    maybe its two risks; None: no test.
    """

    programs: list[Program]
    schedule: Schedule
    openings: list[GameRecord]
    terms: MatchTerms
    concurrency: int
    sprt: tuple[float, ...] | None
    log: Path | None


class Ending(NamedTuple):
    """How a match ended: ``finished``, ``decided`` by the sequential test, ``stopped``, ``failed`` or ``error``.

    ``program`` is the one that failed in every game, or -1; ``message`` is an error as one line.
    """

    kind: str
    program: int = -1
    message: str = ""


def sequential(setting: Setting, tallies: list[PairingScore]) -> statistics.Sequential | None:
    """Return the state of the sequential test of the first pairing; None if the match has no test."""
    return statistics.sequential(tallies[0].paired_sample, *setting.sprt) if setting.sprt else None


def started(program: Program, groups: ProcessGroups, log: Path | None = None) -> EngineClient:
    """Start a program, which the caller must close. Raises `BadInput` if it does not start or speak its protocol."""
    try:
        player = start_player(program.command, program.protocol, log, groups)
    except EngineFault as fault:
        text = quoted(command_text(program.command))
        raise BadInput(f"engine {text} does not speak {program.protocol}: {fault}") from None
    player.alias = program.name
    return player


def as_they_end(
    play: Callable[[T], R], items: Iterable[T], concurrency: int, groups: ProcessGroups, show: Callable[[], None]
) -> Generator[tuple[T, R]]:
    """Yield each item with the result of ``play``, which threads call for ``concurrency`` items at a time, as soon as
    it has ended. Items are taken when they are about to be played. ``show`` is called before each wait.

    Exceptions of ``play`` are raised. Once ``groups`` was stopped the iteration ends; its end, and closing it, stop the
    groups and wait for the threads. Iterate on the main thread.
    """
    waiting = iter(items)
    playing: dict[Future[R], T] = {}
    with ThreadPoolExecutor(concurrency, "game") as pool:
        try:
            while not groups.stopped:
                for item in islice(waiting, concurrency - len(playing)):
                    playing[pool.submit(play, item)] = item
                if not playing:
                    return
                show()
                for future in wait(playing, SIGNALS_S, FIRST_COMPLETED).done:
                    if groups.stopped:
                        return
                    yield playing.pop(future), future.result()
        finally:
            groups.stop()


class Match:
    """A running match: the threads that play its games, each with its own programs, and the results so far."""

    def __init__(
        self, setting: Setting, journal: Journal, groups: ProcessGroups, page: MatchPage | None = None
    ) -> None:
        self._setting = setting
        self._page = page
        self._running: dict[int, RunningGame] = {}
        self._journal = journal
        self._groups = groups
        self._teams: queue.SimpleQueue[tuple[int, dict[int, EngineClient]]] = queue.SimpleQueue()
        """The programs of threads that play no game now, by number, after the number of the thread."""
        for number in range(setting.concurrency):
            self._teams.put((number, {}))
        self._remarked: set[str] = set()
        self._begun = time.perf_counter()
        self._line = ProgressLine()
        self._names: dict[int, str] = {}
        self._given_up: dict[int, str] = {}
        """Programs of a tournament that failed in every game so far, and how: they lose the rest without being
        started.
        """
        self._tallies: list[PairingScore] = []
        for number, game in journal.games.items():
            self._check_names(number, game)

    def run(self) -> Ending:
        """Play the games that the journal lacks, and add them to it, until all are played, the match is decided or
        failed, an error ends it, or the process groups are stopped. Returns how it ended. Stops the groups; call it
        once.
        """
        todo = [number for number in self._setting.schedule.numbers() if number not in self._journal.games]
        left = len(todo)
        try:
            if self._page:
                self._page.resume(self._journal.games)
            ending = self._judged(not left)
            with closing(as_they_end(self._play, todo, self._setting.concurrency, self._groups, self._show)) as games:
                while ending is None and (played := next(games, None)):
                    number, game = played
                    self._check_names(number, game)
                    left -= 1
                    self._journal.add(number, game)
                    self._running.pop(number, None)
                    if self._page:
                        self._page.add(self._journal.games, number)
                    ending = self._judged(not left)
            return ending or Ending("stopped")
        except (BadInput, EngineFault) as error:
            return Ending("error", message=str(error))
        finally:
            self._line.clear()
            while not self._teams.empty():
                for player in self._teams.get()[1].values():
                    player.process.kill()

    def _show(self) -> None:
        """Bring the line of progress and the page, if there is one, up to date."""
        self._line.show(self._progress())
        if self._page:
            self._page.show(self._journal.games, dict(self._running))

    def _judged(self, ended: bool) -> Ending | None:
        """Return how the match ends after the games so far; None if it goes on. If ``ended``, all games are played."""
        self._tallies = tallies = pairing_tallies(self._journal.games, self._setting.schedule)
        table = standings(tallies, self._setting.schedule)
        if len(table) > 2:
            for program, one in enumerate(table):
                if one.failed and one.games >= FAILED_GAMES:
                    self._given_up[program] = list(one.faults)[-1]
        elif (failed := failed_program(table, ended=ended)) >= 0:
            return Ending("failed", failed)
        test = sequential(self._setting, tallies)
        if test is not None and test.accepted >= 0:
            return Ending("decided")
        return Ending("finished") if ended else None

    def _check_names(self, number: int, game: Finished) -> None:
        """Note the names that programs report in a game, if they were started. Raises `BadInput` for another name than
        in earlier games.
        """
        place = self._setting.schedule.place(number)
        for program, name in ((place.black, game.record.black), (place.white, game.record.white)):
            first_name = self._names.setdefault(program, name) if name else ""
            if first_name != name:
                raise BadInput(
                    f"program {program + 1} calls itself {quoted(name)}, in the games before {quoted(first_name)}: "
                    "expected the same version, or another journal"
                )

    def _play(self, number: int) -> Finished:
        """Play a game with the programs of a thread, which are started if need be and ended after a fault. Raises
        `BadInput` if one of two programs does not start; one of more loses the game.
        """
        thread, players = self._teams.get()
        try:
            setting, place = self._setting, self._setting.schedule.place(number)
            for program in sorted({place.black, place.white}):
                if program in self._given_up:
                    return self._lost(place, program, self._given_up[program], "not started: it failed in every game")
                if program not in players:
                    try:
                        players[program] = self._start(program, thread)
                    except BadInput as error:
                        if len(setting.programs) == 2 or self._groups.stopped:
                            raise
                        self._remark(str(error))
                        return self._lost(place, program, "crash", str(error))
            game = play_game(
                (players[place.black], players[place.white]),
                setting.openings[place.opening],
                (setting.programs[place.black].control, setting.programs[place.white].control),
                setting.terms,
                functools.partial(self._running.__setitem__, number),
            )
            for program in (place.black, place.white):
                for remark in sorted(players[program].remarks):
                    self._remark(f"{players[program].title}: {remark}")
                # After a fault the state of both programs is unknown.
                if game.faulty >= 0:
                    players.pop(program).close()
            return game
        finally:
            self._teams.put((thread, players))

    def _lost(self, place: ScheduledGame, program: int, ending: str, note: str) -> Finished:
        """Return a game that a program loses before its first move."""
        faulty = 0 if program == place.black else 1
        none = (0.0, 0.0)
        record = self._setting.openings[place.opening]._replace(black="", white="")
        return Finished(record, BlackScore(64 if faulty else -64), ending, faulty, note, none, none, (0, 0))

    def _start(self, program: int, thread: int) -> EngineClient:
        setting = self._setting
        command, protocol, _, _ = setting.programs[program]
        log = setting.log / f"{program + 1}-{thread + 1}.log" if setting.log else None
        text = quoted(command_text(command))
        waiting = f"engine {text} says nothing in {protocol} yet; it has {START_S:.0f} s for its start"
        reminder = threading.Timer(_SILENT_S, self._remark, (waiting,))
        reminder.daemon = True
        reminder.start()
        try:
            player = started(setting.programs[program], self._groups, log)
            player.wants_scores = self._page is not None
            return player
        finally:
            reminder.cancel()

    def _remark(self, text: str) -> None:
        """Tell the user something once. Any thread may call this."""
        if text not in self._remarked and not self._groups.stopped:
            self._remarked.add(text)
            logs.message(text, "desdaemon match")

    def _progress(self) -> str:
        setting = self._setting
        seconds = int(time.perf_counter() - self._begun)
        parts = [f"{len(self._journal.games)} of {plural(setting.schedule.total, 'game')}"]
        if len(self._tallies) == 1:
            won, drawn, lost = self._tallies[0].total
            parts.append(f"+{won} ={drawn} -{lost}")
        test = sequential(setting, self._tallies)
        if test:
            parts.append(f"LLR {test.ratio:+.2f} ({test.lower:+.2f}, {test.upper:+.2f})")
        return "  ".join([*parts, f"{seconds // 60}:{seconds % 60:02}"])
