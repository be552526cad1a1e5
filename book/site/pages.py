"""Writes a book as a page and files of positions beside it.

The page finds a position by its canonical form: a hash of it says in which file, ``positions/NUMBER.js``, it is. The
files are scripts, because a page that was opened from a folder may load these and nothing else; some hundreds of them
are copied and served faster than a page for each position.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from desdaemon.book.book import Book
from desdaemon.book.progress import ProgressCallback, no_progress
from desdaemon.book.record import PositionEntry
from desdaemon.protocol.errors import BadInput, escaped, quoted
from desdaemon.protocol.othello.notation import moves_text
from desdaemon.protocol.system.files import replace, tidy

PER_FILE = 500
"""Positions in a file of positions, about: 50 kB, which a phone loads at once."""

MOST_FILES = 1 << 14

_FACTOR = 0x9E3779B1
_PAGE = Path(__file__).with_name("page.html")


class Site(NamedTuple):
    """What was written: the numbers of positions and of files, and the bytes of all files."""

    positions: int
    files: int
    bytes: int


def numbers(player: npt.NDArray[np.uint64], opponent: npt.NDArray[np.uint64], files: int) -> npt.NDArray[np.int64]:
    """Return the numbers of the files of canonical positions, of ``files`` in all, a power of two. The page reckons the
    same.
    """
    value = np.zeros(len(player), np.uint64)
    for word in (player >> np.uint64(32), player, opponent >> np.uint64(32), opponent):
        value = (value ^ word & np.uint64(0xFFFFFFFF)) * np.uint64(_FACTOR) & np.uint64(0xFFFFFFFF)
    return (value >> np.uint64(8) & np.uint64(files - 1)).astype(np.int64)


def write(book: Book, folder: Path, title: str, progress: ProgressCallback = no_progress) -> Site:
    """Write the site into ``folder``, which is made if it is not there; a site in it is replaced. ``title`` is any
    text. Raises `BadInput` if the folder has anything but a site, `OSError` if a file cannot be written.
    """
    positions = folder / "positions"
    # What a killed run has left is not taken for files of others.
    for part in (folder, positions):
        if not part.is_symlink():
            tidy(part)
    _check(folder, positions)
    positions.mkdir(parents=True, exist_ok=True)
    # The page of another book would look for positions in the wrong files, should this run be killed.
    (folder / "index.html").unlink(missing_ok=True)
    files = 1
    while files * PER_FILE < len(book) and files < MOST_FILES:
        files *= 2
    sides = [book.table.column(name) for name in ("player", "opponent")]
    number = numbers(sides[0], sides[1], files)
    order = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number, minlength=files))
    size = 0
    for place, rows in enumerate(np.split(order, ends[:-1])):
        content = "".join(_lines(book, place, rows.tolist())).encode()
        replace(positions / f"{place}.js", content)
        size += len(content)
        progress("pages", int(ends[place]), len(book))
    texts = {"TITLE": html.escape(escaped(title)), "FILES": str(files), "POSITIONS": f"{len(book):,}"}
    page = re.sub("@([A-Z]+)@", lambda name: texts[name[1]], _PAGE.read_text(encoding="utf-8")).encode()
    replace(folder / "index.html", page)
    for left in positions.iterdir():
        if int(left.stem) >= files:
            left.unlink()
    return Site(len(book), files + 1, size + len(page))


def _check(folder: Path, positions: Path) -> None:
    """Raise `BadInput` if a folder has files that are no site's, or links, through which others would be written."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{quoted(str(folder))}: not a folder")
    there = [*folder.iterdir()] if folder.exists() else []
    if positions.is_dir() and not positions.is_symlink():
        there += positions.iterdir()
    for path in there:
        ours = path in (positions, folder / "index.html") or (
            path.parent == positions and path.suffix == ".js" and path.stem.isascii() and path.stem.isdecimal()
        )
        if not ours or path.is_symlink() or path.is_dir() is not (path == positions):
            raise BadInput(f"{quoted(str(path))}: no part of a site: expected an empty folder, or one with a site")


def _lines(book: Book, number: int, rows: list[int]) -> Iterator[str]:
    """Yield the script with the positions in ``rows``: the file with this ``number``."""
    yield f"book({number},{{\n"
    for row in rows:
        entry = book.table.entry(row)
        data = json.dumps(_data(book, row, entry), separators=(",", ":"))
        yield f'"{entry.player:016x}{entry.opponent:016x}":{data},\n'
    yield "})\n"


def _data(book: Book, row: int, entry: PositionEntry) -> list[object]:
    """Return a position's score for the side to move (None if it has none), its level, whether its score was set by
    hand, its moves on the canonical board with score and whether the book goes on, and its results if games were
    counted.
    """
    moves = [
        [moves_text([move.move]), int(move.score) if move.scored else None, int(move.linked)]
        for move in book.known_moves(entry)
    ]
    results = book.table.results(row)
    score = entry.score if -64 <= entry.score <= 64 else None
    played = [[round(each, 1) for each in results]] if results.games else []
    return [score, entry.level, int(entry.human), moves, *played]
