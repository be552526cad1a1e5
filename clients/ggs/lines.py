"""The Generic Game Server (GGS) and its Othello service ``/os``: parsers of their messages, and lines for them; no I/O.

The server's bytes are cut into blocks: a line, and the lines after it that begin with ``|``. A block is read as one of
the kinds of `Message`, as `Words` if it fits no other. Durations are in ms, evaluations in discs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from desdaemon.clients.gamefiles.ggf import parse_time
from desdaemon.protocol.othello.notation import Position, move_text, parse_board, parse_move

LONGEST_LINE, LONGEST_BLOCK = 4096, 1000
"""Most bytes of a line and lines of a block; those beyond are dropped."""

READY = "READY"
_PROMPTS = {": Enter login": "login", ": Enter your password": "password"}
_WITHOUT_END = (READY, *_PROMPTS)
"""Beginnings of lines that may come without a newline."""

_TO_BLANK = bytes.maketrans(b"\t", b" ")
_CONTROLS = bytes(set(range(32)) - set(b"\n\t")) + b"\x7f\xff"
_TELNET = re.compile(rb"\xff(?:[\xfb-\xfe](?:[\x00-\xff]|\Z)|[\xf0-\xfa\xff])?")
"""A command of telnet; at the end of what has come, perhaps its beginning."""


class ServerBlock(NamedTuple):
    """A message of the GGS server: its first line, and the ``|`` lines that continue it, the ``|`` removed."""

    head: str
    body: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The block as the server sent it: its lines, with the ``|`` put back."""
        return "\n".join([self.head, *(f"|{line}" for line in self.body)])


class BlockReader:
    """Cuts the server's bytes, however they arrive, into blocks. Control characters and commands of telnet are removed,
    such as those about an echo that come with a prompt.
    """

    def __init__(self) -> None:
        self._command = b""
        """The beginning of a command whose rest has not come yet."""
        self._line = bytearray()
        self._known = False
        self._head: str | None = None
        self._body: list[str] = []

    def feed(self, data: bytes) -> list[ServerBlock]:
        """Return the blocks that ``data`` completes. A block is complete when the next line does not begin with ``|``;
        prompts and `READY` are complete at once.
        """
        found: list[ServerBlock] = []
        *whole, rest = self._text(self._command + data).translate(_TO_BLANK, _CONTROLS).split(b"\n")
        for part in whole:
            self._add(part, found)
            if not self._known:
                self._take(self._line.decode("utf-8", "replace"), found)
            self._line.clear()
            self._known = False
        self._add(rest, found)
        return found

    def _text(self, data: bytes) -> bytes:
        """Return the data without commands of telnet, and keep the beginning of one at the end."""
        self._command = b""
        for command in _TELNET.finditer(data):
            if command.end() == len(data) and re.fullmatch(rb"\xff[\xfb-\xfe]?", command[0]):
                self._command = command[0]
        return _TELNET.sub(b"", data)

    def end(self) -> list[ServerBlock]:
        """Return the block that the end of the bytes completes, if there is one."""
        found: list[ServerBlock] = []
        if self._line and not self._known:
            self._take(self._line.decode("utf-8", "replace"), found)
        self._line.clear()
        self._finish(found)
        return found

    def _add(self, part: bytes, found: list[ServerBlock]) -> None:
        self._line += part[: LONGEST_LINE - len(self._line)]
        if not self._known:
            known = next((begin for begin in _WITHOUT_END if self._line.startswith(begin.encode())), None)
            if known:
                self._known = True
                self._finish(found)
                found.append(ServerBlock(known))

    def _take(self, line: str, found: list[ServerBlock]) -> None:
        shown = "".join(c for c in line if c.isprintable()).rstrip()
        if not shown.startswith("|"):
            self._finish(found)
            self._head = shown or None
        elif len(self._body) < LONGEST_BLOCK:
            self._head = self._head or ""
            self._body.append(shown[1:])

    def _finish(self, found: list[ServerBlock]) -> None:
        if self._head is not None:
            found.append(ServerBlock(self._head, tuple(self._body)))
        self._head = None
        self._body.clear()


