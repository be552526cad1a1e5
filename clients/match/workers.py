"""The threads that play a match, each with its own programs, and the thread that collects finished games."""

from __future__ import annotations

import functools
import queue
import threading
import time
from pathlib import Path
from typing import NamedTuple

from desdaemon.clients.match.results.journal import Journal
from desdaemon.clients.match.results.scores import PairingScore, failed_program, pairing_tallies, standings
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.records import GameRecord
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system import logs
from desdaemon.protocol.system.terminal import ProgressLine

from .engine_process import EngineFault, command_text
from .engine_protocols import START_S, EngineClient, start_player
from .page import MatchPage
from .process_groups import SIGNALS_S, ProcessGroups
from .referee import Finished, MatchTerms, RunningGame, play_game
from .results import statistics
from .schedule import Schedule
from .time_control import TimeControl

_GOING_S = 10.0

_SILENT_S = 10.0
"""Seconds of a program's silence at its start before a message tells of it."""


class Program(NamedTuple):
    """A program of the match: command line, protocol, name or "", time control."""

    command: list[str]
    protocol: str
    name: str
    control: TimeControl


class Setting(NamedTuple):
    """All that defines a match. ``sprt`` are the two Elo differences of the sequential test (SPRT); None: no test."""

    programs: list[Program]
    schedule: Schedule
    openings: list[GameRecord]
    terms: MatchTerms
    concurrency: int
    sprt: tuple[float, float] | None
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


