"""Files of many games: .wtb .edx .ggf .sgf .pgn .ndjson and lists of moves, packed or not.

The name of a file says its format, unless it ends in .txt or an unknown extension: then its content does.
"""

from __future__ import annotations

import os
import re
import time
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello.notation import START
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import BARE_WIN, BlackScore
from desdaemon.protocol.system import files, packed
from desdaemon.protocol.texts import UTF_16, check_fetched, without_mark

from . import edx, wthor
from .contents import LARGEST_WHOLE, LONGEST_GAME, Content, content_in, content_of
from .formats import LINE_FORMATS, game_of, game_text, game_texts, replayed
from .records import WRITTEN_RESULT, Complain, GameRecord, GameText, black_score, complain, final_result
from .results import claimed_result, result_in_words

BASE_FORMATS = ("txt", "ggf", "sgf", "pgn", "wtb", "edx")
READ_FORMATS = (*BASE_FORMATS, "ndjson")
"""The formats that are read: those that are written, and the JSON of web sites."""
_UNFINISHED_DISCS = 225
"""The discs that Edax writes into a WTHOR game without a result."""
_MOST_WTHOR_GAMES = (LARGEST_WHOLE - wthor.HEADER_BYTES) // wthor.GAME_BYTES
"""The games of the largest file that is read."""

_ISO_DATE = re.compile(r"(\d{4})[-./](\d{1,2})[-./](\d{1,2})", re.ASCII)

# A tag, with remarks before it.
_PGN_HEAD = re.compile(rb"(?:(?:[;%#][^\n]*\n|\{[^}]*\})\s*)*\[[ \t]*\w")


class FileGame(NamedTuple):
    """A game with its data in a file.

    ``number`` is the game's place in the file, counted from 1; ``date`` is ``2026-01-31``, a year alone, or empty.
    ``result`` is the score that the file claims, in discs for Black, `BARE_WIN` or its opposite if it names a winner
    alone; None if the file claims none.
    """

    record: GameRecord
    number: int = 1
    event: str = ""
    date: str = ""
    result: BlackScore | None = None
    round: str = ""
    """PGN's round, such as ``12.1``; only written."""
    ending: str = ""
    """Why the game ended early, as for `game_text`; only written, as is ``comment``."""
    comment: str = ""


def read_games(path: str, bad: Complain | None = None, format: str = "") -> Iterator[FileGame]:
    """Yield the games of a file; ``format``, one of `READ_FORMATS`, overrides its name and content.

    Raises `BadInput` if the file is not a file of games. A game that cannot be read is passed over with a message to
    ``bad``; without ``bad`` it raises `BadInput`.
    """
    return games_of(content_of(path), bad, format)


def parse_games(data: bytes, name: str, bad: Complain | None = None, format: str = "") -> Iterator[FileGame]:
    """Yield the games in ``data``, the content of the file ``name``, as `read_games` does. A ``.wtb`` takes its names
    from the files beside it. Raises `BadInput` as `read_games` does.
    """
    return games_of(content_in(data, name), bad, format)


def games_of(content: Content, bad: Complain | None = None, format: str = "") -> Iterator[FileGame]:
    """Yield the games of a file as `read_games` does. Raises `BadInput` as it does."""
    name = content.name
    if not content.size:
        raise BadInput(f"{quoted(name)}: the file is empty")
    check_fetched(content.head, name)
    format = format or format_of_base(content)
    if format == "wtb":
        return _wthor_games(wthor.parse(content.whole(), name, bad), name, bad)
    if format == "edx":
        return _edx_games(edx.parse(content.whole(), name, bad), name, bad)
    without_mark(content.head, name)
    return _text_games(content, format, bad)


def format_of_base(content: Content) -> str:
    """Return the format of a file, one of `READ_FORMATS`, by its name, else by its content: ``txt`` for any other text.
    Raises `BadInput` for other binary data.
    """
    name, size = content.name, content.size
    extension = extension_of(name)
    if extension in READ_FORMATS and extension != "txt":
        return extension
    head = content.head.removeprefix(BOM_UTF8)[:1000].lstrip()
    if b"\0" in head:
        if content.head.startswith(UTF_16):
            without_mark(content.head, name)
        if (size - wthor.HEADER_BYTES) % wthor.GAME_BYTES == 0:
            return "wtb"
        if size % edx.GAME_BYTES == 0:
            return "edx"
        without_mark(content.head, name)
        raise BadInput(f"{quoted(name)}: expected a file of games: {' '.join(READ_FORMATS)}")
    if re.match(rb"(?:\d+\s*)?\(\s*;", head):
        return "ggf" if re.search(rb"GM\[(?:othello|reversi)", head, re.IGNORECASE) else "sgf"
    if re.match(rb"(?:\[\s*)*\{\s*\"|(?:\[\s*)+\"", head):
        return "ndjson"
    return "pgn" if _PGN_HEAD.match(head) else "txt"