class GameType(NamedTuple):
    """A kind of game, such as ``s8r18``.

    A ``synchro`` game has two boards with colours exchanged. In a ``komi`` game the players first bid for the colour.
    In an ``anti`` game the fewest discs win. ``colour`` is the colour of the player who is named first: ``b``, ``w``,
    or "" for any. ``discs`` is the number of discs of a random start, 0 for the usual start.
    """

    synchro: bool = False
    size: int = 8
    colour: str = ""
    komi: bool = False
    discs: int = 0
    anti: bool = False

    @property
    def text(self) -> str:
        """The type as the server writes it."""
        parts = ("s" * self.synchro, self.size, self.colour, "k" * self.komi, f"r{self.discs}" if self.discs else "")
        return "".join(map(str, parts)) + "a" * self.anti

    @property
    def playable(self) -> bool:
        """Whether the type is Othello on 64 squares without a bid for the colour."""
        return self.size == 8 and not self.komi and not self.anti


class ServerClock(NamedTuple):
    """A clock in ms: the time left, the time added by each move, and the time added once when none is left."""

    main: float
    increment: float = 0.0
    extension: float = 0.0


class Prompt(NamedTuple):
    """The server waits for the ``login`` or the ``password``."""

    wanted: str


class Ready(NamedTuple):
    """The server waits for a line."""


class Service(NamedTuple):
    """The Othello service has come (``up``) or gone."""

    up: bool


class Request(NamedTuple):
    """An offer of a match, or, unless ``open``, its withdrawal; ``opponent`` is "" if anyone may accept it."""

    id: str
    open: bool
    challenger: str
    opponent: str
    clock: ServerClock
    type: GameType
    rated: bool


class ServerMatch(NamedTuple):
    """A match begins or ends; ``result`` is in discs for the player who is named first, None if there is none.

    ``archive`` is the number of the record, such as ``.123``, or "".
    """

    id: str
    begins: bool
    names: tuple[str, str]
    type: GameType
    result: float | None = None
    archive: str = ""


class BoardEnd(NamedTuple):
    """The game on a board has ended, though perhaps not its match; ``text`` has the players and the result."""

    id: str
    text: str


class Stored(NamedTuple):
    """A list of adjourned matches, with the numbers, such as ``.123``, of those that may be `GameType.playable`."""

    numbers: tuple[str, ...]
    text: str


class Side(NamedTuple):
    """A player at a board: name, whether Black, and clock."""

    name: str
    black: bool
    clock: ServerClock


class LastMove(NamedTuple):
    """A move, the ``ply``-th of its game: its score in discs for the mover (None if unknown), and the ms it took."""

    ply: int
    move: int
    score: float | None
    ms: float


class ServerBoard(NamedTuple):
    """A board of a match, sent when it is ``joined`` and after each move; ``last`` is the last move or None."""

    id: str
    joined: bool
    type: GameType
    sides: tuple[Side, Side]
    position: Position
    last: LastMove | None = None


class Records(NamedTuple):
    """Games in GGF, a line each."""

    games: tuple[str, ...]


class Complaint(NamedTuple):
    """An error message of the service: it refuses a request."""

    text: str


class Words(NamedTuple):
    """Any other message: chat, news, answers to questions."""

    text: str


Message = (
    Prompt | Ready | Service | Request | ServerMatch | ServerBoard | BoardEnd | Stored | Records | Complaint | Words
)

_ID = re.compile(r"\.\d{1,9}(?:\.[01])?", re.ASCII)
"""Of a match, or of a board; those of a pair are 0 and 1."""
_NUMBER = re.compile(r"[-+]?\d{1,9}(?:\.\d{1,9})?", re.ASCII)
_TYPE = re.compile(r"(s?)(\d{1,2})((?:[bwka]|r\d{1,2})*)", re.ASCII)
_FLAG = re.compile(r"[bwka]|r\d+", re.ASCII)
_SIDE = re.compile(r"([^\s()]+) *\([^()]*([*O]) *\) *(\S+)", re.ASCII)
_RESULT = re.compile(r"[-+]?\d{1,3}(?:\.\d{1,9})?(?![-\d.])", re.ASCII)
"""The beginning of a word that is a result; how the game ended may follow."""
_PLY = re.compile(r"(\d{1,3}):", re.ASCII)
_UNRATED = "U"


