"""The referee's side of the protocols that Othello programs speak: GTP, NBoard's, Edax's text dialogue."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

from desdaemon.clients.gamefiles.ggf import ggf_text
from desdaemon.protocol.errors import BadInput, escaped, in_one_line, quoted
from desdaemon.protocol.games.records import ClockTerms, GameRecord
from desdaemon.protocol.othello.notation import START, Position, board_text, move_text
from desdaemon.protocol.othello.rules import PASS, squares
from desdaemon.protocol.system.platform import command_text

from .engine_process import EngineFault, EngineProcess, program_name
from .process_groups import GROUPS, ProcessGroups
from .time_control import Stopwatch, TimeControl

START_S = 300.0
"""Seconds for a program's first answer; it may have to compile its engine."""
ANSWER_S = 60.0
"""Seconds for an answer without a search."""

_SOON_S, _PROBE_S = 2.0, 10.0
"""Seconds after which the user is told that a program has not answered yet, and after which it is waited no more, when
its protocol is to be found out.
"""
_NO_INTERVAL = 10**6
"""Centiseconds between the lines of an analysis, so that one comes at its end only."""


class EngineClient(ABC):
    """The referee's side of a dialogue with a program.

    The referee calls `send_move` for all moves in order, forced passes included, but not for moves that `answer`
    returned.
    """

    def __init__(self, process: EngineProcess) -> None:
        self.process = process
        self.name = ""
        """The name that the program reports; "" if it has reported none."""
        self.alias = ""
        """The name to show in place of the reported one; "" for none."""
        self.remarks: set[str] = set()
        """Messages for the user about what the protocol cannot tell the program."""
        self.score: float | None = None
        """The score that the program gave its last move, in discs for itself; None if it gave none."""
        self.wants_scores = False
        """Whether to ask for scores in a protocol whose moves carry none."""

    @property
    def takes_time_left(self) -> bool:
        """Whether `answer` tells the program how much is left on its clock; other programs learn their time from
        `begin` alone.
        """
        return False

    def _named(self, name: str) -> None:
        """Take the name that the program reports, which may be anything, as a short line that no terminal obeys."""
        self.name = in_one_line(" ".join(name.split()))

    @property
    def title(self) -> str:
        """The name to show: ``alias``, else the reported ``name``, else `program_name`."""
        return escaped(self.alias or self.name or program_name(self.process.command))

    @abstractmethod
    def begin(self, initial: Position, control: TimeControl) -> None:
        """Start a new game, and tell the program its time control. What the protocol cannot express goes into
        ``remarks``.

        Raises `BadInput` for a board that the protocol cannot express, `EngineFault` if the program does not answer.
        """

    @abstractmethod
    def send_move(self, position: Position, move: int) -> None:
        """Tell the program that ``move`` was played in ``position``, by the other side, the opening or the rules.

        Raises `EngineFault` if the program refuses the move, ends or does not answer.
        """

    @abstractmethod
    def answer(self, game: GameRecord, watch: Stopwatch, seconds: float) -> tuple[str, float]:
        """Ask for the program's move in the last position of ``game``, wait, and set ``score``. Returns the move as the
        program wrote it and the time of its arrival (`time.perf_counter`).

        Raises `EngineFault` after ``seconds``, and if the program refuses, resigns or ends.
        """

    def close(self) -> None:
        """End the program."""
        self.process.close()


