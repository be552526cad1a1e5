"""Reports on many games in one run: a line for each as text, CSV or JSON, pages with an index."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sys
from pathlib import Path
from types import TracebackType
from typing import IO

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello.notation import move_text, moves_text

from .game import GRADES, GameAnalysis, as_json
from .index_page import GameRow, index_page
from .notes import with_notes
from .table import result_text

_SIDE_COLUMNS = ("choices", "best", "lost", "mean", "accuracy", "blunders", "mistakes", "inaccuracies", "worst")
CSV_COLUMNS = (
    *("game", "black", "white", "event", "date", "result", "moves", "engine", "effort"),
    *(f"{side}_{column}" for side in ("black", "white") for column in _SIDE_COLUMNS),
)


def csv_line(analysis: GameAnalysis) -> str:
    """A game as a line of `CSV_COLUMNS`; ``worst`` is a ply, 0 for none."""
    record, game = analysis.whole.record, analysis.whole
    cells: list[object] = [game.number, record.black, record.white, game.event, game.date]
    cells += ["" if analysis.result is None else analysis.result, moves_text([played.move for played in record.moves])]
    cells += [analysis.engine, analysis.effort]
    for black in (True, False):
        account = analysis.summary(black)
        cells += [account.choices, account.best, account.lost, f"{account.mean:.3f}", f"{account.accuracy:.2f}"]
        cells += [account.grades[grade] for _, grade in GRADES]
        cells.append(account.worst)
    return _csv(cells)


def csv_head() -> str:
    """The head line of the CSV file: the names of its columns."""
    return _csv(list(CSV_COLUMNS))


def _csv(cells: list[object]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def text_line(row: GameRow) -> str:
    """A game as a line of the table on standard output."""
    sides = "  ".join(f"{account.accuracy:5.1f} % {account.lost:4}" for account in row.summaries)
    names = f"{row.black or '?'} - {row.white or '?'}"
    return f"{row.number:6}  {names:40}  {result_text(row.result):16}  {sides}\n"


TEXT_HEAD = f"{'game':>6}  {'':40}  {'':16}  {'Black, lost':>12}  {'White, lost':>12}\n"


def row_of(analysis: GameAnalysis, page: str = "") -> GameRow:
    """The row of a game."""
    accounts = (analysis.summary(True), analysis.summary(False))
    worst = []
    for account in accounts:
        step = analysis.steps[account.worst - 1] if account.worst else None
        worst.append(f"{step.number}. {move_text(step.move)}, {step.lost}" if step else "")
    about = ", ".join(part for part in (analysis.whole.event, analysis.whole.date) if part)
    record = analysis.whole.record
    return GameRow(
        analysis.whole.number, record.black, record.white, about, analysis.result, accounts, (worst[0], worst[1]), page
    )


class Collection:
    """Writes the reports on many games, each as soon as it is ready; `close` writes the index.

    ``json_file`` and ``csv_file`` get a line a game, ``notes`` the games with comments in ``note_format``, the folder
    ``html`` a page a game and ``index.html``. ``-`` is standard output, which otherwise has the table.
    """

    def __init__(self, json_file: str, csv_file: str, notes: str, note_format: str, html: str, board: str) -> None:
        """Raises `BadInput` where something cannot be written."""
        self._rows: list[GameRow] = []
        self._engine = ""
        self._files = contextlib.ExitStack()
        self._note_format = note_format
        self._board = board
        self._json, self._csv, self._notes = (self._open(path) for path in (json_file, csv_file, notes))
        self._folder = Path(html) if html else None
        self._text = sys.stdout if "-" not in (json_file, csv_file, notes) else None
        if self._folder:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise BadInput(f"--html {quoted(html)}: {error.strerror}: expected a folder for the pages") from None
        self._write(self._csv, csv_head())
        self._write(self._text, TEXT_HEAD)

    def _open(self, path: str) -> IO[str] | None:
        if path == "-":
            return sys.stdout
        try:
            return self._files.enter_context(Path(path).open("w", encoding="utf-8", newline="")) if path else None
        except OSError as error:
            raise BadInput(f"{quoted(path)}: {error.strerror}: expected a file that can be written") from None

    def _write(self, file: IO[str] | None, text: str) -> None:
        if file:
            file.write(text)
            file.flush()

    def add(self, analysis: GameAnalysis) -> None:
        """Write a game to all outputs. Raises `OSError`."""
        page = ""
        if self._folder:
            from .page import page as page_text

            page = f"game-{analysis.whole.number}.html"
            (self._folder / page).write_text(page_text(analysis, self._board, index="index.html"), encoding="utf-8")
        row = row_of(analysis, page)
        self._rows.append(row)
        self._engine = f"{analysis.engine}, {analysis.effort}"
        self._write(self._json, json.dumps(as_json(analysis), ensure_ascii=False, separators=(",", ":")) + "\n")
        self._write(self._csv, csv_line(analysis))
        if self._notes:
            between = "\n" if self._note_format == "pgn" and len(self._rows) > 1 else ""
            self._write(self._notes, between + with_notes(analysis, self._note_format))
        self._write(self._text, text_line(row))

    @property
    def count(self) -> int:
        """Games so far."""
        return len(self._rows)

    def __enter__(self) -> Collection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.close()
        if self._folder and self._rows:
            (self._folder / "index.html").write_text(index_page(self._rows, self._engine), encoding="utf-8")