def read(block: ServerBlock) -> Message:
    """Return the message of a block; `Words` if it is of no other kind or cannot be read."""
    if block.head == READY:
        return Ready()
    if block.head in _PROMPTS:
        return Prompt(_PROMPTS[block.head])
    words = block.head.split()
    try:
        if words[:1] == [":"] and words[2:3] == ["/os"] and words[1] in ("+", "-"):
            return Service(words[1] == "+")
        if words[:1] == ["/os:"]:
            return _of_service(words[1:], block) or Words(block.text)
    except (ValueError, IndexError):
        pass
    return Words(block.text)


def _of_service(words: list[str], block: ServerBlock) -> Message | None:
    """Return a message of the Othello service, None for another kind; raises ValueError or IndexError for one that
    cannot be read.
    """
    if words[0] in ("join", "update"):
        return _board(words, block.body)
    if words[0] in ("+", "-"):
        return _match(words) if words[1] == "match" else _request(words)
    if words[0] == "end":
        return BoardEnd(words[1], block.text) if _ID.fullmatch(words[1]) else None
    if words[0] == "stored":
        lines = (line.split() for line in block.body)
        return Stored(tuple(filter(None, map(_stored, lines))), block.text)
    games = tuple(_records("".join((block.head, *block.body))))
    if games:
        return Records(games)
    return Complaint(block.text) if words[0].lower().rstrip(":") in ("error", "err") else None


def _request(words: list[str]) -> Request | None:
    """Read ``+ .8 1720.0 alice 01:00//02:00 8b U 1720.0 bob``. Returns None or raises ValueError for other text."""
    sign, id, _, challenger, clock, type, flag, *opponent = words
    if not _ID.fullmatch(id):
        return None
    # That of a match to go on with may be named too.
    opponent = [word for word in opponent if not _ID.fullmatch(word)]
    name = opponent[1] if len(opponent) > 1 else ""
    return Request(id, sign == "+", challenger, name, parse_clock(clock), parse_type(type), flag != _UNRATED)


def _match(words: list[str]) -> ServerMatch | None:
    """Read ``- match .5 1720.0 alice 1720.0 bob 8b U -64.00 .123``; the flag is R if the match is rated, U if not, and
    T in a tournament. Returns None or raises ValueError otherwise.
    """
    sign, _, id, _, first, _, second, type, _, *rest = words
    if not _ID.fullmatch(id):
        return None
    result = next((float(number[0]) for word in rest if (number := _RESULT.match(word))), None)
    archive = next((word for word in rest if _ID.fullmatch(word)), "")
    return ServerMatch(id, sign == "+", (first, second), parse_type(type), result, archive)


def _board(words: list[str], body: tuple[str, ...]) -> ServerBoard | None:
    """Read a board. One that is joined after moves is shown twice, at the start and now: the last of all counts.
    Returns None or raises ValueError for one that cannot be read.
    """
    kind, id, type = words[:3]
    sides: list[re.Match[str]] = []
    rows: list[str] = []
    turn = move = ""
    ply = 0
    for line in body:
        fields = line.split()
        if side := _SIDE.fullmatch(line.strip()):
            sides.append(side)
        elif fields[1:] == ["to", "move"]:
            turn = fields[0]
        elif len(fields) in (9, 10) and fields[0] == str(len(rows) % 8 + 1):
            rows.append("".join(fields[1:9]))
        elif len(fields) == 2 and (number := _PLY.fullmatch(fields[0])):
            ply, move = int(number[1]), fields[1]
    first, second = (Side(side[1], side[2] == "*", parse_clock(side[3])) for side in sides[-2:])
    if not _ID.fullmatch(id) or first.black == second.black or len(rows) not in (8, 16):
        return None
    position = parse_board(f"{''.join(rows[-8:])} {turn}")
    return ServerBoard(id, kind == "join", parse_type(type), (first, second), position, _last(ply, move))