def extension_of(name: str) -> str:
    """Return the extension of a file name in lower case, without the extension of packing: ``pgn`` for ``x.PGN.gz``."""
    return os.path.splitext(_unpacked_name(name))[1][1:].lower()  # noqa: PTH122  pathlib costs start-up time


def _unpacked_name(name: str) -> str:
    root, extension = os.path.splitext(name)  # noqa: PTH122
    return root if extension[1:].lower() in packed.EXTENSIONS else name


# Reading


def game_files(paths: Iterable[str]) -> list[str]:
    """Return the files in ``paths``, and the files of games in and below the folders in ``paths``, each once, in order;
    those of a folder are sorted by name.

    Raises `BadInput` if a path does not exist, or if there is no file.
    """
    from pathlib import Path

    found = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if file.is_file())
            found += [str(file) for file in inside if extension_of(file.name) in READ_FORMATS]
        elif path.exists():
            found.append(str(path))
        else:
            raise BadInput(f"{quoted(str(path))}: No such file or folder")
    if not found:
        raise BadInput(f"no files of games there: expected {' '.join(f'.{each}' for each in READ_FORMATS)}")
    return list(dict.fromkeys(found))


def read_wthor(path: str, bad: Complain) -> wthor.WthorFile:
    """Read the games of a ``.wtb`` file; messages about bad records go to ``bad``. Raises `BadInput`."""
    return wthor.parse(content_of(path).whole(), path, bad)


def _wthor_games(base: wthor.WthorFile, name: str, bad: Complain | None) -> Iterator[FileGame]:
    if not base.header.records and not base.games:
        raise BadInput(f"{quoted(name)}: no game found: the header announces none")
    players, tournaments = names_beside(name, ".jou", bad), names_beside(name, ".trn", bad)
    date = wthor_date(base.header)
    for number, game in base.games.items():
        try:
            moves = replayed(START, game.moves)
        except BadInput as error:
            offset = wthor.HEADER_BYTES + wthor.GAME_BYTES * (number - 1)
            complain(f"{quoted(name)}: game {number}, offset {offset}: {error}", bad)
            continue
        record = GameRecord(START, moves, name_of(players, game.black), name_of(players, game.white))
        result = BlackScore(2 * game.discs - 64) if game.discs <= 64 else None
        yield FileGame(record, number, name_of(tournaments, game.tournament), date, result)


def wthor_date(header: wthor.WthorHeader) -> str:
    """Return the year of a file's games as text; "" if the header has none."""
    return str(header.year) if 0 < header.year < 10000 else ""


def name_of(names: list[str], number: int) -> str:
    """Return the name with this number; "" if there is none, or only question marks."""
    name = names[number] if number < len(names) else ""
    return "" if name.strip("?") == "" else name


def names_beside(base: str, extension: str, bad: Complain | None) -> list[str]:
    """Return the names in the file of names, ``.jou`` or ``.trn``, that belongs to a ``.wtb``; [] if it is missing.

    A file that cannot be read is reported to ``bad``; without ``bad`` it raises `BadInput`.
    """
    path = names_file(base, extension)
    if not path:
        return []
    try:
        return wthor.read_names(path, bad)
    except BadInput as error:
        complain(str(error), bad)
        return []


def names_file(base: str, extension: str) -> str:
    """Return the path of the file of names for the ``.wtb`` file ``base``, in the same folder; "" if none exists. The
    file has the ``extension`` and the name of ``base``, else ``WTH``, else ``WTHOR``, in any case of letters.
    """
    folder, own = os.path.split(_unpacked_name(base))
    try:
        entries = {entry.lower(): entry for entry in sorted(os.listdir(folder or "."), reverse=True)}  # noqa: PTH208
    except OSError:
        return ""
    for stem in (os.path.splitext(own)[0].lower(), "wth", "wthor"):  # noqa: PTH122
        if stem + extension in entries:
            return os.path.join(folder, entries[stem + extension])  # noqa: PTH118
    return ""


def _edx_games(games: dict[int, edx.EdxGame], name: str, bad: Complain | None) -> Iterator[FileGame]:
    for number, game in games.items():
        try:
            moves = replayed(game.initial, game.moves)
        except BadInput as error:
            complain(f"{quoted(name)}: game {number}, offset {edx.GAME_BYTES * (number - 1)}: {error}", bad)
            continue
        year, month, day = game.date[:3]
        date = f"{year:04}-{month:02}-{day:02}" if 0 < year < 10000 and 0 < month < 13 and 0 < day < 32 else ""
        yield FileGame(GameRecord(game.initial, moves, game.black, game.white), number, "", date)