class GtpPlayer(EngineClient):
    """The referee's side of the Go Text Protocol, version 2; its commands have no ids."""

    _ANALYSES = "kata-genmove_analyze"
    _LEAD = re.compile(rb"scoreLead ([+-]?[\d.]+)")
    _BEGINNING = re.compile(rb"(?:^|\n)>?[=?]")
    _END = re.compile(rb"\n\r?\n")
    _ANSWER = re.compile(rb"(?:^|\n)>?([=?])\d*[ \t]*((?:[^\n]|\n(?!\r?\n))*)\n\r?\n")

    def __init__(self, process: EngineProcess, seconds: float = START_S) -> None:
        super().__init__(process)
        self._ask("protocol_version", seconds)
        name, version = (self._ask(word) for word in ("name", "version"))
        self._named(f"{name} {version or ''}" if name else "")
        self._commands = set((self._ask("list_commands") or "").split())
        self._takes_passes = True
        if "set_game" in self._commands and self._ask("set_game Othello") is None:
            raise EngineFault("answer", "it does not play Othello: set_game is refused")
        self._ask("boardsize 8")

    @classmethod
    def find_answer(cls, said: bytes) -> re.Match[bytes] | None:
        """Return the first whole answer: the sign, and the text up to the empty line.

        Only at the first beginning is an end looked for, which the others would not have either: tried at each of them
        an endless answer would take a time by the square of its length.
        """
        begun = cls._BEGINNING.search(said)
        return cls._ANSWER.match(said, begun.start()) if begun and cls._END.search(said, begun.end()) else None

    def _ask(self, line: str, seconds: float = ANSWER_S) -> str | None:
        """Return the answer to a command; None if the program refuses it. Raises `EngineFault` after ``seconds``."""
        self.process.send(line)
        match, _ = self.process.until(self.find_answer, seconds)
        return match[2].decode("utf-8", "replace").strip() if match[1] == b"=" else None

    def begin(self, initial: Position, control: TimeControl) -> None:
        if control.level >= 0:
            self.remarks.add("GTP has no word for a level; give it in the command line")
        self._ask("clear_board")
        if initial != START:
            self._set_up(initial)
        if control.move:
            self._ask(f"time_settings 0 {control.move / 1000:g} 1")
        elif control.main:
            self._ask(f"time_settings {control.main / 1000:g} 0 0")

    def _set_up(self, position: Position) -> None:
        if "gogui-setup" not in self._commands:
            raise BadInput("GTP has no word for another board, and it has no gogui-setup: expected the standard start")
        discs = [
            (colour, square)
            for colour, mask in (("b", position.black), ("w", position.white))
            for square in squares(mask)
        ]
        for line in (
            "gogui-setup " + " ".join(f"{colour} {move_text(square)}" for colour, square in discs),
            f"gogui-setup_player {_colour(position)[0]}",
        ):
            if self._ask(line) is None:
                raise BadInput(f"it refuses {line.split()[0]}: expected a program that can be given a board")

    def send_move(self, position: Position, move: int) -> None:
        """Tell the program of a move. A program that refuses a pass is taken to pass by itself, and is told of no more
        passes; one that refuses another move raises `EngineFault`.
        """
        colour = _colour(position)
        if move != PASS:
            if self._ask(f"play {colour} {move_text(move)}") is None:
                raise EngineFault("answer", f"it refuses {move_text(move)} of {colour}")
        elif self._takes_passes and self._ask(f"play {colour} pass") is None:
            self._takes_passes = False

    @property
    def takes_time_left(self) -> bool:
        return "time_left" in self._commands

    def answer(self, game: GameRecord, watch: Stopwatch, seconds: float) -> tuple[str, float]:
        colour = _colour(game.final)
        if watch.left < float("inf") and self.takes_time_left:
            left = max(0.0, watch.left) / 1000
            self._ask(f"time_left {colour} {left:.3f} 1" if watch.control.move else f"time_left {colour} {left:.3f} 0")
        asked = self.wants_scores and self._ANALYSES in self._commands
        self.process.send(f"{self._ANALYSES} {colour} {_NO_INTERVAL}" if asked else f"genmove {colour}")
        match, arrived = self.process.until(self.find_answer, seconds)
        text = match[2].decode("utf-8", "replace").strip()
        if match[1] == b"?":
            raise EngineFault("answer", f"it refuses to move: {quoted(text)}")
        self.score = None
        if asked:
            self.score = _score(self._LEAD.findall(match[2]))
            text = text.rpartition("play ")[2]
        if text.lower() == "resign":
            raise EngineFault("resigned", "resigned")
        return text, arrived


