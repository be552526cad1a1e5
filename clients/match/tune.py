"""Tuning of this program's options: two versions of it play pairs of games, from which `Tuning` learns.

The journal holds the games, with the tried values as the players' names; an interrupted tuning goes on from it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from desdaemon.clients.match.results.journal import Journal
from desdaemon.clients.programs.engine_process import EngineFault
from desdaemon.clients.programs.engine_protocols import EngineClient
from desdaemon.clients.programs.process_groups import ProcessGroups
from desdaemon.protocol.commands.options import OPTIONS
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.system.terminal import ProgressLine

from .referee import Finished, play_game
from .spsa import Trial, TunedOption, Tuning
from .workers import Ending, Program, Setting, as_they_end, started

_PARAMETER = re.compile(r"([a-z-]+)=(-?\d{1,15}):(-?\d{1,15})(?::(-?\d{1,15}))?")


def parse_parameter(text: str) -> TunedOption:
    """Return the option of ``name=low:high`` or ``name=low:high:start``; without a start it is the middle. Raises
    `BadInput` for other text, an option without whole numbers, and a range that the option does not allow.
    """
    match = _PARAMETER.fullmatch(text)
    if not match:
        raise BadInput(f"--tune {quoted(text)}: expected NAME=MIN:MAX or NAME=MIN:MAX:START, whole numbers")
    option = OPTIONS.find(match[1])
    if option is None or option.kind != "int":
        raise BadInput(f"--tune {quoted(match[1])}: expected an option that takes a whole number")
    low, high = int(match[2]), int(match[3])
    start = (low + high) // 2 if match[4] is None else int(match[4])
    if not option.low <= low < high <= option.high:
        raise BadInput(f"--tune {quoted(text)}: expected a range within {option.low} to {option.high}")
    if not low <= start <= high:
        raise BadInput(f"--tune {quoted(text)}: expected a start from {low} to {high}")
    return TunedOption(option.name, low, high, start)


class Tuner:
    """A tuning that runs: the games still to play, the threads that play them, the values so far."""

    def __init__(
        self, setting: Setting, parameters: list[TunedOption], journal: Journal, groups: ProcessGroups, seed: int
    ) -> None:
        """``setting`` has the program to tune twice. Pairs of games that are complete in ``journal`` change the values
        at once.
        """
        self._setting = setting
        self._journal = journal
        self._groups = groups
        self._pairs = setting.schedule.games // 2
        self._tuning = Tuning(parameters, self._pairs, seed)
        self._history = [list(self._tuning.values)]
        """The values at the start and after each pair of games."""
        games = journal.games
        for number in games:
            if number % 2 == 0 and number + 1 in games:
                self._learn(number // 2 + 1)

    def run(self) -> Ending:
        """Play the pairs that the journal lacks, and add their games to it. Returns how the tuning ended: ``finished``,
        ``error`` or ``stopped``. Stops the process groups; call it once.
        """
        games = self._journal.games
        todo = [one for one in range(1, self._pairs + 1) if 2 * one - 1 not in games or 2 * one - 2 not in games]
        trials = ((iteration, self._tuning.trial(iteration)) for iteration in todo)
        line = ProgressLine()

        def show() -> None:
            line.show(self._progress())

        try:
            with closing(as_they_end(self._pair, trials, self._setting.concurrency, self._groups, show)) as pairs:
                for (iteration, _), pair in pairs:
                    for number, game in enumerate(pair, 2 * iteration - 2):
                        self._journal.add(number, game)
                    self._learn(iteration)
        except (BadInput, EngineFault) as error:
            return Ending("error", message=str(error))
        finally:
            line.clear()
        return Ending("finished" if self._played == self._pairs else "stopped")

    @property
    def _played(self) -> int:
        return len(self._history) - 1

    def report(self, heading: str) -> str:
        """Return the table of the values so far, with ``heading`` above it, and how the values came there."""
        tuning = self._tuning
        parts = range(0, 101, 20)
        shown = [self._history[round(part * self._played / 100)] for part in parts]
        width = max(12, *(len(one.name) for one in tuning.parameters))
        lines = [
            f"{heading}: {self._played} of {self._pairs} pairs of games",
            "",
            f"{'':{width}}     start     value       +/-       from         to",
            *(
                f"{one.name:{width}} {one.start:9} {value:9.2f} {error:9.2f} {one.low:10} {one.high:10}"
                for one, value, error in zip(tuning.parameters, tuning.values, tuning.errors, strict=True)
            ),
            "",
            "+/-: how far chance alone carries a value from its start, in 19 of 20 tunings",
            "",
            f"{'of the pairs':{width}}" + "".join(f"{part:8} %" for part in parts),
            *(
                f"{one.name:{width}}" + "".join(f" {values[at]:9.1f}" for values in shown)
                for at, one in enumerate(tuning.parameters)
            ),
        ]
        return "\n".join(lines) + "\n"

    def data(self) -> dict[str, Any]:
        """Return the options with their values so far, errors and histories, for JSON."""
        tuning = self._tuning
        return {
            "pairs": self._pairs,
            "played_pairs": self._played,
            "options": [
                {**one._asdict(), "value": value, "error": error, "history": [values[at] for values in self._history]}
                for at, (one, value, error) in enumerate(
                    zip(tuning.parameters, tuning.values, tuning.errors, strict=True)
                )
            ],
        }

    def _learn(self, iteration: int) -> None:
        """Change the values by the result of an iteration, whose two games are in the journal; in the first,
        `Trial.plus` has Black.
        """
        first, second = (self._journal.games[2 * iteration - side].score for side in (2, 1))
        self._tuning.update(iteration, (first > 0) - (first < 0) - (second > 0) + (second < 0))
        self._history.append(list(self._tuning.values))

    def _pair(self, numbered: tuple[int, Trial]) -> list[Finished]:
        """Play the two games of an iteration, given by its number and trial, the second with new programs after a fault
        in the first. Raises `BadInput` if a program does not start or the solver fails.
        """
        setting, (iteration, trial) = self._setting, numbered
        opening = setting.openings[(iteration - 1) % len(setting.openings)]
        games: list[Finished] = []
        while len(games) < 2:
            with self._players(trial) as (plus, minus):
                for black, white in ((plus, minus), (minus, plus))[len(games) :]:
                    controls = (setting.programs[0].control, setting.programs[1].control)
                    games.append(play_game((black, white), opening, controls, setting.terms))
                    # After a fault the state of both programs is unknown.
                    if games[-1].faulty >= 0:
                        break
        return games

    @contextlib.contextmanager
    def _players(self, trial: Trial) -> Iterator[tuple[EngineClient, EngineClient]]:
        """Within the block, run the two programs with the values of a trial, `Trial.plus` first."""
        with contextlib.ExitStack() as stack:
            players = []
            for program, values in zip(self._setting.programs, trial, strict=True):
                named = list(zip((one.name for one in self._tuning.parameters), values, strict=True))
                words = [word for name, value in named for word in (f"-{name}", str(value))]
                name = ", ".join(f"{name} {value}" for name, value in named)
                one = Program([*program.command, *words], program.protocol, name, program.control)
                players.append(started(one, self._groups))
                stack.callback(players[-1].close)
            yield players[0], players[1]

    def _progress(self) -> str:
        named = zip(self._tuning.parameters, self._tuning.values, strict=True)
        values = "  ".join(f"{one.name} {value:.2f}" for one, value in named)
        return f"{self._played} of {self._pairs} pairs  {values}"