def _text_games(content: Content, format: str, bad: Complain | None) -> Iterator[FileGame]:
    number = 0
    for number, (game, line) in enumerate(_game_texts(content, format), 1):
        try:
            record = game_of(game, format)
            event, date, result = _described(game, format)
        except BadInput as error:
            complain(f"{quoted(content.name)}: game {number}, line {line}: {error}", bad)
            continue
        # A claim that the finished board contradicts would count in lists and ratings.
        yield FileGame(record, number, event, date, None if result is None else final_result(record, result))
    if not number:
        raise BadInput(f"{quoted(content.name)}: no game found: expected {format}")


def _game_texts(content: Content, format: str) -> Iterator[tuple[GameText, int]]:
    """Yield the games of a text, read piece by piece, each with the number of its first line. Raises `BadInput` for a
    game of more than `LONGEST_GAME` characters.
    """
    if format in LINE_FORMATS:
        yield from ((game, game.start) for game in LINE_FORMATS[format](content.lines()))
        return
    text, line = "", 1
    for piece in chain(content.texts(sgf=format == "sgf"), [None]):
        text += piece or ""
        at = 0
        # It may go on in the next piece.
        last: GameText | None = None
        for game in game_texts(text, format):
            if last:
                line, at = line + text.count("\n", at, last.start), last.start
                yield last, line
            last = game
        start = last.start if last else 0
        line += text.count("\n", at, start)
        if last and piece is None:
            yield last, line
        text = text[start:]
        if len(text) > LONGEST_GAME:
            raise BadInput(f"{quoted(content.name)}: line {line}: expected a game of at most {LONGEST_GAME} characters")


def _described(text: GameText, format: str) -> tuple[str, str, BlackScore | None]:
    """Return event, date ("" if unknown) and result (discs for Black, None if unknown) of a game."""
    event, date, result = {"ggf": ("PC", "DT", "RE"), "sgf": ("EV", "DT", "RE")}.get(
        format, ("EVENT", "DATE", "RESULT")
    )
    tags = text.tags()
    claimed = claimed_result(tags.get(result, ""))
    if claimed is None and WRITTEN_RESULT in tags:
        claimed = result_in_words(tags[WRITTEN_RESULT])
    name = tags.get(event, "")
    return name.strip("?") if format in ("pgn", "ndjson") else name, _date(tags.get(date, "")), claimed


def _date(text: str) -> str:
    day = _ISO_DATE.search(text)
    if day:
        return f"{day[1]}-{int(day[2]):02}-{int(day[3]):02}"
    # Some servers write the seconds since 1970.
    if re.fullmatch(r"\d{8,11}", text, re.ASCII):
        return time.strftime("%Y-%m-%d", time.gmtime(int(text)))
    year = re.match(r"\d{4}(?!\d)", text, re.ASCII)
    return year[0] if year else ""


# Writing


def format_to_write(path: str) -> str:
    """Return the format, one of `BASE_FORMATS`, that a file name says; raises `BadInput`."""
    format = os.path.splitext(path)[1][1:].lower()  # noqa: PTH122
    if format not in BASE_FORMATS:
        raise BadInput(f"{quoted(path)}: expected a file name that ends in .{', .'.join(BASE_FORMATS)}")
    return format


def write_games(path: str, games: Iterable[FileGame], append: bool = False) -> int:
    """Write games in the format that the file name says. Returns the number of ``games``; raises `BadInput`.

    With ``append`` they follow the games that the file already has. The file is replaced as a whole or, on an error,
    not at all. The files of names beside a ``.wtb`` are replaced before it.
    """
    format = format_to_write(path)
    old = content_of(path) if append and os.path.exists(path) else content_in(b"", path)  # noqa: PTH110
    if format == "wtb":
        return _write_wthor(path, games, old.whole())
    if format == "edx":
        edx.parse(old.whole(), path)
    count, end = 0, b"\n"
    with _refusals(path), files.replacing(path) as stream:
        for piece in old.pieces():
            stream.write(piece)
            end = piece[-1:]
        if format != "edx" and end != b"\n":
            stream.write(b"\n")
        for game in games:
            if format == "pgn" and (count or old.size):
                stream.write(b"\n")
            stream.write(_edx_bytes(game) if format == "edx" else _text_bytes(game, format))
            count += 1
    return count