class NBoardPlayer(EngineClient):
    """NBoard's protocol: before each move the whole game is sent.

    Some programs send their name at once, some only while they search, some never; so at the start a ping is sent, and
    its answer is awaited.
    """

    _MOVE = re.compile(rb"(?:^|\n)===(?=[^\n]*\n)[ \t]*([^\s/]+)(?:/([+-]?[\d.]+))?[^\n]*\n")
    _NAME = re.compile(rb"(?:^|\n)set[ \t]+myname[ \t]+(\S+)")

    def __init__(self, process: EngineProcess, seconds: float = START_S) -> None:
        super().__init__(process)
        self._pings = 0
        self._control = TimeControl()
        process.send("nboard 2")
        self._ping(seconds)

    def _ping(self, seconds: float) -> None:
        self._pings += 1
        self.process.send(f"ping {self._pings}")
        match, _ = self.process.until(_pong(self._pings).search, seconds)
        names = self._NAME.findall(match.string[: match.start()])
        if names:
            self._named(names[-1].decode("utf-8", "replace"))

    def begin(self, initial: Position, control: TimeControl) -> None:
        if control.move:
            self.remarks.add("NBoard has no word for a time a move; give it in the command line")
        self._control = control
        # A program may value draws differently by default.
        self.process.send("set contempt 0")
        if control.level >= 0:
            self.process.send(f"set depth {control.level}")
        self._ping(ANSWER_S)

    def send_move(self, position: Position, move: int) -> None:
        """Do nothing: `answer` sends the whole game."""

    def answer(self, game: GameRecord, watch: Stopwatch, seconds: float) -> tuple[str, float]:
        clock = ClockTerms(self._control.main, self._control.increment)
        text = ggf_text(game._replace(black_clock=clock, white_clock=clock), "")
        self.process.send(f"set game {text}")
        self._ping(ANSWER_S)
        self.process.forget()
        self.process.send("go")
        match, arrived = self.process.until(self._MOVE.search, seconds)
        self.score = _score([match[2]] if match[2] else [])
        return match[1].decode("utf-8", "replace"), arrived


class TextPlayer(EngineClient):
    """Edax's text dialogue in mode 3: the program moves only after ``go``, and then plays the move on its own board
    too.
    """

    _MOVE = re.compile(rb"\bplays[ \t]+(\w+)[ \t]*\r?\n")
    _SEARCHED = re.compile(rb"^[ \t]*\d+(?:@[ \t]*\d+%)?[ \t]+[<>=]?([+-]\d+)[ \t]", re.MULTILINE)
    _PROMPT = re.compile(rb">")

    def __init__(self, process: EngineProcess, seconds: float = START_S) -> None:
        super().__init__(process)
        process.until(self._PROMPT.search, seconds)
        process.send("mode 3", "ponder off")

    def begin(self, initial: Position, control: TimeControl) -> None:
        if control.increment:
            self.remarks.add("the text dialogue has no word for an increment; only the main time is sent")
        if control.level >= 0:
            self.process.send(f"level {control.level}")
        if control.move:
            self.process.send(f"move-time {control.move / 1000:.3f}")
        elif control.main:
            self.process.send(f"game-time {control.main / 1000:.3f}")
        self.process.send(f"setboard {board_text(initial)}")

    def send_move(self, position: Position, move: int) -> None:
        self.process.send(f"play {move_text(move)}")

    def answer(self, game: GameRecord, watch: Stopwatch, seconds: float) -> tuple[str, float]:
        self.process.forget()
        self.process.send("go")
        match, arrived = self.process.until(self._MOVE.search, seconds)
        self.score = _score(self._SEARCHED.findall(match.string[: match.start()]))
        return match[1].decode("utf-8", "replace"), arrived


