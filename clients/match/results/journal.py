"""The journal of a match: a line of JSON with the terms, then one for each finished game.

A line is on the disk before the next game counts, so that a match can be interrupted at any moment, even by a power
failure, and resumed. A torn last line is ignored: its game is played again.
"""

from __future__ import annotations

import contextlib
import json
import os
from itertools import takewhile
from pathlib import Path
from typing import Any

from desdaemon.clients.match.referee import ENDINGS, Finished
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.othello.notation import board_text, moves_text, parse_board, parse_moves, play_moves
from desdaemon.protocol.othello.scores import BlackScore
from desdaemon.protocol.system import platform

VERSION = 2


class Journal:
    """The finished games of a match, by number, and their file. With the path "" the games are in memory only."""

    def __init__(self, path: str, terms: dict[str, Any]) -> None:
        """Open or create a journal. Raises `BadInput` for a file of another kind, for a match with other terms, and if
        the file cannot be read or written.
        """
        self.games: dict[int, Finished] = {}
        self._path = path
        self._file = None
        if not path:
            return
        exists = os.path.lexists(path)
        if exists and not Path(path).is_file():
            raise BadInput(f"{quoted(path)}: expected a regular file")
        try:
            self._file = Path(path).open("r+b" if exists else "x+b")  # noqa: SIM115  it stays open
            self._lock(self._file.fileno())
            old = self._file.read()
            whole = old[: old.rfind(b"\n") + 1]
            if whole:
                self._recover(whole.decode("utf-8", "backslashreplace").split("\n")[:-1], terms)
            elif not b'{"match":'.startswith(old[:9]):
                raise BadInput(f"{quoted(path)}: expected the journal of a match")
            self._file.truncate(len(whole))
            self._file.seek(0, os.SEEK_END)
        except OSError as error:
            self.__exit__()
            raise BadInput(f"{quoted(path)}: {error.strerror}") from None
        except BadInput:
            self.__exit__()
            raise
        if not whole:
            self._write({"match": VERSION, **terms})

    def _lock(self, descriptor: int) -> None:
        """Keep the journal for this match alone: two would write over each other's games. Raises `BadInput` if another
        one has it. A file system without locks keeps nobody out.
        """
        try:
            platform.lock_file(descriptor)
        except BlockingIOError:
            raise BadInput(f"{quoted(self._path)}: another match writes this journal: wait for its end") from None
        except OSError:
            pass

    def _recover(self, lines: list[str], terms: dict[str, Any]) -> None:
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
                if number > 1:
                    self.games[int(entry["game"])] = entry_game(entry)
                    continue
                old_terms = {name: value for name, value in entry.items() if name != "match"}
                same_version = entry["match"] == VERSION
            except (ValueError, LookupError, ArithmeticError, TypeError, AttributeError, RecursionError) as error:
                raise BadInput(f"{quoted(self._path)}: line {number}: expected the journal of a match") from error
            if not same_version:
                raise BadInput(f"{quoted(self._path)}: version {entry['match']!r}: expected {VERSION}")
            _compare(self._path, old_terms, terms)

    def add(self, number: int, game: Finished) -> None:
        """Add a finished game to ``games`` and write it to the file, if there is one. Raises `BadInput` if writing
        fails; ``games`` has the game even then.
        """
        self.games[number] = game
        self._write({"game": number, **game_entry(game)})

    def _write(self, entry: dict[str, Any]) -> None:
        if self._file:
            try:
                line = json.dumps(entry, separators=(",", ":"), ensure_ascii=False)
                self._file.write(line.encode("utf-8", "backslashreplace") + b"\n")
                self._file.flush()
                platform.sync(self._file.fileno())
            except OSError as error:
                raise BadInput(f"{quoted(self._path)}: {error.strerror}") from None

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file:
            # A failed write was reported before.
            with contextlib.suppress(OSError):
                self._file.close()


_LONG = 60
"""Characters of a value that a message shows."""

_CONTROLS = {"move": "ms for each move", "main": "ms for the game", "increment": "ms added after each move"}
"""The fields of `TimeControl` in words."""


def _compare(path: str, old_terms: dict[str, Any], terms: dict[str, Any]) -> None:
    """Raise `BadInput` for the first difference between the terms of the journal and of this match."""
    difference = _difference("", old_terms, terms)
    if difference:
        raise BadInput(
            f"the journal {quoted(path)} belongs to a different match ({difference}): use the same settings or another "
            "file"
        )


def _difference(name: str, old: object, new: object) -> str:
    """Return in words the first value that differs, with its name; "" if none does."""
    if isinstance(old, dict) and isinstance(new, dict):
        parts = (_difference(f"{name} {key}".strip(), old.get(key), new.get(key)) for key in {**old, **new})
        return next(filter(None, parts), "")
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True), 1)
        return next(
            filter(None, (_difference(f"{name.removesuffix('s')} {number}", *pair) for number, pair in pairs)), ""
        )
    if old == new:
        return ""
    if name == "openings sha256":
        return "openings: other ones here"
    if name.endswith(" sha256"):
        return f"{name.removesuffix(' sha256')}: its files have changed, weights included"
    if isinstance(old, list) and isinstance(new, list):
        old, new = len(old), len(new)
    if isinstance(old, str) and isinstance(new, str) and max(len(old), len(new)) > _LONG:
        # Long commands often begin with the same words, which are left out.
        words, others = old.split(), new.split()
        alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(words, others, strict=False)))
        old, new = (" ".join(["...", *each[alike:]] if alike else each) for each in (words, others))
    before, control, field = name.partition("control ")
    if control:
        name = f"{before}{_CONTROLS.get(field, field)}"
    return f"{name}: {_short(old)} there, {_short(new)} here"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONG else f"{text[:_LONG]}..."


def game_entry(game: Finished) -> dict[str, Any]:
    """Return a finished game as plain values; times are rounded to a tenth of a ms."""
    record = game.record
    return {
        "black": record.black,
        "white": record.white,
        "board": board_text(record.initial),
        "moves": moves_text([played.move for played in record.moves]),
        "ms": [round(played.ms, 1) for played in record.moves],
        **{name: value for name, value in game._asdict().items() if name not in ("record", "moves")},
        "chosen": game.moves,
    }


def entry_game(entry: dict[str, Any]) -> Finished:
    """Return the game of a `game_entry`. Raises `ValueError`, `LookupError`, `ArithmeticError`, `TypeError` or
    `AttributeError` for anything else.
    """
    initial = parse_board(entry["board"])
    moves = play_moves(initial, parse_moves(entry["moves"])).moves
    played = tuple(PlayedMove(move, float(ms)) for move, ms in zip(moves, entry["ms"], strict=True))
    if entry["ending"] not in ENDINGS or not -64 <= int(entry["score"]) <= 64:
        raise ValueError(entry["ending"])
    scores = tuple(None if score is None else float(score) for score in entry.get("scores", ()))
    if scores and len(scores) != len(moves):
        raise ValueError(scores)
    return Finished(
        GameRecord(initial, played, str(entry["black"]), str(entry["white"])),
        BlackScore(int(entry["score"])),
        entry["ending"],
        int(entry["faulty"]),
        str(entry["note"]),
        _two(entry["used"]),
        _two(entry["longest"]),
        (int(entry["chosen"][0]), int(entry["chosen"][1])),
        scores,
    )


def _two(values: list[float]) -> tuple[float, float]:
    black, white = map(float, values)
    return black, white
