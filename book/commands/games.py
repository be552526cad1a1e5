"""Book commands that read files of games: `book add` and `book uncount`; `book check` reads them by `Games`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from desdaemon.book.editing.add import BookGame, add_games
from desdaemon.book.editing.game_results import take_back
from desdaemon.book.games import source_name
from desdaemon.core.books.command_run import BookCommandRun
from desdaemon.core.books.jobs import Result
from desdaemon.protocol.errors import BadInput, Complaints, Unfinished, quoted
from desdaemon.protocol.games.bases import (
    extension_of,
    read_games,
    squares_played,
    unchecked_games,
)
from desdaemon.protocol.games.formats import READ_FORMATS
from desdaemon.protocol.games.records import black_score
from desdaemon.protocol.othello.notation import START
from desdaemon.protocol.othello.openings import LISTS, lines_of, openings
from desdaemon.protocol.spelling import plural

MOST_GAMES = 1_000_000
"""Most games that a command takes; each takes some 250 bytes of memory until their results are counted."""

OPENINGS = "openings"
"""The file name that stands for the lines of the named openings, unless a file has this name."""


def game_files(run: BookCommandRun) -> list[Path]:
    """Return the files of games that a command names; a folder stands for the game files directly in it. Raises
    `BadInput` if a pattern matches nothing, a folder has no game file, or the caller may not name a file.
    """
    paths: list[Path] = []
    for path in run.paths():
        if not path.is_dir():
            paths.append(path)
            continue
        files = run.books.files.inside(path, remote=run.caller.remote)
        inside = [file for file in files if extension_of(file.name) in READ_FORMATS]
        if not inside:
            raise BadInput(f"{quoted(str(path))}: no game file in this folder: expected {' '.join(READ_FORMATS)}")
        paths += inside
    return paths


def _about(*details: str) -> str:
    """Join a game's players, event and date, a line each, into a text that distinguishes it from games with the same
    moves; "" if all are empty.
    """
    return "\n".join(details).strip("\n") and "\n".join(details)


def counted_text(counted: int, already: int) -> str:
    """Return a text such as ``12 games counted, 3 known already``."""
    return f"{plural(counted, 'game')} counted, {already} known already"


class Games:
    """The games in the files that a command names, from the standard start. May be iterated more than once.

    After an iteration ``games`` is the number of games that it yielded, ``complain`` has counted the unusable games,
    and ``problems`` has what it tells of them; whoever knows of no others ends its block.
    """

    def __init__(self, run: BookCommandRun) -> None:
        self.files = game_files(run)
        self.games = 0
        self.problems: list[str] = []
        self.complain = Complaints(self.problems.append)

    def __iter__(self) -> Iterator[BookGame]:
        self.games = 0
        self.problems.clear()
        self.complain = Complaints(self.problems.append)
        for path in self.files:
            for game in self._games(path):
                if self.games == MOST_GAMES:
                    raise Unfinished(f"{quoted(str(path))}: expected at most {MOST_GAMES:,} games at a time: split it")
                self.games += 1
                yield game

    def _games(self, path: Path) -> Iterator[BookGame]:
        if path.name == OPENINGS and not path.exists():
            yield from (BookGame(bytes(opening.moves)) for opening in openings())
            return
        if path.name in LISTS and not path.exists():
            yield from (BookGame(bytes(line)) for line in lines_of(path.name))
            return
        unchecked = unchecked_games(str(path), self.complain)
        if unchecked is not None:
            # The book replays them, faster than `read_games` would.
            for game in unchecked:
                about = _about(game.black, game.white, game.event, game.date)
                yield BookGame(game.moves, game.result, about, path.name)
            return
        for file_game in read_games(str(path), self.complain):
            record = file_game.record
            if record.initial != START:
                self.complain(f"{quoted(str(path))}: game {file_game.number} is left out: it begins on another board")
                continue
            final = record.final
            score = black_score(final) if final.over else file_game.result
            about = _about(record.black, record.white, file_game.event, file_game.date)
            yield BookGame(squares_played(record), score, about, path.name)


def run_add(run: BookCommandRun) -> Result:
    games = Games(run)
    book = run.book
    outcome, illegal, counted, known_games = add_games(
        book,
        games,
        run.worker(),
        keep_results=True,
        adjusting=run.caller.settings.book_learn_results,
        search=not run.values["unsearched"],
        played=run.number("played"),
    )
    with games.complain as complain:
        for line in illegal:
            complain(line)
    lines = [*games.problems]
    lines.append(
        f"{plural(games.games, 'game')} of {plural(len(games.files), 'file')} added to book: "
        f"{plural(outcome.added, 'position')} added, {plural(outcome.searches, 'search')}, "
        f"book now has {plural(len(book), 'position')}" + ("" if outcome.finished else "; stopped")
    )
    if counted or known_games:
        lines.append(counted_text(counted, known_games))
    return {
        "finished": outcome.finished,
        "games": games.games,
        "left_out": games.complain.count,
        "added": outcome.added,
        "searches": outcome.searches,
        "counted": counted,
        "known": known_games,
        "text": lines,
    }


def run_uncount(run: BookCommandRun) -> Result:
    book, source = run.book, run.values["source"]
    assert isinstance(source, str)
    gone = book.games[book.games["source"] == source_name(source)]
    if not source or not len(gone):
        raise BadInput(f"book uncount {quoted(source)}: no games of it are counted: book info lists the sources")
    take_back(book, gone, run.progress)
    return {"games": len(gone), "text": [f"Book uncount...done: {plural(len(gone), 'game')} taken back"]}