PLAYERS: dict[str, type[GtpPlayer] | type[NBoardPlayer] | type[TextPlayer]] = {
    "gtp": GtpPlayer,
    "nboard": NBoardPlayer,
    "text": TextPlayer,
}


def _score(values: Sequence[bytes]) -> float | None:
    """Return the last of some numbers of a program; None if there is none or it cannot be a score in discs."""
    try:
        score = float(values[-1])
    except (IndexError, ValueError):
        return None
    return score if -64 <= score <= 64 else None


def _colour(position: Position) -> str:
    return "black" if position.black_to_move else "white"


def start_player(
    command: list[str], protocol: str, log: Path | None = None, groups: ProcessGroups = GROUPS
) -> EngineClient:
    """Start a program that speaks a protocol of `PLAYERS`. Raises `BadInput` if there is no such program, `EngineFault`
    if it does not answer in the protocol or ``groups`` was stopped.
    """
    process = EngineProcess(command, log, groups=groups)
    try:
        return PLAYERS[protocol](process)
    except EngineFault as fault:
        process.kill()
        if fault.kind == "hang":
            raise EngineFault("hang", f"{fault}{process.error_line}") from None
        raise


def detected_protocol(
    command: list[str], groups: ProcessGroups = GROUPS, tell: Callable[[str], None] = lambda text: None
) -> str:
    """Return the protocol that a program speaks: the one that its command line names, or the one that it answers.

    A program whose command line names none is started, asked in GTP and, if it does not answer, in NBoard's protocol,
    and ended. If it answers neither, Edax's is assumed: after `_SOON_S` seconds if it has shown a prompt; else ``tell``
    gets a line, and the end is after `_PROBE_S`. Raises `BadInput` if there is no such program, `EngineFault` once
    ``groups`` was stopped.
    """
    program, *words = command[0].lower().rpartition("/")[2], *(word.lower().lstrip("-") for word in command[1:])
    for protocol in PLAYERS:
        if protocol in words or f"protocol={protocol}" in words or (protocol != "text" and protocol in program):
            return protocol
    for questions in (("protocol_version", _NBOARD), (_NBOARD,)):
        process = EngineProcess(command, groups=groups)
        try:
            for question in questions:
                process.send(question)
                if found := _heard(process, _ANSWERED, _SOON_S / len(questions)):
                    return found
            if found := _heard(process, _PROMPTED, 0.0):
                return found
            text = quoted(command_text(command))
            tell(f"{text} has answered neither GTP nor NBoard's protocol in {_SOON_S:g} s: waiting")
            return _heard(process, _PROMPTED, _PROBE_S - _SOON_S) or "text"
        except EngineFault:
            # It may have ended at the line of GTP: it is asked again without.
            continue
        finally:
            process.kill()
    return "text"


_NBOARD = "nboard 2\nping 1"


def _pong(number: int) -> re.Pattern[bytes]:
    return re.compile(rb"(?:^|\n)[ \t]*pong[ \t]+%d\s" % number)


_SIGNS: dict[str, Callable[[bytes], re.Match[bytes] | None]] = {
    "gtp": GtpPlayer.find_answer,
    "nboard": _pong(1).search,
    "text": re.compile(rb">").search,
}
"""By protocol what a program says that speaks it."""
_ANSWERED, _PROMPTED = ("gtp", "nboard"), tuple(_SIGNS)


def _heard(process: EngineProcess, protocols: Sequence[str], seconds: float) -> str:
    """Return that of ``protocols`` whose sign comes first in a program's output, "" if none does within ``seconds``.
    Raises `EngineFault` if the program ends.
    """
    heard = ""

    def find(said: bytes) -> re.Match[bytes] | None:
        nonlocal heard
        found = [(match.start(), name, match) for name in protocols if (match := _SIGNS[name](said))]
        if not found:
            return None
        _, heard, match = min(found, key=lambda one: one[0])
        return match

    try:
        process.until(find, seconds)
    except EngineFault as fault:
        if fault.kind != "hang":
            raise
    return heard
