"""The games of many files for the book: `book add` and `book check`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from desdaemon.book.games import source_name
from desdaemon.book.growth.add import BookGame, add_games
from desdaemon.book.growth.game_results import take_back
from desdaemon.core.books.command_run import BookCommandRun, Work
from desdaemon.core.books.jobs import Result
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.bases import (
    BASE_FORMATS,
    extension_of,
    name_of,
    names_beside,
    read_games,
    read_wthor,
    wthor_date,
)
from desdaemon.protocol.games.records import black_score
from desdaemon.protocol.othello.notation import START
from desdaemon.protocol.othello.openings import openings
from desdaemon.protocol.othello.rules import PASS

SHOWN = 5
"""Unusable games that are named, at most; the rest are counted."""

OPENINGS = "openings"
"""The name that stands for the lines of the named openings, unless there is a file of this name."""


def game_files(run: BookCommandRun) -> list[Path]:
    """Return the files that a command names; for a folder all game files in it. Raises `BadInput`."""
    found: list[Path] = []
    for path in run.paths():
        if not path.is_dir():
            found.append(path)
            continue
        files = run.books.files.inside(path, remote=run.caller.remote)
        inside = [file for file in files if extension_of(file.name) in BASE_FORMATS]
        if not inside:
            raise BadInput(f"{quoted(str(path))}: no game file in this folder: expected {' '.join(BASE_FORMATS)}")
        found += inside
    return found


def _about(*known: str) -> str:
    """Return what identifies a game besides its moves: players, event and date; "" if there is nothing."""
    return "\n".join(known).strip("\n") and "\n".join(known)


def counted_text(counted: int, known: int) -> str:
    """Return a text such as ``12 games counted, 3 known already``."""
    return f"{counted} games counted, {known} known already"


class Games:
    """The games of files from the standard start, file by file; may be iterated repeatedly.

    After that ``games`` is their number; ``problems`` (at most `SHOWN`) and ``left_out`` describe the unusable ones.
    """

    def __init__(self, run: BookCommandRun) -> None:
        self.files = game_files(run)
        self.games = 0
        self.left_out = 0
        self.problems: list[str] = []

    def complain(self, line: str) -> None:
        """Record a game that cannot be used."""
        self.left_out += 1
        if self.left_out <= SHOWN:
            self.problems.append(line)

    def __iter__(self) -> Iterator[BookGame]:
        self.games = self.left_out = 0
        self.problems.clear()
        for path in self.files:
            for game in self._games(path):
                self.games += 1
                yield game

    def _games(self, path: Path) -> Iterator[BookGame]:
        if path.name == OPENINGS and not path.exists():
            yield from (BookGame(bytes(opening.moves)) for opening in openings())
            return
        if extension_of(path.name) == "wtb":
            # The book library replays faster than the reader of game files does.
            base = read_wthor(str(path), self.complain)
            players, tournaments = (names_beside(str(path), extension, None) for extension in (".jou", ".trn"))
            for game in base.games.values():
                named = name_of(players, game.black), name_of(players, game.white)
                about = _about(*named, name_of(tournaments, game.tournament), wthor_date(base.header))
                yield BookGame(game.moves, 2 * game.discs - 64 if game.discs <= 64 else None, about, path.name)
            return
        for found in read_games(str(path), self.complain):
            record = found.record
            if record.initial != START:
                self.complain(f"{quoted(str(path))}: game {found.number} begins on another board: it is left out")
                continue
            final = record.final
            score = black_score(final) if final.over else found.result
            moves = bytes(played.move for played in record.moves if played.move != PASS)
            yield BookGame(moves, score, _about(record.black, record.white, found.event, found.date), path.name)


def _add(run: BookCommandRun) -> Result:
    games = Games(run)
    book = run.book
    outcome, illegal, counted, known = add_games(
        book,
        games,
        run.worker(),
        keep_results=True,
        adjusting=run.caller.settings.book_learn_results,
        search=not run.values["unsearched"],
        played=run.number("played"),
    )
    for line in illegal:
        games.complain(line)
    lines = list(games.problems)
    if games.left_out > SHOWN:
        lines.append(f"... and {games.left_out - SHOWN} more like these")
    lines.append(
        f"{games.games} games of {len(games.files)} files added to book: {outcome.added} positions added, "
        f"{outcome.searches} searches, book now has {len(book)} positions" + ("" if outcome.finished else "; stopped")
    )
    if counted or known:
        lines.append(counted_text(counted, known))
    return {
        "finished": outcome.finished,
        "games": games.games,
        "left_out": games.left_out,
        "added": outcome.added,
        "searches": outcome.searches,
        "counted": counted,
        "known": known,
        "text": lines,
    }


def _uncount(run: BookCommandRun) -> Result:
    book, source = run.book, run.values["source"]
    assert isinstance(source, str)
    gone = book.games[book.games["source"] == source_name(source)]
    if not source or not len(gone):
        raise BadInput(f"book uncount {quoted(source)}: no game of it is counted: book info lists the sources")
    take_back(book, gone, run.progress)
    return {"games": len(gone), "text": [f"Book uncount...done: {len(gone)} games taken back"]}


WORK: dict[str, Work] = {"add": _add, "uncount": _uncount}
