"""Book commands that search to store more positions or better scores: store, deviate, enhance, fill, fix and more."""

from __future__ import annotations

from desdaemon.book.formats.text import move_name
from desdaemon.book.growth import game_results, grow, learn, research, schedule, self_play, shrink
from desdaemon.book.growth.add import add_positions, fix
from desdaemon.book.growth.rounds import CommandOutcome
from desdaemon.book.reports.report import entry_text
from desdaemon.core.books.command_run import BookCommandRun, Work
from desdaemon.core.books.jobs import Result
from desdaemon.core.books.service import choice_settings
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello import rules, xot
from desdaemon.protocol.othello.notation import START, play_moves
from desdaemon.protocol.othello.scores import seen_by_black
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.texts import decoded


def _result_of(run: BookCommandRun, what: str, outcome: CommandOutcome, **more: object) -> Result:
    spent = "its budget is spent" if run.job.budget_spent >= 1 else "stopped"
    ending = "finished" if outcome.finished else f"{spent} (repeat it to continue)"
    added, searches = outcome.added + run.job.earlier.positions, outcome.searches + run.job.earlier.searches
    counts = f"{plural(added, 'position')} added, {plural(searches, 'search')}, "
    counts += f"book now has {plural(outcome.positions, 'position')}"
    return {
        "finished": outcome.finished,
        "added": added,
        "searches": searches,
        "rounds": outcome.rounds,
        "text": [f"Book {what}...{ending}: {counts}"],
        **more,
    }


def _store(run: BookCommandRun) -> Result:
    # The last position first, as in Edax.
    positions = [(position.player, position.opponent) for position in reversed(run.caller.positions)]
    outcome = add_positions(run.book, positions, run.worker())
    result = _result_of(run, "store", outcome)
    # A stopped command counts its game too if a dialogue remembers that; otherwise a repetition would count it again.
    if outcome.finished or run.caller.counted is not None:
        _count(run, result)
    return result


def _count(run: BookCommandRun, result: Result) -> None:
    """Count the result of the game on the caller's board if it has moves, is over and was not counted before. Then add
    the number of positions, and a line of text, to ``result``.
    """
    caller = run.caller
    last = caller.positions[-1]
    if not last.over or not caller.moves or (caller.counted is not None and caller.counted()):
        return
    first = caller.initial
    own = rules.final_score(last.player, last.opponent)
    score = own if last.black_to_move is first.black_to_move else -own
    positions = [(position.player, position.opponent) for position in caller.positions]
    game = game_results.live_game(positions, score, "store", learned=caller.settings.book_learn_results)
    counted = game_results.count(run.book, game)
    black = seen_by_black(own, last.black_to_move)
    winner = f"Black won by {black}" if black > 0 else f"White won by {-black}" if black else "a draw"
    result["counted"] = counted
    result["text"].insert(0, f"Game counted in {plural(counted, 'position')}: {winner}")


def _self_play(run: BookCommandRun) -> Result:
    settings, games = run.caller.settings, run.number("games")
    terms = self_play.SelfPlayTerms(run.level(), choice_settings(settings), settings.book_seed, run.number("random"))
    if run.values["xot"]:
        if run.caller.positions[-1] != START:
            raise BadInput("self-play --xot: expected the opening position on the board: type init first")
        terms = terms._replace(openings=tuple(tuple(play_moves(START, list(line)).moves) for line in xot.lines("xot")))
    shrink.root_row(run.book, run.caller.position)
    outcome, tally = self_play.self_play(
        run.book, run.caller.position, run.worker(), games, terms, adjusting=settings.book_learn_results
    )
    result = _result_of(run, f"self-play {games}", outcome, games=sum(tally))
    black = tally if run.caller.positions[-1].black_to_move else tally[::-1]
    result["text"].insert(
        0, f"Games counted: {sum(tally)}; Black won {black[0]}, {black[1]} drawn, White won {black[2]}"
    )
    if not outcome.finished:
        result["text"][-1] = result["text"][-1].replace("stopped (repeat it to continue)", "stopped")
    return result


def _deviate(run: BookCommandRun) -> Result:
    relative, absolute = run.number("relative"), run.number("absolute")
    outcome = grow.deviate(run.book, run.caller.position, run.worker(), relative, absolute)
    return _result_of(run, f"deviate {relative} {absolute}", outcome)