class Match:
    """A running match: the games to play, the threads that play them, the results so far."""

    def __init__(
        self, setting: Setting, journal: Journal, groups: ProcessGroups, page: MatchPage | None = None
    ) -> None:
        self._setting = setting
        self._page = page
        self._running: dict[int, RunningGame] = {}
        self._journal = journal
        self._groups = groups
        self._todo: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[int, Finished] | Exception | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._remarked: set[str] = set()
        self._lock = threading.Lock()
        self._begun = time.monotonic()
        self._line = ProgressLine()
        self._workers: list[threading.Thread] = []
        self._names: dict[int, str] = {}
        self._tallies: list[PairingScore] = []
        for number, game in journal.games.items():
            self._changed_name(number, game)

    def run(self) -> Ending:
        if self._groups.stopped:
            return Ending("stopped")
        todo = [number for number in self._setting.schedule.numbers() if number not in self._journal.games]
        ending = self._judged(not todo)
        if self._page:
            self._page.resume(self._journal.games)
        if ending:
            return ending
        for number in todo:
            self._todo.put(number)
        self._workers = [
            threading.Thread(target=self._work, args=(number,), daemon=True)
            for number in range(min(self._setting.concurrency, len(todo)))
        ]
        try:
            for worker in self._workers:
                worker.start()
            return self._collect(len(todo), len(self._workers))
        finally:
            self._stopping.set()
            self._groups.stop()
            for worker in self._workers:
                worker.join(_GOING_S)
            self._line.clear()

    def stop(self) -> None:
        """End the match with the games played so far. Signal handlers may call this."""
        self._stopping.set()
        # Wakes `_collect`.
        self._done.put(None)

    def _collect(self, games: int, working: int) -> Ending:
        """Add finished games to journal and page until ``games`` have come, the match is decided or stopped, or an
        error ends it. Returns how it ended.
        """
        while games and working:
            self._line.show(self._progress())
            result = self._next()
            if self._stopping.is_set():
                return Ending("stopped")
            if isinstance(result, Exception):
                return Ending("error", message=str(result))
            if result is None:
                working -= 1
                continue
            changed = self._changed_name(*result)
            if changed:
                return Ending("error", message=changed)
            games -= 1
            try:
                self._journal.add(*result)
                self._running.pop(result[0], None)
                if self._page:
                    self._page.add(self._journal.games, result[0])
                self._show()
            except BadInput as error:
                return Ending("error", message=str(error))
            # Judged once for all games at hand: with many games that takes time.
            ending = self._judged(not games)
            if ending:
                return ending
        return Ending("error", message="all programs have ended")

    def _next(self) -> tuple[int, Finished] | Exception | None:
        """Wait, on the main thread, for a worker's next message: a game with its number, an error, or None for the
        worker's end. Meanwhile keep the page up to date.
        """
        while True:
            try:
                return self._done.get(timeout=SIGNALS_S)
            except queue.Empty:
                self._show()

    def _show(self) -> None:
        """Bring the page, if there is one, up to date."""
        if self._page:
            self._page.show(self._journal.games, dict(self._running))

    def _judged(self, ended: bool) -> Ending | None:
        """Return how the match ends after the games so far; None if it goes on. If ``ended``, all games are played."""
        self._tallies = tallies = pairing_tallies(self._journal.games, self._setting.schedule)
        failed = failed_program(standings(tallies, self._setting.schedule), ended=ended)
        if failed >= 0:
            return Ending("failed", failed)
        test = sequential(self._setting, tallies)
        if test is not None and test.accepted >= 0:
            return Ending("decided")
        return Ending("finished") if ended else None

    def _changed_name(self, number: int, game: Finished) -> str:
        """Return an error message if a program reports another name than before, else "". A first name is noted."""
        place = self._setting.schedule.place(number)
        for program, name in ((place.black, game.record.black), (place.white, game.record.white)):
            first_name = self._names.setdefault(program, name)
            if first_name != name:
                return (
                    f"program {program + 1} calls itself {quoted(name)}, in the games before {quoted(first_name)}: "
                    "expected the same version, or another journal"
                )
        return ""

    def _work(self, worker: int) -> None:
        """Play games, with programs of this thread's own, until no game is left, the match is stopped or a program
        cannot be used. Each game or error is sent to `_next` as a message, and None at the end.
        """
        players: dict[int, EngineClient] = {}
        try:
            while not self._stopping.is_set():
                try:
                    number = self._todo.get_nowait()
                except queue.Empty:
                    break
                place = self._setting.schedule.place(number)
                sides = (place.black, place.white)
                for program in sorted(sides):
                    if program not in players:
                        players[program] = self._start(program, worker)
                game = play_game(
                    (players[place.black], players[place.white]),
                    self._setting.openings[place.opening],
                    (self._setting.programs[place.black].control, self._setting.programs[place.white].control),
                    self._setting.terms,
                    functools.partial(self._running.__setitem__, number),
                )
                if self._stopping.is_set():
                    break
                self._done.put((number, game))
                if game.faulty >= 0:
                    # After a fault the state of both programs is unknown.
                    for program in sides:
                        self._end(players.pop(program))
        except (BadInput, EngineFault) as error:
            self._done.put(error)
        finally:
            for player in players.values():
                self._end(player)
            self._done.put(None)

    def _start(self, program: int, worker: int) -> EngineClient:
        setting = self._setting
        command, protocol, _, _ = setting.programs[program]
        log = setting.log / f"{program + 1}-{worker + 1}.log" if setting.log else None
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

    def _end(self, player: EngineClient) -> None:
        for remark in sorted(player.remarks):
            self._remark(f"{player.title}: {remark}")
        player.close()

    def _remark(self, text: str) -> None:
        with self._lock:
            if text not in self._remarked and not self._stopping.is_set():
                self._remarked.add(text)
                logs.message(text, "desdaemon match")

    def _progress(self) -> str:
        setting = self._setting
        seconds = int(time.monotonic() - self._begun)
        parts = [f"{len(self._journal.games)} of {plural(setting.schedule.total, 'game')}"]
        if len(self._tallies) == 1:
            won, drawn, lost = self._tallies[0].total
            parts.append(f"+{won} ={drawn} -{lost}")
        test = sequential(setting, self._tallies)
        if test:
            parts.append(f"LLR {test.ratio:+.2f} ({test.lower:+.2f}, {test.upper:+.2f})")
        return "  ".join([*parts, f"{seconds // 60}:{seconds % 60:02}"])
