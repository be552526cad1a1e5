"""Toy searches and small books for the book's tests."""

from __future__ import annotations

import random
import secrets
import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import referee

from desdaemon.book.book import Book, Evaluate
from desdaemon.book.changes import GivenCommand
from desdaemon.book.editing.add import add_positions
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.layout import PASS
from desdaemon.book.options import BookOptions, Rule
from desdaemon.book.record import RESULT, START
from desdaemon.book.storage import earlier, journal, snapshot
from desdaemon.book.storage.store import Store, journal_path, lock_path
from desdaemon.protocol.system.locks import FileLock


def canonical(player: int, opponent: int) -> tuple[int, int]:
    """The referee's canonical form."""
    found: tuple[int, int] = referee.canonical_bits(referee.from_bits(player, opponent))
    return found


@cache
def worth(player: int, opponent: int) -> int:
    """A made-up score -12..12 of a position, the same for its eight images; exact when the game is over."""
    cells = referee.from_bits(player, opponent)
    if referee.game_over(cells):
        score: int = referee.final_score(cells)
        return score
    p, o = canonical(player, opponent)
    return random.Random(p * 31 + o).randint(-12, 12)


@cache
def toy(player: int, opponent: int, level: int, excluded: int) -> tuple[int, int]:
    """A search that looks one ply ahead with `worth`; the level changes nothing."""
    cells = referee.from_bits(player, opponent)
    scored = []
    for move in referee.legal_moves(cells):
        if not excluded >> move & 1:
            child = referee.to_bits(referee.play(cells, move))
            scored.append((-worth(*child), -move))
    best, move = max(scored)
    return -move, best


def copied(book: Book) -> Book:
    """A book of its own with the same content."""
    return earlier.kept(book, GivenCommand(""), None, changes=0).book()


def new_book(options: BookOptions, evaluate: Evaluate) -> Book:
    """A book of the initial position, searched at the book's level."""
    book = Book(options)
    add_positions(book, [START], Worker(evaluate))
    return book


def small_book(depth: int = 6, level: int = 2) -> Book:
    """A book of the initial position only."""
    return new_book(BookOptions(level=level, min_empties=61 - depth), toy)


def grown(relative: int = 3, depth: int = 6, level: int = 2) -> Book:
    """A book of the lines that lose at most ``relative`` discs."""
    book = small_book(depth=depth, level=level)
    spread(book, relative)
    return book


def set_rule(book: Book, rule: Rule) -> None:
    """Make the book's scores those of a rule; under Egaroucid's every leaf beside links is better than these."""
    book.options = book.options._replace(rule=rule)
    for row in range(len(book)) if rule is Rule.EGAROUCID else ():
        entry = book.table.entry(row)
        if entry.has_leaf and any(child >= 0 for _, child in book.table.links(*entry[:2])):
            book.table.write(row, entry._replace(leaf_score=60))
    book.negamax()


def spread(book: Book, loss: int) -> None:
    """Add the lines from the start that lose at most ``loss`` discs in all, down to the book's depth."""
    before = 0
    while len(book) > before:
        before = len(book)
        waiting, walked, leaves = [(START, loss)], dict[tuple[int, int], int](), set[tuple[int, int]]()
        while waiting:
            position, left = waiting.pop()
            if walked.get(position, -1) >= left or 64 - sum(map(int.bit_count, position)) < book.options.min_empties:
                continue
            walked[position] = left
            moves = book.moves_on(*position)
            for move in moves:
                if (lost := moves[0].score - move.score) <= left and move.move < PASS:
                    child = book.table.canonical(*book.table.play(*position, move.move))[:2]
                    if move.row < 0:
                        leaves.add(child)
                    else:
                        waiting.append((child, left - lost))
        add_positions(book, sorted(leaves), Worker(toy))


def game_positions(book: Book, moves: Sequence[int]) -> list[tuple[int, int]]:
    """The positions of a game after each of its moves (squares 0..63; forced passes are put in), with the start.

    Raises ValueError at an illegal move, naming its number.
    """
    table = book.table
    player, opponent = START
    positions = [(player, opponent)]
    for number, move in enumerate(moves, 1):
        if move == PASS and not table.moves(player, opponent):
            player, opponent = opponent, player
            positions.append((player, opponent))
            continue
        legal = table.moves(player, opponent)
        if not legal and table.moves(opponent, player):
            player, opponent = opponent, player
            positions.append((player, opponent))
            legal = table.moves(player, opponent)
        if not (0 <= move < PASS and legal >> move & 1):
            raise ValueError(f"move {number} is not legal")
        player, opponent = table.play(player, opponent, move)
        positions.append((player, opponent))
    return positions


def contents(book: Book) -> list[tuple[int, ...]]:
    """Every position with all its fields, in the order of the positions."""
    return sorted(book.table.entry(row) for row in range(len(book)))


def set_results(book: Book, row: int, results: tuple[float, float, float]) -> None:
    """Give a row's position so many games won, drawn and lost by its side to move."""
    book.store_results(np.array([row]), np.array([results], RESULT))


def create_store(path: Path, book: Book) -> Store:
    """Write ``book``, which has no file yet, to ``path``; return its store, open for writing."""
    path = path.resolve()
    lock = FileLock(lock_path(path), mode=0o644)
    header = snapshot.write(path, book, secrets.randbits(64), 0, backups=0)
    journal.write(journal_path(path), header.book, 0)
    store = Store(path, book, header, lock)
    store._start(journal.read(journal_path(path)))
    return store


def dat_record(player: int, opponent: int, *, links: bytes = b"", leaf: bytes = b"\x81\x41", level: int = 1) -> bytes:
    """A record of an Edax book with no counts and no value."""
    fields = struct.pack("<QQ4I3hBB", player, opponent, 0, 0, 0, 0, 0, -1, 1, len(links) // 2, level)
    return fields + links + leaf


def dat_file(path: Path, records: bytes, count: int, *, version: int = 4, magic: bytes = b"XADEKOOB") -> Path:
    """An Edax book."""
    head = struct.pack("<8sBBhBBBBBBiiiiii", magic, version, 6, 2026, 1, 2, 3, 4, 5, 0, 1, 50, 2, 1, 0, count)
    path.write_bytes(head + records)
    return path


def undated(content: bytes) -> bytes:
    """Return the content of a book.dat without the date in its header."""
    return content[:10] + content[17:]