def replace_file(path: str, data: bytes) -> None:
    """Replace the content of a file; raises `BadInput`."""
    with _refusals(path):
        files.replace(path, data)


def append_to_file(path: str, data: bytes | bytearray) -> None:
    """Append to a file, as `files.append`; raises `BadInput`."""
    with _refusals(path):
        files.append(path, data)


@contextmanager
def _refusals(path: str) -> Iterator[None]:
    try:
        yield
    except files.NotAFile:
        raise BadInput(f"{quoted(path)}: expected a regular file") from None
    except OSError as error:
        raise BadInput(f"{quoted(path)}: {error.strerror}") from None


def _moves(record: GameRecord) -> bytes:
    return bytes(played.move for played in record.moves if played.move != PASS)


def _text_bytes(game: FileGame, format: str) -> bytes:
    text = game_text(
        game.record,
        format,
        game.date,
        game.event,
        game.result,
        comment=game.comment,
        round=game.round,
        ending=game.ending,
    )
    return text.encode("utf-8", "backslashreplace")


def _edx_bytes(game: FileGame) -> bytes:
    year, month, day = ([int(part) for part in game.date.split("-") if part] + [0, 0, 0])[:3]
    record = game.record
    return edx.to_bytes(
        edx.EdxGame(record.initial, _moves(record), record.black, record.white, (year, month, day, 0, 0, 0))
    )


def _write_wthor(path: str, games: Iterable[FileGame], old: bytes) -> int:
    present = list(wthor.parse(old, path).games.values()) if old else []
    most = max((max(game.black, game.white) for game in present), default=0)
    players = _Names(names_beside(path, ".jou", None) if old else [], "???", most)
    most = max((game.tournament for game in present), default=0)
    tournaments = _Names(names_beside(path, ".trn", None) if old else [], "", most)
    years = {wthor.parse(old, path).header.year} if old else set()
    added: list[wthor.WthorGame] = []
    for number, game in enumerate(games, 1):
        record = game.record
        if len(present) + number > _MOST_WTHOR_GAMES:
            raise BadInput(f"{quoted(path)}: expected at most {_MOST_WTHOR_GAMES} games, or another format than .wtb")
        if record.initial != START:
            raise BadInput(f"{quoted(path)}: game {number} begins on another board: expected the standard start")
        discs = _discs(game)
        names = (tournaments.number(game.event), players.number(record.black), players.number(record.white))
        added.append(wthor.WthorGame(_moves(record), discs, discs, *names))
        years.add(int(game.date[:4] or 0))
    today = time.gmtime()
    made = (today.tm_year, today.tm_mon, today.tm_mday)
    # A file is of one year; the theoretical scores written here are the results themselves, at 0 empty squares.
    header = wthor.WthorHeader(made, 0, years.pop() if len(years) == 1 else 0, 8, 0)
    data = wthor.to_bytes([*present, *added], header)
    replace_file(_own_names_file(path, ".jou"), wthor.names_to_bytes(players.names, made, wthor.PLAYER_BYTES))
    replace_file(_own_names_file(path, ".trn"), wthor.names_to_bytes(tournaments.names, made, wthor.TOURNAMENT_BYTES))
    replace_file(path, data)
    return len(added)


def _own_names_file(base: str, extension: str) -> str:
    """Return the path of the file of names to write for a ``.wtb``. It has the base's name. If a file with that name
    exists, in any case of letters, its path is returned.
    """
    stem = os.path.splitext(base)[0]  # noqa: PTH122
    existing = names_file(base, extension)
    return existing if existing.lower() == f"{stem}{extension}".lower() else stem + extension


def _discs(game: FileGame) -> int:
    """Return the number of Black's discs to write for a game, empty squares counted for the winner.

    For an unfinished game the number follows from the recorded result, or is `_UNFINISHED_DISCS` if there is none.
    """
    final = game.record.final
    if final.over:
        return 32 + black_score(final) // 2
    if game.result is None:
        return _UNFINISHED_DISCS
    # The least win, where the discs are not known.
    return 32 + (game.result if abs(game.result) == BARE_WIN else game.result // 2)


class _Names:
    """The names of players or tournaments in a WTHOR file, by number. `number` returns a name's number and adds the
    name if it is new; "" has the number 0.

    The first names are ``names``. Numbers after these, up to and including ``known``, have the name ``unknown``.
    """

    def __init__(self, names: list[str], unknown: str, known: int) -> None:
        self.names = names + [unknown] * (known + 1 - len(names))
        self._numbers = {name: number for number, name in reversed(list(enumerate(self.names)))}

    def number(self, name: str) -> int:
        if not name:
            return 0
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]
