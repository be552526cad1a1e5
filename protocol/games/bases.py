"""Files of many games in the formats of `formats`, packed or not.

The name of a file says its format, unless it ends in .txt or an unknown extension: then its content does.
"""

from __future__ import annotations

import os
import re
import time
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import BlackScore
from desdaemon.protocol.rows import load
from desdaemon.protocol.system import files, packed
from desdaemon.protocol.texts import UTF_16, check_fetched, without_mark

from .contents import LONGEST_GAME, Content, content_in, content_of
from .formats import BASE_FORMATS, BY_NAME, READ_FORMATS, game_of, game_text, game_texts
from .records import WRITTEN_RESULT, Complain, GameRecord, GameText, complain, final_result
from .results import claimed_result, result_in_words

_ISO_DATE = re.compile(r"(\d{4})[-./](\d{1,2})[-./](\d{1,2})", re.ASCII)


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


class UncheckedGame(NamedTuple):
    """A game of a file that was not replayed: its squares in order, without passes, and its data."""

    moves: bytes
    result: BlackScore | None = None
    black: str = ""
    white: str = ""
    event: str = ""
    date: str = ""


def unchecked_games(path: str, bad: Complain) -> Iterator[UncheckedGame] | None:
    """Return the games of a file without replaying them, which is faster for those who do it themselves; None if its
    format, by its name, has no such reader. Raises `BadInput`.
    """
    row = BY_NAME.get(extension_of(path))
    return load(row.unchecked)(path, bad) if row and row.unchecked else None


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
    if BY_NAME[format].read:
        games: Iterator[FileGame] = load(BY_NAME[format].read)(content, bad)
        return games
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
    binary = b"\0" in head
    if binary and content.head.startswith(UTF_16):
        without_mark(content.head, name)
    for row in BY_NAME.values():
        if row.recognise and bool(row.read) == binary and load(row.recognise)(head, size):
            return row.name
    if binary:
        without_mark(content.head, name)
        raise BadInput(f"{quoted(name)}: expected a file of games: {' '.join(READ_FORMATS)}")
    return "txt"


def extension_of(name: str) -> str:
    """Return the extension of a file name in lower case, without the extension of packing: ``pgn`` for ``x.PGN.gz``."""
    return os.path.splitext(unpacked_name(name))[1][1:].lower()  # noqa: PTH122  pathlib costs start-up time


def unpacked_name(name: str) -> str:
    """Return the name of a file without the extension of packing."""
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
    row = BY_NAME[format]
    if row.by_line:
        yield from ((game, game.start) for game in load(row.texts)(content.lines()))
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
    event, date, result = BY_NAME[format].tags
    tags = text.tags()
    claimed = claimed_result(tags.get(result, ""))
    if claimed is None and WRITTEN_RESULT in tags:
        claimed = result_in_words(tags[WRITTEN_RESULT])
    name = tags.get(event, "")
    return name.strip("?") if event == "EVENT" else name, _date(tags.get(date, "")), claimed


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
    not at all.
    """
    format = format_to_write(path)
    old = content_of(path) if append and os.path.exists(path) else content_in(b"", path)  # noqa: PTH110
    row = BY_NAME[format]
    if row.write:
        written: int = load(row.write)(path, games, old.whole())
        return written
    count, end = 0, b"\n"
    with _refusals(path), files.replacing(path) as stream:
        for piece in old.pieces():
            stream.write(piece)
            end = piece[-1:]
        if end != b"\n":
            stream.write(b"\n")
        for game in games:
            if count or old.size:
                stream.write(row.between.encode())
            stream.write(_text_bytes(game, format))
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


def expect_other_files(outputs: Mapping[str, str], inputs: Iterable[str] = ()) -> None:
    """Raise `BadInput` if what is to be written would take the place of what is read, or of another output.

    ``outputs`` are files by the option that names them; "" and ``-`` name none.
    """
    places = {option: path for option, path in outputs.items() if path not in ("", "-")}
    read = [path for path in inputs if path not in ("", "-")]
    before: dict[str, str] = {}
    for option, path in places.items():
        if any(_one_file(path, other) for other in read):
            raise BadInput(f"{option} {quoted(path)}: expected another file than those that are read")
        for name, other in before.items():
            if _one_file(path, other):
                raise BadInput(f"{option} {quoted(path)}: expected another file than that of {name}")
        before[option] = path


def _one_file(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)  # noqa: PTH121
    except (OSError, ValueError):
        # One of them is not there, yet.
        return os.path.realpath(path) == os.path.realpath(other)


def squares_played(record: GameRecord) -> bytes:
    """Return the moves of a game without passes."""
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
