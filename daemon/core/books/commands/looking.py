"""Book commands that only read the book, except for `verify --repair`: show, info, stats, lines and more."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

from desdaemon.book.book import Book
from desdaemon.book.editing.shrink import OUTSIDE
from desdaemon.book.hash_seeding import known_scores
from desdaemon.book.memory.files import keeping_backups
from desdaemon.book.reports import check, report
from desdaemon.core.books.command_run import BookCommandRun
from desdaemon.core.books.jobs import Result
from desdaemon.engine.search import Searcher
from desdaemon.protocol.dialects import edax
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.bases import FileGame, write_games
from desdaemon.protocol.games.judgement import JudgedMove, SearchedMove, equivalents
from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, discs_text, move_text
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.spelling import plural

from .games import Games

FED = 1 << 17
"""The most scores that `book feed-hash` gives to the search's table: those of the positions nearest to the board."""

_LINES = 64


def run_show(run: BookCommandRun) -> Result:
    position = run.caller.positions[-1]
    player, opponent, black = position
    shown = report.show_lines(run.book, player, opponent, black=black)
    if not shown:
        raise BadInput(f"book show: {OUTSIDE}")
    moves = report.children_lines(run.books.children(player, opponent, run.progress), black=black)
    return {"text": [*edax.compact_board(position).splitlines(), "", *shown, *([""] if moves else []), *moves]}


def run_edits(run: BookCommandRun) -> Result:
    most, book = run.number("count"), run.book
    old_entries = {edit.key: edit.before for edit in book.edits}
    shown: list[str] = []
    count = 0
    for entry in book.edited(run.progress):
        count += 1
        if count > most:
            continue
        line = f"{discs_text(entry.player, entry.opponent)} X {entry.score:+d}"
        if entry[:2] in old_entries:
            old = old_entries[entry[:2]]
            line += f", {report.score_text(old.score)} before" if old is not None else ", not in the book before"
        shown.append(line)
    return {"edits": count, "text": [*shown, f"{plural(count, 'score')} set by hand"]}


def run_info(run: BookCommandRun) -> Result:
    summary = report.summary(run.book, run.progress, reached=False)
    lines = [f"Book {run.books.file or 'without a file'}", *report.info_lines(summary), *report.more_lines(run.book)]
    if run.books.store is not None and run.books.store.base is not None:
        lines.insert(1, f"over {run.books.store.base.name}, which stays as it is")
    # The book that ships has no file name.
    if run.books.file and Path(run.books.file).exists():
        written = datetime.datetime.fromtimestamp(Path(run.books.file).stat().st_mtime).astimezone()
        lines.append(f"Date: {written:%Y-%m-%d %H:%M:%S}")
    if summary.unreachable > 0:
        lines.append(f"Not reached from the initial position: {summary.unreachable}")
    return {
        "links": summary.links,
        "leaves": summary.leaves,
        "finished_games": summary.finished,
        "depth": summary.depth,
        "rule": run.book.options.rule.name.lower(),
        "levels": {str(level): count for level, count in summary.levels.items()},
        "memory_bytes": summary.memory,
        "text": lines,
    }


def run_stats(run: BookCommandRun) -> Result:
    summary = report.summary(run.book, run.progress)
    lines = ["empties  positions      links     leaves   finished"]
    lines += [
        f"{row.empties:7d} {row.positions:10d} {row.links:10d} {row.leaves:10d} {row.finished:10d}"
        for row in summary.by_empties
    ]
    lines.append("  score  positions")
    lines += [
        f"{score:+7d} {count:10d}" if -64 <= score <= 64 else f"{'none':>7} {count:10d}"
        for score, count in summary.scores.items()
    ]
    return {"scores": {str(score): count for score, count in summary.scores.items()}, "text": lines}


def _judged(book: Book, position: Position, move: int, ply: int) -> JudgedMove | None:
    """Return a judgement of ``move``, the ``ply``-th of its game: its score in the book and that of the book's best
    other move, if there is one, in discs for the side to move. None if the book lacks the position or the move.
    """
    scores = {move.move: move.score for move in book.moves_on(position.player, position.opponent)}
    same = equivalents(position, move)
    score = next((score for other, score in scores.items() if same >> other & 1), None)
    if score is None:
        return None
    others = [other for other in scores if other < rules.PASS and not same >> other & 1]
    best = max(others, key=lambda other: scores[other], default=None)
    return JudgedMove(
        ply,
        position,
        SearchedMove(move, score, 0, Selectivity.FULL, of_book=True),
        SearchedMove(best, scores[best], 0, Selectivity.FULL, of_book=True) if best is not None else None,
    )


