"""The handlers of the book commands of `book_commands`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from desdaemon.book.book import Book
from desdaemon.book.commands.games import Games, counted_text
from desdaemon.book.commands.loading import SHOWN, about
from desdaemon.book.editing.shrink import OUTSIDE
from desdaemon.book.formats import registry
from desdaemon.book.formats.losses import rule_text
from desdaemon.book.memory.files import keeping_backups
from desdaemon.book.summary import entry_moves_text, score_text
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

from . import compare, report
from .hash_seeding import known_scores
from .salvage import salvage as salvaged_of

FED = 1 << 17
"""The most scores that `book feed-hash` gives to the search's table: those of the positions nearest to the board."""

_LINES = 64


def edits(run: BookCommandRun) -> Result:
    most, book = run.number("count"), run.book
    old_entries = {edit.key: edit.before for edit in book.by_hand.edits}
    shown: list[str] = []
    count = 0
    for entry in book.edited(run.progress):
        count += 1
        if count > most:
            continue
        line = f"{discs_text(entry.player, entry.opponent)} X {entry.score:+d}"
        if entry[:2] in old_entries:
            old = old_entries[entry[:2]]
            line += f", {score_text(old.score)} before" if old is not None else ", not in the book before"
        shown.append(line)
    return {"edits": count, "text": [*shown, f"{plural(count, 'score')} set by hand"]}


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


def analyze(run: BookCommandRun) -> Result:
    game = list(_game(run))
    name = run.caller.settings.engine_name
    lines = edax.ANALYSIS_HEADER.splitlines()
    for judged in game:
        line = edax.analysis_line(judged, name)
        lines.append(f"{line[:4]} book  {line[11:]}")
    return {"plies": len(game), "text": [*lines, *edax.analysis_summary(game).splitlines()]}


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


def lines(run: BookCommandRun) -> Result:
    lines = _best_lines(run, run.number("count"))
    shown = ["".join(move_text(move).lower() for move in line) or "(nothing is linked here)" for line in lines]
    return {"lines": shown, "text": shown}


def extract(run: BookCommandRun) -> Result:
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


def check(run: BookCommandRun) -> Result:
    book = run.book
    games = Games(run)
    totals, illegal = report.check_games(book, (game.moves for game in games), run.progress)
    with games.complain as complain:
        for complaint in illegal:
            complain(complaint)
    line = f"Positions : {totals.missing} missing, {totals.good} good, {totals.bad} bad ({totals.bad_percent:.2f}% bad)"
    return {"missing": totals.missing, "good": totals.good, "bad": totals.bad, "text": [*games.problems, line]}


def problem(run: BookCommandRun) -> Result:
    lines = list(report.problems(run.book, run.number("empties"), run.number("count"), run.progress))
    return {"problems": lines, "text": lines or [f"no position with {run.number('empties')} empties has one best move"]}


def feed_hash(run: BookCommandRun) -> Result:
    book, position = run.book, run.caller.position
    searcher = run.caller.engine().searcher if run.caller.engine is not None else None
    if not isinstance(searcher, Searcher):
        raise BadInput("book feed-hash: for a dialogue on standard input only: searches for clients share no memory")
    scores = list(known_scores(book, position, FED, run.progress))
    searcher.feed(*position, scores)
    return {"fed": len(scores), "text": [f"Book feed-hash...{len(scores)} positions"]}


@contextmanager
def _other_book(run: BookCommandRun, name: str = "file") -> Iterator[Book]:
    """Return a context manager with the book that the parameter ``name`` names. A book in this program's format is
    opened for reading, with its journal; a book in any other format is converted. Raises `BadInput` if the parameter
    names the book in use.
    """
    path = run.source(name)
    store = run.books.store
    if store is not None and store.path == path.resolve():
        raise BadInput(f"{path} is the book in use: name another one")
    with registry.reading(path, run.progress) as other:
        yield other


