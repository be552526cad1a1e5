"""Bases of WTHOR: a ``.wtb`` with the names of its players and tournaments beside it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.bases import FileGame, UncheckedGame, replace_file, squares_played, unpacked_name
from desdaemon.protocol.games.contents import LARGEST_WHOLE, Content, content_of
from desdaemon.protocol.games.formats import replayed
from desdaemon.protocol.games.records import Complain, GameRecord, black_score, complain
from desdaemon.protocol.othello.notation import START
from desdaemon.protocol.othello.scores import BARE_WIN, BlackScore

from . import wthor

_UNFINISHED_DISCS = 225
"""The discs that Edax writes into a WTHOR game without a result."""
_MOST_WTHOR_GAMES = (LARGEST_WHOLE - wthor.HEADER_BYTES) // wthor.GAME_BYTES
"""The games of the largest file that is read."""


def unchecked(path: str, bad: Complain) -> Iterator[UncheckedGame]:
    """Yield the games of a base without replaying them. Raises `BadInput`."""
    base = read_wthor(path, bad)
    players, tournaments = (names_beside(path, extension, None) for extension in (".jou", ".trn"))
    for game in base.games.values():
        result = BlackScore(2 * game.discs - 64) if game.discs <= 64 else None
        names = name_of(players, game.black), name_of(players, game.white), name_of(tournaments, game.tournament)
        yield UncheckedGame(game.moves, result, *names, wthor_date(base.header))


def read_wthor(path: str, bad: Complain) -> wthor.WthorFile:
    """Read the games of a ``.wtb`` file; messages about bad records go to ``bad``. Raises `BadInput`."""
    return wthor.parse(content_of(path).whole(), path, bad)


def recognise(head: bytes, size: int) -> bool:
    """Return whether a file without a name may be a base: its size fits."""
    return (size - wthor.HEADER_BYTES) % wthor.GAME_BYTES == 0


def games(content: Content, bad: Complain | None) -> Iterator[FileGame]:
    """Yield the games of a base. Raises `BadInput`."""
    name = content.name
    base = wthor.parse(content.whole(), name, bad)
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
    folder, own = os.path.split(unpacked_name(base))
    try:
        entries = {entry.lower(): entry for entry in sorted(os.listdir(folder or "."), reverse=True)}  # noqa: PTH208
    except OSError:
        return ""
    for stem in (os.path.splitext(own)[0].lower(), "wth", "wthor"):  # noqa: PTH122
        if stem + extension in entries:
            return os.path.join(folder, entries[stem + extension])  # noqa: PTH118
    return ""


def write(path: str, games: Iterable[FileGame], old: bytes) -> int:
    """Write games behind those of ``old``, the files of names before the base. Returns how many; raises `BadInput`."""
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
        added.append(wthor.WthorGame(squares_played(record), discs, discs, *names))
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