def _game(run: BookCommandRun) -> Iterator[JudgedMove]:
    """Yield a judgement of each move, passes excepted, of the game on the caller's board, the last move first; moves
    that the book lacks are left out. The parameter ``n`` limits it to the last ``n`` moves.
    """
    positions, moves = run.caller.positions, run.caller.moves
    wanted = run.values["n"]
    first = max(0, len(moves) - wanted) if isinstance(wanted, int) else 0
    for ply in range(len(moves) - 1, first - 1, -1):
        judged = _judged(run.book, positions[ply], moves[ply], ply + 1) if moves[ply] != rules.PASS else None
        if judged is not None:
            yield judged


def run_analyze(run: BookCommandRun) -> Result:
    game = list(_game(run))
    name = run.caller.settings.engine_name
    lines = edax.ANALYSIS_HEADER.splitlines()
    for judged in game:
        line = edax.analysis_line(judged, name)
        lines.append(f"{line[:4]} book  {line[11:]}")
    return {"plies": len(game), "text": [*lines, *edax.analysis_summary(game).splitlines()]}


def run_grade(run: BookCommandRun) -> Result:
    grade = run.books.grade(*run.caller.position, run.progress)
    if not grade:
        run.book.table.need_all()
        raise BadInput(f"book grade: {OUTSIDE}")
    return {"grade": grade, "text": [f"Grade: {grade}"]}


def _best_lines(run: BookCommandRun, limit: int) -> list[list[int]]:
    player, opponent = run.caller.position
    if run.book.table.find(player, opponent) < 0:
        raise BadInput(f"book {run.command.name}: {OUTSIDE}")
    lines = []
    for line in report.best_lines(run.book, player, opponent, run.number("loss"), limit):
        lines.append(line)
        if len(lines) % _LINES == 0:
            run.progress("lines", len(lines), 0)
    return lines


def run_lines(run: BookCommandRun) -> Result:
    lines = _best_lines(run, run.number("count"))
    shown = ["".join(move_text(move).lower() for move in line) or "(nothing is linked here)" for line in lines]
    return {"lines": shown, "text": shown}


def run_extract(run: BookCommandRun) -> Result:
    path = run.target()
    initial, moves = run.caller.initial, run.caller.moves
    lines = _best_lines(run, 10**6)
    games = (
        FileGame(GameRecord(initial, tuple(PlayedMove(move, 0.0) for move in (*moves, *line))), number)
        for number, line in enumerate(lines, 1)
    )
    with keeping_backups(path):
        count = write_games(str(path), games)
    return {"lines": count, "text": [f"{path}: {plural(count, 'line')}"]}


def run_verify(run: BookCommandRun) -> Result:
    book = run.book
    lines = []
    if run.values["repair"] is True:
        mended = check.repair(book, run.progress)
        lines.append(
            f"Repaired: {plural(mended.removed, 'position')} removed, {plural(mended.leaves, 'leaf')} dropped, "
            f"{plural(mended.numbers, 'number')} reset"
        )
    if run.books.store is not None:
        run.books.store.check(run.progress)
    checked = check.verify(book, run.progress, threads=run.worker().threads)
    for problem in checked.problems:
        lines.append(f"{problem.what}: {plural(problem.positions, 'position')}")
        lines += [f"  {report.entry_text(book, book.table.entry(row))}" for row in problem.examples]
    lines.append(
        f"Book verify...{'no errors' if checked.clean else 'errors (book verify --repair mends them)'}: "
        f"{plural(checked.positions, 'position')}, {checked.open} still to be searched"
        + (f", {checked.stale} with scores to be updated (book negamax does that)" if checked.stale else "")
    )
    return {
        "clean": checked.clean,
        "open": checked.open,
        "due": checked.stale,
        "problems": {problem.what: problem.positions for problem in checked.problems},
        "text": lines,
    }


def run_check(run: BookCommandRun) -> Result:
    book = run.book
    games = Games(run)
    totals, illegal = report.check_games(book, (game.moves for game in games), run.progress)
    with games.complain as complain:
        for complaint in illegal:
            complain(complaint)
    line = f"Positions : {totals.missing} missing, {totals.good} good, {totals.bad} bad ({totals.bad_percent:.2f}% bad)"
    return {"missing": totals.missing, "good": totals.good, "bad": totals.bad, "text": [*games.problems, line]}


def run_problem(run: BookCommandRun) -> Result:
    lines = list(report.problems(run.book, run.number("empties"), run.number("count"), run.progress))
    return {"problems": lines, "text": lines or [f"no position with {run.number('empties')} empties has one best move"]}


def run_feed_hash(run: BookCommandRun) -> Result:
    book, position = run.book, run.caller.position
    searcher = run.caller.engine().searcher if run.caller.engine is not None else None
    if not isinstance(searcher, Searcher):
        raise BadInput("book feed-hash: for a dialogue on standard input only: searches for clients share no memory")
    scores = list(known_scores(book, position, FED, run.progress))
    searcher.feed(*position, scores)
    return {"fed": len(scores), "text": [f"Book feed-hash...{len(scores)} positions"]}
