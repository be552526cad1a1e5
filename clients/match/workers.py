"""The games of a match at work: threads that each drive two programs, and the journal that takes what comes of it."""

from __future__ import annotations

import queue
import shlex
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.records import GameRecord

from . import statistics
from .engine_process import EngineFault, program_name
from .engine_protocols import START_S, Player, start_player
from .journal import Journal
from .referee import Finished, Terms, play_game
from .report import tally

_GOING_S = 10.0

_SILENT_S = 10.0
"""How long a program may be silent at its start before that is mentioned."""


class Setting(NamedTuple):
    """A match, understood: the two programs, what they play, on which terms, and when it ends."""

    commands: tuple[list[str], list[str]]
    protocols: tuple[str, str]
    names: tuple[str, str]
    openings: list[GameRecord]
    games: int
    terms: Terms
    concurrency: int
    sprt: tuple[float, float] | None
    log: Path | None


def sequential(setting: Setting, journal: Journal) -> statistics.Sequential | None:
    """Where the sequential test stands, if one was asked for."""
    return statistics.sequential(tally(journal.games).pairs, *setting.sprt) if setting.sprt else None


class Match:
    """The games still to be played, the threads that play them, and what has become of them."""

    def __init__(self, setting: Setting, journal: Journal) -> None:
        self._setting = setting
        self._journal = journal
        self._todo: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[int, Finished] | Exception | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._players: set[Player] = set()
        self._remarked: set[str] = set()
        self._lock = threading.Lock()
        self._begun = time.monotonic()

    def run(self) -> bool:
        """Play; true when it was interrupted. Raises `BadInput` or `EngineFault` where a program cannot be used."""
        todo = [number for number in range(self._setting.games) if number not in self._journal.games]
        if self._decided() or not todo:
            return False
        for number in todo:
            self._todo.put(number)
        workers = [
            threading.Thread(target=self._work, args=(number,), daemon=True)
            for number in range(min(self._setting.concurrency, len(todo)))
        ]
        for worker in workers:
            worker.start()
        try:
            self._collect(len(todo), len(workers))
        except KeyboardInterrupt:
            return True
        finally:
            self._stopping.set()
            with self._lock:
                for player in self._players:
                    player.process.strike()
            for worker in workers:
                worker.join(_GOING_S)
            self._show("")
        return False

    def _collect(self, games: int, working: int) -> None:
        """Take finished games until there are no more or the test has decided."""
        while games and working:
            self._show(self._progress())
            result = self._done.get()
            if isinstance(result, Exception):
                raise result
            if result is None:
                working -= 1
                continue
            games -= 1
            self._journal.add(*result)
            if self._decided():
                return

    def _decided(self) -> bool:
        test = sequential(self._setting, self._journal)
        return test is not None and test.accepted >= 0

    def _work(self, worker: int) -> None:
        """Play games with two programs of one's own until there are none left."""
        players: list[Player | None] = [None, None]
        try:
            while not self._stopping.is_set():
                try:
                    number = self._todo.get_nowait()
                except queue.Empty:
                    break
                for side in (0, 1):
                    players[side] = players[side] or self._start(side, worker)
                first, second = players
                assert first
                assert second
                if self._stopping.is_set():
                    break
                game = self._play(number, first, second)
                if self._stopping.is_set():
                    break
                self._done.put((number, game))
                if game.faulty >= 0:
                    # Who knows what a program that has gone wrong believes.
                    for side in (0, 1):
                        self._end(players[side])
                        players[side] = None
        except (BadInput, EngineFault) as error:
            self._done.put(error)
        finally:
            for player in players:
                self._end(player)
            self._done.put(None)

    def _play(self, number: int, first: Player, second: Player) -> Finished:
        setting = self._setting
        opening = setting.openings[number // 2 % len(setting.openings)]
        controls = setting.terms.controls
        if number % 2:
            return play_game((second, first), opening, (controls[1], controls[0]), setting.terms)
        return play_game((first, second), opening, controls, setting.terms)

    def _start(self, side: int, worker: int) -> Player:
        setting = self._setting
        log = setting.log / f"{('first', 'second')[side]}-{worker + 1}.log" if setting.log else None
        command, protocol = quoted(shlex.join(setting.commands[side])), setting.protocols[side]
        waiting = f"engine {command} says nothing in {protocol} yet; it has {START_S:.0f} s for its start"
        reminder = threading.Timer(_SILENT_S, self._remark, (waiting,))
        reminder.daemon = True
        reminder.start()
        try:
            player = start_player(setting.commands[side], protocol, log)
        except EngineFault as fault:
            raise BadInput(f"engine {command}: {fault}: expected a program that speaks {protocol}") from None
        finally:
            reminder.cancel()
        player.name = setting.names[side] or player.name or program_name(setting.commands[side])
        with self._lock:
            self._players.add(player)
        return player

    def _end(self, player: Player | None) -> None:
        if player:
            with self._lock:
                self._players.discard(player)
            for remark in sorted(player.remarks):
                self._remark(f"{player.name}: {remark}")
            player.close()

    def _remark(self, text: str) -> None:
        with self._lock:
            if text not in self._remarked:
                self._remarked.add(text)
                sys.stderr.write(f"desdaemon match: {text}\n")

    def _progress(self) -> str:
        games = self._journal.games
        account = tally(games)
        seconds = int(time.monotonic() - self._begun)
        won, drawn, lost = account.total
        return (
            f"{len(games)} of {self._setting.games} games  +{won} ={drawn} -{lost}  {seconds // 60}:{seconds % 60:02}"
        )

    def _show(self, text: str) -> None:
        """The line of progress, for terminals only."""
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