def _enhance(run: BookCommandRun) -> Result:
    errors = {f"{name}_error": run.optional(f"{name}-error") for name in ("midgame", "endcut")}
    outcome = grow.enhance(run.book, run.caller.position, run.worker(), **errors)
    options = run.book.options
    return _result_of(run, f"enhance {options.midgame_error} {options.endcut_error}", outcome)


def _fill(run: BookCommandRun) -> Result:
    plies = run.number("plies")
    return _result_of(run, f"fill {plies}", grow.fill(run.book, run.worker(), plies))


def _play(run: BookCommandRun) -> Result:
    return _result_of(run, "play", grow.play_out(run.book, run.caller.position, run.worker()))


def _extend(run: BookCommandRun) -> Result:
    return _result_of(run, "extend", grow.extend(run.book, run.caller.position, run.worker()))


def _deepen(run: BookCommandRun) -> Result:
    level = run.level()
    return _result_of(run, f"deepen {level}", research.deepen(run.book, run.worker(), level))


def _correct(run: BookCommandRun) -> Result:
    book = run.book
    outcome, wrong = research.correct(book, run.worker())
    result = _result_of(run, "correct", outcome, changed=len(wrong))
    for correction in wrong:
        old_leaf = f"{move_name(correction.entry.leaf_move)}:{correction.entry.leaf_score:+d}"
        now = book.entry(correction.entry.player, correction.entry.opponent)
        if now is not None:
            result["text"].append(f"Error found: {entry_text(book, now)} instead of <{old_leaf}>")
    return result


def _fix(run: BookCommandRun) -> Result:
    return _result_of(run, "fix", fix(run.book, run.worker()))


def _negamax(run: BookCommandRun) -> Result:
    run.book.forget_state()
    changed = run.book.negamax(threads=run.worker().threads, progress=run.progress)
    return {"changed": changed, "text": [f"Negamaxing book...done: {plural(changed, 'position')} changed"]}


def _window(run: BookCommandRun) -> learn.Window:
    return learn.Window(run.number("depth"), run.number("per-move"), run.number("cumulative"))


def _learn(run: BookCommandRun) -> Result:
    window, leaf, level = _window(run), run.number("leaf"), run.level()
    outcome = learn.learn(run.book, run.caller.position, run.worker(), window, leaf, level)
    return _result_of(run, str(schedule.LearningStep(window, leaf, level)), outcome)


def _recalculate_leaves(run: BookCommandRun) -> Result:
    level = run.level()
    outcome = learn.recalculate_leaves(run.book, run.caller.position, run.worker(), _window(run), level)
    return _result_of(run, f"recalculate-leaves at level {level}", outcome, changed=outcome.searches)


def _schedule(run: BookCommandRun) -> Result:
    name = run.values["file"]
    assert isinstance(name, str)
    if name in schedule.RECIPES:
        content = schedule.RECIPES[name]
    else:
        path = run.path()
        if not path.exists():
            recipes = " ".join(schedule.RECIPES)
            raise BadInput(f"book schedule {quoted(name)}: no such file or recipe (recipes: {recipes})")
        content = decoded(path.read_bytes(), name)
    try:
        steps = schedule.parse(content)
    except ValueError as error:
        raise BadInput(f"book schedule {quoted(name)}, {error}") from None
    outcomes = schedule.run(run.book, run.caller.position, steps, run.worker())
    lines = [
        line for step, done in zip(steps, outcomes, strict=False) for line in _result_of(run, str(step), done)["text"]
    ]
    return {
        "finished": len(outcomes) == len(steps) and all(done.finished for done in outcomes),
        "added": sum(done.added for done in outcomes),
        "searches": sum(done.searches for done in outcomes),
        "text": lines,
    }


WORK: dict[str, Work] = {
    "store": _store,
    "self-play": _self_play,
    "deviate": _deviate,
    "enhance": _enhance,
    "fill": _fill,
    "play": _play,
    "extend": _extend,
    "deepen": _deepen,
    "correct": _correct,
    "fix": _fix,
    "negamax": _negamax,
    "learn": _learn,
    "recalculate-leaves": _recalculate_leaves,
    "schedule": _schedule,
}
