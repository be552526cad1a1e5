"""Lines that nobody should write: valid ones, valid ones with faults, and junk, through the reader to a dialogue."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from collected import Collected
from fake_engine import FakeSearcher
from in_process import session_of

from desdaemon.core.settings import SessionSettings
from desdaemon.dialogue.dialects import spoken
from desdaemon.dialogue.dialects.dialect import LineDialect
from desdaemon.dialogue.dialects.text import TextDialect
from desdaemon.dialogue.streams import LineQueue, LineReader
from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Result
from desdaemon.protocol.othello.notation import Position

BOARD = "---------------------------OX------XO---------------------------"
GGF = (
    "(;GM[Othello]PC[x]PB[a]PW[b]RE[?]TI[5:00]TY[8]BO[8 -------- -------- -------- ---O*--- ---*O--- -------- "
    "-------- -------- *]B[{square}//1.5]W[{square}/-2.5/{number}];)"
)
# What is in braces is filled in; a line that begins with a `!` is used as it is, since a fault might make it endless.
TEMPLATES = {
    "text": (
        "{square}|play {square}{square}|play tiger|force {square}|setboard %B {side}|setboard {word}|undo|redo|init|"
        "new|go|hint {number}|stop|eval|moves|analyze {number}|load {word}.ggf|save {word}.txt|save {word}.svg|hmirror|"
        "vmirror|rotate {number}|symmetry {number}|version|options|help {word}|level {number}|mode {number}|"
        "move-time {number}|t {number}|alpha {number}|beta {number}|selectivity {number}|verbose {number}|book show|"
        "book deviate {number}|opening {word}|ouverture|base {word} {word}|base convert a.txt b.ggf|solve {word}|"
        "set {word}|{word} {word}|# {word}|!perft 2|!count positions 2|!count shapes 3|resources|"
        "-level {number}"
    ),
    "json": (
        '{"v":1,"id":{number},"op":"ping"}|{"v":1,"id":"{word}","op":"legal","args":{"moves":"{square}{square}"}}|'
        '{"v":1,"id":{number},"op":"analyze","args":{"level":{number},"moves":"{square}"}}|'
        '{"v":1,"id":{number},"op":"analyze","args":{"board":"%B{side}","depth":2,"multipv":{number}}}|'
        '{"v":{number},"id":{number},"op":"hello"}|{"v":1,"id":{number},"op":"cancel","args":{"target":{number}}}|'
        '{"v":1,"id":{number},"op":"{word}","args":{"{word}":{number}}}|{"v":1,"id":null,"op":"ping"}|[]|{}|null|{word}|'
        '{"v":1,"id":{number},"op":"text","args":{"line":"play {square}"}}|{"v":1,"id":{number},"op":"status"}|'
        '{"v":1,"id":{number},"op":"book.get","args":{"moves":"{square}"}}|{"v":1,"id":{number},"op":"jobs"}'
    ),
}

_PLACES = {
    "{square}": lambda r: r.choice("abcdefghzABCDEFGH") + r.choice("0123456789"),
    "{number}": lambda r: str(r.choice((0, 1, 2, 3, 5, 8, 60, 64, 100, -1, 10**9, 10**30, 1.5, "", "1e9", "٣"))),
    "{word}": lambda r: r.choice(("", "x", "othello", "Go", "é虎", "%s%n", "../..", "a b", "\\", '"', "[", "]" * 9)),
    "{colour}": lambda r: r.choice(("b", "w", "black", "WHITE", "green", "")),
    "{side}": lambda r: r.choice("XO*-?"),
    "{fen}": lambda r: r.choice("wbx"),
    "{id}": lambda r: r.choice(("", "1 ", "17 ", "007 ", "-3 ", "1 2 ", "99999999999999999999 ")),
}


def line(protocol: str, r: random.Random) -> bytes:
    """A line of a protocol, with or without faults, or none of it."""
    kind = r.random()
    if kind < 0.2:
        return bytes(r.randrange(256) for _ in range(r.randrange(80))).replace(b"\n", b"")
    if kind < 0.205:
        return r.choice((b"x", b"play ", b"[", b"(;", b"9", b"\xff", b" ", b'{"a":')) * 300_000
    template = r.choice(TEMPLATES[protocol].split("|"))
    text = template.removeprefix("!").replace("%B", BOARD).replace("%E", "ENGINE-PROTOCOL").replace("%G", GGF)
    for place, fill in _PLACES.items():
        while place in text:
            text = text.replace(place, fill(r), 1)
    data = text.encode()
    if kind < 0.5 and not template.startswith("!"):
        data = _faulty(data, r)
    return data + r.choice((b"", b"", b"\r", b" ", b"\0", b"\t#"))


def _faulty(data: bytes, r: random.Random) -> bytes:
    """With a piece left out, doubled, or replaced."""
    at = r.randrange(len(data) + 1)
    end = min(len(data), at + r.randrange(1, 6))
    replacement = r.choice((b"", data[at:end] * 2, bytes([r.randrange(11, 256)]), b" ", b"\\"))
    return data[:at] + replacement + data[end:]


class Quick(FakeSearcher):
    """Thinks that six plies are all there is."""

    def search(self, player: int, opponent: int, limits: Limits, **options: Any) -> Result:
        return super().search(player, opponent, limits._replace(depth=min(6, limits.depth)), **options)


ERRORS: dict[str, Callable[[str], bool]] = {}
"""Whether an answer says that its line could not be used."""

FORMS: dict[str, Callable[[str, str], object]] = {
    "text": lambda out, err: err.count("\n") <= 1,
}
"""Whether an answer has the form of its protocol."""


class Fuzz:
    """A dialogue fed through the reader, a line at a time."""

    def __init__(self, protocol: str) -> None:
        settings = SessionSettings()
        settings.verbose, settings.level, settings.level_chosen = 0, 2, True
        self.protocol = protocol
        self.session = session_of(Quick(), settings)
        self.output = Collected()
        self.lines = LineQueue()
        if protocol == "text":
            from desdaemon.dialogue.streams import TextListener

            self.dialect: Any = TextDialect(self.session, self.output)
            self.reader = LineReader(self.lines, TextListener(self.session.interrupt))
        else:
            made = spoken(protocol)
            self.dialect = made.dialect(self.session, self.output)
            self.reader = LineReader(self.lines, made.listener(self.session.interrupt))

    def feed(self, data: bytes, r: random.Random) -> bool:
        """A line in pieces, and its answer checked; False when the dialogue is over or goes on in another protocol."""
        rest = data + b"\n"
        while rest:
            at = r.randrange(1, 65_536)
            open_ended = self.reader.feed(rest[:at])
            rest = rest[at:]
        item = self.lines.get()
        before = self.state
        self.session.interrupt.begin(item.number)
        if item.error:
            self.refuse(item.error)
        else:
            assert item.text is not None
            self.dialect.execute(item.text)
            if isinstance(self.dialect, LineDialect):
                self.dialect.idle()
        out, err = self.output.take()
        assert "mistake in the program" not in out + err, (data[:200], out, err)
        assert self.consistent, data[:200]
        assert FORMS.get(self.protocol, lambda *_: True)(out, err), (data[:200], out, err)
        if self.refused(out, err):
            assert self.state == before, (data[:200], out, err)
        return open_ended and self.dialect.leaving is None and not getattr(self.dialect, "successor", "")

    def refuse(self, error: str) -> None:
        if self.protocol == "text":
            self.dialect.warn(error)
        else:
            self.dialect.refuse(error)

    def refused(self, out: str, err: str) -> bool:
        """Whether nothing but complaints was answered."""
        if self.protocol == "text":
            return bool(err) and not out and "setboard: " not in err
        answers = [line for line in out.splitlines() if line]
        return bool(answers) and all(map(ERRORS[self.protocol], answers))

    @property
    def state(self) -> tuple[Position, Position, tuple[int, ...]]:
        """The board and how it came about."""
        game = self.session.game
        return game.initial, game.position, tuple(game.moves)

    @property
    def consistent(self) -> bool:
        """Whether the moves of the game lead to the board."""
        game = self.session.game
        return game.positions()[-1] == game.position
