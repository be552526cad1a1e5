"""Book commands that search or bring scores up to date: store, fix, negamax."""

from __future__ import annotations

from desdaemon.book.editing import game_results
from desdaemon.book.editing.add import add_positions, fix
from desdaemon.book.editing.rounds import CommandOutcome
from desdaemon.book.games import new_games
from desdaemon.core.books.command_run import BookCommandRun
from desdaemon.core.books.jobs import Result
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.scores import seen_by_black
from desdaemon.protocol.spelling import plural


def line_of(run: BookCommandRun, what: str, outcome: CommandOutcome) -> str:
    """Return a line about a command that searched, or a part of one; ``what`` names it."""
    spent = "its budget is spent" if run.job.budget_spent >= 1 else "stopped"
    ending = "finished" if outcome.finished else f"{spent} (repeat it to continue)"
    counts = f"{plural(outcome.added, 'position')} added, {plural(outcome.searches, 'search')}, "
    return f"Book {what}...{ending}: {counts}book now has {plural(outcome.positions, 'position')}"


def result_of(run: BookCommandRun, what: str, outcome: CommandOutcome, **more: object) -> Result:
    """Return the result of a command that searched, with what it did before a kill; ``what`` names it in the line,
    ``more`` are further fields.
    """
    earlier = run.job.earlier
    whole = outcome._replace(added=outcome.added + earlier.positions, searches=outcome.searches + earlier.searches)
    return {
        "finished": whole.finished,
        "added": whole.added,
        "searches": whole.searches,
        "rounds": whole.rounds,
        "text": [line_of(run, what, whole)],
        **more,
    }


def run_store(run: BookCommandRun) -> Result:
    # The last position first, as in Edax.
    positions = [(position.player, position.opponent) for position in reversed(run.caller.positions)]
    outcome = add_positions(run.book, positions, run.worker())
    result = result_of(run, "store", outcome)
    # A stopped command counts its game too if the game is known again; otherwise a repetition would count it again.
    if outcome.finished or run.caller.mark:
        _count(run, result)
    return result


def _count(run: BookCommandRun, result: Result) -> None:
    """Count the result of the game on the caller's board if it has moves, is over and the book does not count it yet.
    Then add the number of positions, and a line of text, to ``result``.
    """
    caller = run.caller
    last = caller.positions[-1]
    if not last.over or not caller.moves:
        return
    first = caller.initial
    own = rules.final_score(last.player, last.opponent)
    score = own if last.black_to_move is first.black_to_move else -own
    positions = [(position.player, position.opponent) for position in caller.positions]
    learned = caller.settings.book_learn_results
    game = game_results.live_game(positions, score, "store", caller.identity, learned=learned)
    if not len(new_games(game, run.book.games)):
        return
    counted = game_results.count(run.book, game)
    black = seen_by_black(own, last.black_to_move)
    winner = f"Black won by {black}" if black > 0 else f"White won by {-black}" if black else "a draw"
    result["counted"] = counted
    result["text"].insert(0, f"Game counted in {plural(counted, 'position')}: {winner}")


def run_fix(run: BookCommandRun) -> Result:
    return result_of(run, "fix", fix(run.book, run.worker()))


def run_negamax(run: BookCommandRun) -> Result:
    run.book.forget_state()
    changed = run.book.negamax(threads=run.worker().threads, progress=run.progress)
    return {"changed": changed, "text": [f"Negamaxing book...done: {plural(changed, 'position')} changed"]}