def _last(ply: int, move: str) -> LastMove | None:
    """Return a move that is only shown: one that cannot be read is None."""
    try:
        return LastMove(ply, *parse_played(move)) if ply else None
    except ValueError:
        return None


def _records(text: str) -> Iterator[str]:
    begin = text.find("(;")
    while begin >= 0 and (end := text.find(";)", begin)) >= 0:
        yield text[begin : end + 2]
        begin = text.find("(;", end)


def parse_type(text: str) -> GameType:
    """Return the type that a text such as ``s8r18`` names; raises ValueError for other text."""
    found = _TYPE.fullmatch(text)
    if not found:
        raise ValueError(text)
    flags = _FLAG.findall(found[3])
    discs = next((int(flag[1:]) for flag in flags if flag[0] == "r"), 0)
    colour = next((flag for flag in flags if flag in "bw"), "")
    return GameType(bool(found[1]), int(found[2]), colour, "k" in flags, discs, "a" in flags)


def _stored(words: list[str]) -> str:
    """Return the number of the match that is listed in these words, "" if there is none or it cannot be playable: a
    number after it may look like a type.
    """
    place = next((place for place, word in enumerate(words) if _ID.fullmatch(word)), len(words))
    types = [parse_type(word) for word in words[place:] if _TYPE.fullmatch(word)]
    return "".join(words[place : place + 1]) if not types or any(type.playable for type in types) else ""


def parse_clock(text: str) -> ServerClock:
    """Return a clock ``initial/increment/extension``, each ``[[HH:]MM:]SS[,N]`` (N is ignored) or empty; raises
    ValueError.
    """
    fields = [field.partition(",")[0] for field in text.split("/")]
    if len(fields) > 3:
        raise ValueError(text)
    return ServerClock(*map(_parse_time, fields))


def _parse_time(text: str) -> float:
    ms = parse_time(text.removeprefix("-"), text) if text else 0.0
    return -ms if text.startswith("-") else ms


def clock_text(clock: ServerClock) -> str:
    """Return a clock as `parse_clock` reads it, in whole seconds."""
    return "/".join(time_text(ms) if ms else "" for ms in clock) if any(clock[1:]) else time_text(clock.main)


def time_text(ms: float) -> str:
    """Return a time in whole seconds: ``05:00``, ``01:30:00``."""
    minutes, seconds = divmod(round(abs(ms) / 1000), 60)
    hours, minutes = divmod(minutes, 60)
    return ("-" if ms < 0 else "") + (f"{hours:02}:" if hours else "") + f"{minutes:02}:{seconds:02}"


def parse_played(text: str) -> tuple[int, float | None, float]:
    """Return move, score and ms of ``f5/1.50/3.47`` (seconds); a missing score is None, a missing time 0. Raises
    ValueError.
    """
    move, score, seconds = (*text.split("/"), "", "")[:3]
    return parse_move(move), _number(score) if score else None, 1000 * _number(seconds or "0")


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return float(text)


# What a client tells the server

SET_UP = (
    "vt100 -",
    "bell -t -tc -tg -n -nc -ng -ni -nn",
    "verbose -news -faq -help -ack",
    "chann %",
)
"""Lines for after the login: plain text, no bells, no news, no channels."""


STORED = "tell /os stored"
"""The line that asks for the player's adjourned matches."""

SERVICE_SET_UP = ("tell /os trust +", "tell /os request +", "tell /os client -")
"""Lines that prepare the Othello service: evaluations and requests are shown, boards are text."""


def rated_line(rated: bool) -> str:
    """Return the line that makes the player's next offers rated, or not."""
    return f"tell /os rated {'+' if rated else '-'}"


def open_line(matches: int) -> str:
    """Return the line that says how many matches the player accepts at once."""
    return f"tell /os open {matches}"


def resume_line(match: str) -> str:
    """Return the line that asks the opponent to go on with an adjourned match."""
    return f"tell /os ask {match}"


def play_line(game: str, move: int, score: float, seconds: float) -> str:
    """Return the line that plays a move in ``game``, with its score in discs for the mover and the seconds it took."""
    return f"tell /os play {game} {move_text(move).lower()}/{score:.2f}/{seconds:.2f}"
