"""Book commands that change the book without searching: settings, scores by hand, shrinking."""

from __future__ import annotations

from desdaemon.book.editing import by_hand, game_results, shrink
from desdaemon.book.formats.losses import RULES
from desdaemon.book.options import Rule
from desdaemon.book.summary import score_text
from desdaemon.core.books.command_run import BookCommandRun
from desdaemon.core.books.jobs import Result
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, discs_text, illegal_move, move_text
from desdaemon.protocol.othello.scores import seen_by_black
from desdaemon.protocol.spelling import plural


def run_on(run: BookCommandRun) -> Result:
    run.caller.settings.book_usage = True
    return {"text": []}


def run_off(run: BookCommandRun) -> Result:
    run.caller.settings.book_usage = False
    return {"text": []}


def _shown(run: BookCommandRun, name: str, value: int) -> Result:
    """Return the result of a command that shows or sets a number called ``name``, whose value is ``value`` now. It has
    a line of text only if the command was called without a number.
    """
    return {name: value, "text": [f"{name} = {value}"] if run.values[_SETTINGS[name]] is None else []}


_SETTINGS = {"randomness": "discs", "depth": "depth", "level": "level", "verbose": "verbosity"}
"""Commands that set a number, or show it if called without one: the parameter's name by the command's name."""


def run_randomness(run: BookCommandRun) -> Result:
    discs = run.values["discs"]
    if isinstance(discs, int):
        run.caller.settings.book_randomness = discs
    return _shown(run, "randomness", run.caller.settings.book_randomness)


def run_depth(run: BookCommandRun) -> Result:
    depth = run.values["depth"]
    if isinstance(depth, int):
        run.book.options = run.book.options.at_depth(depth)
    return _shown(run, "depth", run.book.options.depth)


def run_level(run: BookCommandRun) -> Result:
    level = run.values["level"]
    if isinstance(level, int):
        run.book.options = run.book.options.at_level(level)
    return _shown(run, "level", run.book.options.level)


def run_verbose(run: BookCommandRun) -> Result:
    verbosity = run.values["verbosity"]
    if isinstance(verbosity, int):
        run.book.options = run.book.options._replace(verbosity=verbosity)
    return _shown(run, "verbose", run.book.options.verbosity)


def run_rule(run: BookCommandRun) -> Result:
    book, wanted = run.book, run.values["rule"]
    if not isinstance(wanted, str):
        rule = book.options.rule
        return {"rule": rule.name.lower(), "text": [f"rule = {rule.name.lower()}: {RULES[rule]}"]}
    book.options = book.options._replace(rule=Rule[wanted.upper()])
    changed = book.negamax(threads=run.worker().threads, progress=run.progress)
    line = f"Book rule {wanted}...done: {RULES[book.options.rule]}; {plural(changed, 'position')} changed"
    return {"rule": wanted, "changed": changed, "text": [line]}


def _legal(run: BookCommandRun, name: str) -> int:
    """Return the move that the parameter ``name`` gives. Raises `BadInput` if it is a pass or illegal on the board."""
    move = run.number(name)
    position = run.caller.positions[-1]
    if move == rules.PASS or not position.moves >> move & 1:
        raise BadInput(illegal_move(position, move))
    return move


def run_edit(run: BookCommandRun) -> Result:
    book, move, score = run.book, _legal(run, "move"), run.number("score")
    shrink.root_row(book, run.caller.position)
    by_hand.edit(book, *run.caller.position, move, score)
    book.negamax(progress=run.progress)
    return {"changed": 1, "text": [f"{move_text(move)} is worth {score:+d} now, by hand"]}


def run_unedit(run: BookCommandRun) -> Result:
    book = run.book
    if run.values["move"] is not None:
        place = book.table.play(*run.caller.position, _legal(run, "move"))
    else:
        entries = (book.entry(*done.key) for done in reversed(book.by_hand.edits))
        last = next((entry for entry in entries if entry is not None and entry.human), None)
        if last is None:
            raise BadInput("book unedit: no score was set by hand since the book was opened: expected book unedit MOVE")
        place = last[:2]
    try:
        by_hand.unedit(book, *place)
    except ValueError as error:
        raise BadInput(f"book unedit: {error}: book edits lists where it was") from None
    book.negamax(progress=run.progress)
    entry = book.entry(*place)
    now = "is not in the book any more" if entry is None else f"is worth {score_text(entry.score)} to the side to move"
    return {"changed": 1, "text": [f"{discs_text(*book.table.canonical(*place)[:2])} X {now}"]}


def run_adjust(run: BookCommandRun) -> Result:
    positions = run.caller.positions
    loser = run.values["loser"]
    black_lost = loser == "black" if loser is not None else _black_lost(positions[-1])
    first = positions[0]
    identity = run.caller.identity
    if positions[1:] and identity in run.book.by_hand.adjusted:
        return {"changed": 0, "text": ["Book adjust...done: it was adjusted for this game already"]}
    boards = [(position.player, position.opponent) for position in positions]
    changed = game_results.adjust(run.book, boards, 0 if first.black_to_move is black_lost else 1)
    if changed and identity:
        by_hand = run.book.by_hand
        run.book.by_hand = by_hand._replace(adjusted=(*by_hand.adjusted, identity))
    side = "Black" if black_lost else "White"
    return {
        "changed": changed,
        "text": [f"Book adjust...done: {plural(changed, 'position')} less attractive to {side}"],
    }


def _black_lost(last: Position) -> bool:
    if not last.over:
        raise BadInput(
            "book adjust: the game on the board is not over: expected book adjust black or book adjust white"
        )
    score = seen_by_black(rules.final_score(last.player, last.opponent), last.black_to_move)
    if score == 0:
        raise BadInput("book adjust: the game on the board is a draw: neither side lost it")
    return score < 0


def shrunk(run: BookCommandRun, what: str, done: shrink.Shrunk) -> Result:
    """Return the result of a command that removed positions; ``what`` is its line."""
    lines = [f"Book {what}...done: {plural(done.removed, 'position')} removed, {len(run.book)} left"]
    if done.leaves:
        lines.append(f"leaves in place of links: {done.leaves}")
    if done.open:
        lines.append(f"still to be searched: {plural(done.open, 'position')} (book fix does that)")
    return {"removed": done.removed, "changed": done.leaves, "open": done.open, "text": lines}


def run_prune(run: BookCommandRun) -> Result:
    return shrunk(run, "prune", shrink.prune(run.book, progress=run.progress))


def run_subtree(run: BookCommandRun) -> Result:
    return shrunk(run, "subtree", shrink.subtree(run.book, run.caller.position, run.progress))


def run_cut(run: BookCommandRun) -> Result:
    depth = run.number("depth")
    return shrunk(run, f"cut {depth}", shrink.cut(run.book, depth, run.progress))


def run_delete(run: BookCommandRun) -> Result:
    move = _legal(run, "move") if run.values["move"] is not None else None
    return shrunk(run, "delete", shrink.delete(run.book, run.caller.position, move, run.progress))