def _merge_into(run: BookCommandRun) -> Result:
    book, store = run.book, run.books.store
    if store is None or store.base is None:
        raise BadInput("book merge --into: the book in use is no overlay: book save FILE writes a copy")
    if run.values["keep-ours"] is True:
        raise BadInput("book merge --into: writes what the overlay has, with --keep-ours nothing of it")
    path = run.target()
    saved = registry.save(path, book, run.progress)
    done = f"Book merged into {path}: {plural(len(book), 'position')}; "
    done += f"{store.base.name} and {store.path.name} stay as they are"
    return {"notes": saved.notes, "text": [*about(path, saved.lost), done]}


def merge(run: BookCommandRun) -> Result:
    if run.values["into"] is True:
        return _merge_into(run)
    book = run.book
    with _other_book(run) as other:
        ours = run.values["keep-ours"] is True
        merged = compare.merge(book, other, keep_ours=ours, threads=run.worker().threads, progress=run.progress)
        theirs = other.options.rule
    lines = []
    if theirs is not book.options.rule:
        lines.append(
            f"{run.path()}: there {rule_text(theirs)}; here {rule_text(book.options.rule)}, for what was merged too"
        )
    lines += [
        f"Book merge...done: {plural(merged.added, 'position')} added, "
        f"{merged.replaced} replaced, {merged.kept} kept, {merged.conflicting} with different scores"
    ]
    if merged.counted or merged.known:
        lines.append(counted_text(merged.counted, merged.known))
    if merged.without_games:
        lines.append(
            f"{run.path()}: results of games that it did not keep are added in {merged.without_games} positions: games "
            "among them that are here too count twice"
        )
    for conflict in merged.conflicts[:SHOWN]:
        board = discs_text(conflict.player, conflict.opponent)
        lines.append(f"{board} X: {conflict.ours:+d} here, {conflict.theirs:+d} there, kept {conflict.kept:+d}")
    missing = sum(map(len, book.scan_faults(run.progress)))
    if missing:
        lines.append(f"still to be searched: {plural(missing, 'position')} (book fix does that)")
    return {
        "changed": merged.replaced,
        "conflicts": merged.conflicting,
        "counted": merged.counted,
        "known": merged.known,
        "open": missing,
        "text": lines,
    }


def diff(run: BookCommandRun) -> Result:
    with _other_book(run) as first:
        if run.values["other"] is None:
            return _compared(run, run.book, first, "the book in use", str(run.path()))
        with _other_book(run, "other") as second:
            return _compared(run, first, second, str(run.path()), str(run.path("other")))


def _compared(run: BookCommandRun, first: Book, second: Book, first_name: str, second_name: str) -> Result:
    diff = compare.diff(first, second, examples=SHOWN, progress=run.progress)
    lines = [
        f"only in {first_name}: {plural(diff.only_first, 'position')}",
        f"only in {second_name}: {plural(diff.only_second, 'position')}",
        f"in both: {diff.same} the same, {diff.other_score} with another score, {diff.other_leaf} with another "
        f"leaf, {diff.other_level} with another level",
    ]
    for example in diff.examples:
        board = discs_text(example.first.player, example.first.opponent)
        ours, theirs = entry_moves_text(first, example.first), entry_moves_text(second, example.second)
        lines.append(f"{board} X: {example.first.score:+d} {ours} | {example.second.score:+d} {theirs}")
    return {**diff._asdict(), "examples": len(diff.examples), "text": lines}


def salvage(run: BookCommandRun) -> Result:
    path = run.path()
    salvaged = salvaged_of(path, run.progress)
    run.books.use(registry.Opened(salvaged.book, None, registry.NATIVE, salvaged.notes), None)
    return {
        "notes": salvaged.notes,
        "lost": salvaged.lost,
        "text": [
            f"{path}: {plural(len(salvaged.book), 'position')} saved, {salvaged.lost} lost; book save FILE keeps them"
        ],
    }
