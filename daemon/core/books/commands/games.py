"""The games of many files for the book: `book add` and `book check`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from desdaemon.book.growth.add import BookGame, add_games
from desdaemon.core.books.jobs import Result
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games import wthor
from desdaemon.protocol.games.bases import BASE_FORMATS, read_games
from desdaemon.protocol.games.records import black_score
from desdaemon.protocol.othello.notation import START
from desdaemon.protocol.othello.openings import openings
from desdaemon.protocol.othello.rules import PASS

from .context import BookCommandRun, Work

SHOWN = 5
"""So many unusable games are named, the rest are counted."""

OPENINGS = "openings"
"""The name that stands for the lines of the named openings where there is no such file."""


def game_files(run: BookCommandRun) -> list[Path]:
    """The files that a command names: of a folder all game files in it. Raises `BadInput`."""
    found: list[Path] = []
    for path in run.paths():
        if not path.is_dir():
            found.append(path)
            continue
        files = run.books.files.inside(path, remote=run.caller.remote)
        inside = [file for file in files if file.suffix[1:].lower() in BASE_FORMATS]
        if not inside:
            raise BadInput(f"{quoted(str(path))}: no game file in this folder: expected {' '.join(BASE_FORMATS)}")
        found += inside
    return found


class Games:
    """The games of files from the standard start, file by file, as often as they are iterated over.

    After that ``games`` is their number; ``problems`` (`SHOWN` at most) and ``left_out`` say what could not be used.
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
        if path.suffix.lower() == ".wtb":
            # The book library replays faster than the reader of game files does.
            for game in wthor.read(str(path)).games:
                yield BookGame(game.moves, 2 * game.discs - 64 if game.discs <= 64 else None)
            return
        for found in read_games(str(path), self.complain):
            record = found.record
            if record.initial != START:
                self.complain(f"{quoted(str(path))}: game {found.number} begins on another board: it is left out")
                continue
            final = record.final
            score = black_score(final) if final.over else found.result
            yield BookGame(bytes(played.move for played in record.moves if played.move != PASS), score)


def _add(run: BookCommandRun) -> Result:
    games = Games(run)
    book = run.book
    outcome, illegal = add_games(
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
        f"{outcome.searches} searches, {len(book)} in all" + ("" if outcome.finished else "; stopped")
    )
    return {
        "finished": outcome.finished,
        "games": games.games,
        "left_out": games.left_out,
        "added": outcome.added,
        "searches": outcome.searches,
        "text": lines,
    }


WORK: dict[str, Work] = {"add": _add}
