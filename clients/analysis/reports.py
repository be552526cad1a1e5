"""Reports on analyses besides the pages: a table for the terminal, CSV, comments in a file of the game.

`Collection` writes all reports on many games, the pages too.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from desdaemon.clients.arguments import write_text
from desdaemon.clients.pages.parts import winner
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.bases import format_to_write, replace_file
from desdaemon.protocol.games.formats import game_text
from desdaemon.protocol.games.judgement import GRADES, JudgedMove
from desdaemon.protocol.othello.notation import move_text, moves_text
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system import files

from .game import MARKS, GameAnalysis, as_json, left_book_text, line_text, result_text, side_names
from .page import GameRow, index_page, row_of
from .page import page as game_page

_HALF = 16
"""Columns of the bar on either side of its middle."""
_LINE_MOVES = 7
WIDE = 108
"""Width of the whole table in columns."""
_PLAIN = 49
"""Columns before the line of play in a table without bars."""


def table(analysis: GameAnalysis, width: int = WIDE) -> str:
    """Return the report as text; narrower than `WIDE` columns it has no bars and shorter lines of play."""
    lines = [heading(analysis), f"{analysis.engine}, {analysis.effort}", ""]
    if not analysis.complete:
        moves = len(analysis.whole.record.moves)
        lines[1:1] = [f"interrupted: the first {len(analysis.steps)} of {plural(moves, 'move')}"]
    bars = width >= WIDE
    most = _LINE_MOVES if bars else max(1, min(_LINE_MOVES, (width - _PLAIN) // 3))
    largest = max(8, *map(abs, analysis.scores()))
    scale = f"White {'':{_HALF - 6}}0{'':{_HALF - 6}} Black"
    lines.append(f" ply  move  score  best  score  lost  how sure  {f'{scale}  ' if bars else ''}best line")
    for step, score in zip(analysis.steps, analysis.scores(), strict=False):
        lines.append(_row(step, f"{_bar(score, largest)}  " if bars else "", most))
    lines.append("")
    lines += summary_lines(analysis)
    return "\n".join(lines) + "\n"


def heading(analysis: GameAnalysis) -> str:
    """Return the title: the players, event, date and number in XOT as far as known, and the result."""
    game = analysis.game
    black, white = side_names(game)
    names = " - ".join(
        name if name == side else f"{name} ({side})" for name, side in ((black, "Black"), (white, "White"))
    )
    where = ", ".join(analysis.about)
    return f"{names}{f', {where}' if where else ''}: {result_text(analysis.result)}"


def _row(step: JudgedMove, bar: str, most: int) -> str:
    name = move_text(step.move)
    black = step.position.black_to_move
    move = f"{step.ply:4}  {'X' if black else 'O'} {name}"
    if step.position.must_pass:
        return f"{move:44}{bar}".rstrip()
    best = f"{move_text(step.best.move):>4}  {step.best.score:+5}" if step.loss else f"{'':11}"
    lost = f"{step.loss:4}{MARKS[step.grade]:2}" if step.loss else f"{'':6}"
    line = line_text(step.best.line, black, most)
    return f"{move:10}  {step.played.score:+5}  {best}  {lost}  {step.sure:>6}  {bar}{line}"


def _bar(score: int, largest: int) -> str:
    """Return a bar from the middle: to the right if Black's ``score`` is at least 0, else to the left; a score of
    ``largest`` fills a half.
    """
    length = round(abs(score) * _HALF / largest)
    if score >= 0:
        return f"{'':{_HALF}}|{'#' * length:{_HALF}}"
    return f"{'=' * length:>{_HALF}}|{'':{_HALF}}"


def summary_lines(analysis: GameAnalysis) -> list[str]:
    """Return, as lines of text, a table of the players, the worst move of each player who lost discs, and where the
    game left the book.
    """
    names = dict(zip((True, False), side_names(analysis.game), strict=True))
    width = max(map(len, names.values()))
    grades = "  ".join(f"{MARKS[name]:>2}" for _, name in GRADES)
    table = [f"{'':{width}}  choices  best  accuracy  lost  a move  {grades}"]
    worst = []
    for black, name in names.items():
        account = analysis.summary(black)
        counts = "  ".join(f"{account.grades[grade]:2}" for _, grade in GRADES)
        table.append(
            f"{name:{width}}  {account.choices:7}  {account.best:4}  {account.accuracy:6.1f} %  {account.lost:4}  "
            f"{account.mean:6.2f}  {counts}"
        )
        if account.worst:
            step = analysis.steps[account.worst - 1]
            given = f", gave away {step.turned}" if step.turned else ""
            played, best = move_text(step.move), move_text(step.best.move)
            worst.append(f"worst of {name}: {step.ply}. {played}, {step.loss} worse than {best}{given}")
    return table + worst + ([left_book_text(analysis.left_book)] if analysis.left_book else [])


# Comments in a game

NOTE_FORMATS = ("sgf", "ggf", "pgn")
_NOTE_MOVES = 12


def note_format(path: str) -> str:
    """Return the format of a file for comments, one of `NOTE_FORMATS`, by its name. Raises `BadInput` for any other."""
    format = format_to_write(path)
    if format not in NOTE_FORMATS:
        raise BadInput(f"{quoted(path)}: expected a file name that ends in .{', .'.join(NOTE_FORMATS)}")
    return format


def with_notes(analysis: GameAnalysis, format: str) -> str:
    """Return the game in ``format``, with a comment on the players and one on each move that had an alternative.

    GGF has scores in place of comments on moves.
    """
    whole = analysis.whole
    notes = [_note(step) for step in analysis.steps]
    scores = [None if step.move == PASS else step.played.score for step in analysis.steps]
    return game_text(
        whole.record,
        format,
        whole.date,
        whole.event,
        analysis.result,
        comment=_about(analysis),
        notes=notes,
        scores=scores,
    )


def _about(analysis: GameAnalysis) -> str:
    parts = [f"{analysis.engine}, {analysis.effort}"]
    for name, black in zip(side_names(analysis.game), (True, False), strict=True):
        account = analysis.summary(black)
        parts.append(
            f"{name}: accuracy {account.accuracy:.1f} %, "
            f"{plural(account.lost, 'disc')} lost in {plural(account.choices, 'choice')}"
        )
    if not analysis.complete:
        parts.append(f"interrupted after {plural(len(analysis.steps), 'move')}")
    return "; ".join(parts)


def _note(step: JudgedMove) -> str:
    """Return a comment such as ``-30 exact ?? loses 28; best G7 -2: G7 f7 E8``; "" for a pass or an only move.

    The comment has the move's score and how sure it is; if the move lost discs, also grade, loss, and the best move
    with its score and line.
    """
    if step.move == PASS or step.choices < 2:
        return ""
    text = f"{step.played.score:+} {step.sure}"
    if not step.loss:
        return text
    given = f", gives away {step.turned}" if step.turned else ""
    line = line_text(step.best.line, step.position.black_to_move, _NOTE_MOVES)
    mark = f" {MARKS[step.grade]}" if step.grade else ""
    return f"{text}{mark} loses {step.loss}{given}; best {move_text(step.best.move)} {step.best.score:+}: {line}"


# Many games

_SIDE_COLUMNS = ("choices", "best", "lost", "mean", "accuracy", "blunders", "mistakes", "inaccuracies", "worst")
CSV_COLUMNS = (
    *("game", "black", "white", "event", "date", "result", "moves", "engine", "effort"),
    *(f"{side}_{column}" for side in ("black", "white") for column in _SIDE_COLUMNS),
)


def csv_line(analysis: GameAnalysis) -> str:
    """Return a game as a line of CSV with `CSV_COLUMNS`; ``worst`` is a ply, 0 for none, an unknown result is empty."""
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
    """Return the first line of the CSV file, the names of its columns."""
    return _csv(list(CSV_COLUMNS))


def _csv(cells: list[object]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def text_line(row: GameRow) -> str:
    """Return a game as a row of the table on standard output, of 79 columns: long names are cut."""
    sides = "  ".join(f"{account.accuracy:5.1f} % {account.lost:4}" for account in row.summaries)
    names = f"{row.black[:15] or '?'} - {row.white[:15] or '?'}"
    return f"{row.number:5}  {names:33}  {winner(row.result):9}  {sides}\n"


TEXT_HEAD = f"{'game':>5}  {'':33}  {'':9}  {'Black, lost':>12}  {'White, lost':>12}\n"


class Collection:
    """A context manager that writes the reports on many games, each as soon as it is added. At the end of the block the
    files replace old ones and, if there was a game, the index is written: also after an exception, unless it is an
    `OSError` of one that could not be written; then the old files stay.

    ``json_file`` and ``csv_file`` get a line for each game, ``notes`` gets the games with comments in ``note_format``.
    The folder ``html`` gets a page for each game and ``index.html``. Each of the three files may be ``-``, which is
    standard output. If none of them is, standard output gets a text table with a row for each game.
    """

    def __init__(self, json_file: str, csv_file: str, notes: str, note_format: str, html: str, board: str) -> None:
        """Begin the new files, and write the heads of the CSV and of the text table. An output named "" is not written.

        ``board`` is the ``link`` of `page`. Raises `BadInput` if an output cannot be opened.
        """
        self._rows: list[GameRow] = []
        self._engine = ""
        self._note_format = note_format
        self._board = board
        self._folder = Path(html) if html else None
        if self._folder:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise BadInput(f"--html {quoted(html)}: {error.strerror}") from None
        with contextlib.ExitStack() as opened:
            self._json, self._csv, self._notes = (_opened(path, opened) for path in (json_file, csv_file, notes))
            self._text = None if "-" in (json_file, csv_file, notes) else _opened("-", opened)
            if self._csv:
                self._csv(csv_head())
            if self._text:
                self._text(TEXT_HEAD)
            self._ends = opened.pop_all()

    def add(self, analysis: GameAnalysis) -> None:
        """Write a game to all outputs. Raises `OSError` or `BadInput` if one of them cannot be written."""
        page = ""
        if self._folder:
            page = f"game-{analysis.whole.number}.html"
            self._write_page(page, game_page(analysis, self._board, index="index.html"))
        row = row_of(analysis, page)
        self._rows.append(row)
        self._engine = f"{analysis.engine}, {analysis.effort}"
        if self._json:
            self._json(json.dumps(as_json(analysis), ensure_ascii=False, separators=(",", ":")) + "\n")
        if self._csv:
            self._csv(csv_line(analysis))
        if self._notes:
            between = "\n" if self._note_format == "pgn" and len(self._rows) > 1 else ""
            self._notes(between + with_notes(analysis, self._note_format))
        if self._text:
            self._text(text_line(row))

    def _write_page(self, name: str, text: str) -> None:
        if self._folder:
            replace_file(str(self._folder / name), text.encode("utf-8", "backslashreplace"))

    def __enter__(self) -> Collection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            self._ends.__exit__(kind, error, trace)
            return
        self._ends.close()
        if self._rows:
            self._write_page("index.html", index_page(self._rows, self._engine))


def _opened(path: str, ends: contextlib.ExitStack) -> Callable[[str], None] | None:
    """Return what writes a text to a new file, which replaces ``path`` when ``ends`` is closed, or to standard output
    for ``-``; None for "". Raises `BadInput`.
    """
    if not path:
        return None
    if path == "-":
        return write_text
    try:
        stream = ends.enter_context(files.replacing(path))
    except OSError as error:
        raise BadInput(f"{quoted(path)}: {error.strerror}") from None

    def write(text: str) -> None:
        stream.write(text.encode("utf-8", "backslashreplace"))
        stream.flush()

    return write
