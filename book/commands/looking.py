"""Book commands that only read the book, except for `verify --repair`: show, info, stats and grade."""

from __future__ import annotations

import datetime
from pathlib import Path

from desdaemon.book import check
from desdaemon.book.editing.shrink import OUTSIDE
from desdaemon.book.summary import children_lines, entry_text, info_lines, more_lines, packed_lines, show_lines, summary
from desdaemon.core.books.command_run import BookCommandRun
from desdaemon.core.books.jobs import Result
from desdaemon.protocol.dialects import edax
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.spelling import plural


def run_show(run: BookCommandRun) -> Result:
    position = run.caller.positions[-1]
    player, opponent, black = position
    shown = show_lines(run.book, player, opponent, black=black)
    if not shown:
        raise BadInput(f"book show: {OUTSIDE}")
    moves = children_lines(run.books.children(player, opponent, run.progress), black=black)
    return {"text": [*edax.compact_board(position).splitlines(), "", *shown, *([""] if moves else []), *moves]}


def run_info(run: BookCommandRun) -> Result:
    book = run.book
    # Links and leaves of a packed book are not counted, which would read all of it.
    totals = summary(book, run.progress, reached=False) if book.table.whole else None
    known = info_lines(totals) if totals is not None else packed_lines(book)
    lines = [f"Book {run.books.file or 'without a file'}", *known, *more_lines(book)]
    if run.books.store is not None and run.books.store.base is not None:
        lines.insert(1, f"over {run.books.store.base.name}, which stays as it is")
    # The book that ships has no file name.
    if run.books.file and Path(run.books.file).exists():
        written = datetime.datetime.fromtimestamp(Path(run.books.file).stat().st_mtime).astimezone()
        lines.append(f"Date: {written:%Y-%m-%d %H:%M:%S}")
    found: Result = {"depth": book.options.depth, "rule": book.options.rule.name.lower(), "text": lines}
    if totals is None:
        return found
    if totals.unreachable > 0:
        lines.append(f"Not reached from the initial position: {totals.unreachable}")
    return {
        "links": totals.links,
        "leaves": totals.leaves,
        "finished_games": totals.finished,
        "levels": {str(level): count for level, count in totals.levels.items()},
        "memory_bytes": totals.memory,
        **found,
    }


def run_stats(run: BookCommandRun) -> Result:
    totals = summary(run.book, run.progress)
    lines = ["empties  positions      links     leaves   finished"]
    lines += [
        f"{row.empties:7d} {row.positions:10d} {row.links:10d} {row.leaves:10d} {row.finished:10d}"
        for row in totals.by_empties
    ]
    lines.append("  score  positions")
    lines += [
        f"{score:+7d} {count:10d}" if -64 <= score <= 64 else f"{'none':>7} {count:10d}"
        for score, count in totals.scores.items()
    ]
    return {"scores": {str(score): count for score, count in totals.scores.items()}, "text": lines}


def run_grade(run: BookCommandRun) -> Result:
    grade = run.books.grade(*run.caller.position, run.progress)
    if not grade:
        run.book.table.need_all()
        raise BadInput(f"book grade: {OUTSIDE}")
    return {"grade": grade, "text": [f"Grade: {grade}"]}


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
        lines += [f"  {entry_text(book, book.table.entry(row))}" for row in problem.examples]
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
