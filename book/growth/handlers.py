"""The handlers of the book commands that grow a book: each runs one command and returns its result."""

from __future__ import annotations

from collections import Counter

from desdaemon.book.commands.changing import shrunk
from desdaemon.book.commands.games import Games
from desdaemon.book.commands.searching import line_of, result_of
from desdaemon.book.editing import shrink
from desdaemon.book.formats.text import move_name
from desdaemon.book.growth import answer as playing_on
from desdaemon.book.growth import grow, research
from desdaemon.book.growth import learn as learning
from desdaemon.book.growth import schedule as schedules
from desdaemon.book.growth import self_play as playing
from desdaemon.book.summary import entry_text
from desdaemon.core.books.command_run import BookCommandRun
from desdaemon.core.books.jobs import Result
from desdaemon.core.books.service import choice_settings
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello import openings
from desdaemon.protocol.othello.notation import START, play_moves
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system import files
from desdaemon.protocol.texts import settings_text

_GAMES = 1 << 10
"""Games read between two reports."""


def self_play(run: BookCommandRun) -> Result:
    settings, games = run.caller.settings, run.number("games")
    if run.caller.positions[-1].over:
        raise BadInput("book self-play: the game on the board is over: expected a position to play on from")
    terms = playing.SelfPlayTerms(run.level(), choice_settings(settings), settings.book_seed, run.number("random"))
    if run.values["xot"]:
        if run.caller.positions[-1] != START:
            raise BadInput("book self-play --xot: expected the opening position on the board: type init first")
        lines = openings.lines_of("xot")
        terms = terms._replace(openings=tuple(tuple(play_moves(START, list(line)).moves) for line in lines))
    shrink.root_row(run.book, run.caller.position)
    outcome, tally = playing.self_play(
        run.book,
        run.caller.position,
        run.worker(),
        games,
        terms,
        adjusting=settings.book_learn_results,
        before=run.job.games,
    )
    result = result_of(run, f"self-play {games}", outcome, games=sum(tally))
    black = tally if run.caller.positions[-1].black_to_move else tally[::-1]
    result["text"].insert(
        0, f"Games counted: {sum(tally)}; Black won {black[0]}, {black[1]} drawn, White won {black[2]}"
    )
    if not outcome.finished:
        result["text"][-1] = result["text"][-1].replace("stopped (repeat it to continue)", "stopped")
    return result


def answer(run: BookCommandRun) -> Result:
    level, plies, played = (run.number(name) for name in ("level", "plies", "played"))
    games, counts = Games(run), Counter[tuple[int, int]]()
    with games.complain as complain:
        for number, game in enumerate(games, 1):
            positions, illegal = run.book.table.replay(*START[:2], game.moves[:plies])
            if illegal is not None:
                complain(f"game {number}: move {illegal + 1} is not legal")
                continue
            player, opponent = positions[-1].tolist()
            counts[player, opponent] += 1
            if number % _GAMES == 0:
                run.progress("add", number, 0)
    found = [opening for opening, times in counts.most_common() if times >= played]
    if not found:
        raise BadInput(f"book answer: no opening that {plural(played, 'game')} have")
    outcome = playing_on.answer(run.book, found, run.worker(), level, choice_settings(run.caller.settings))
    what = f"answer to level {level} in {plural(len(found), 'opening')}"
    result = result_of(run, what, outcome, openings=len(found))
    result["text"][:0] = games.problems
    return result


def deviate(run: BookCommandRun) -> Result:
    relative, absolute = run.number("relative"), run.number("absolute")
    outcome = grow.deviate(run.book, run.caller.position, run.worker(), relative, absolute)
    return result_of(run, f"deviate {relative} {absolute}", outcome)


def enhance(run: BookCommandRun) -> Result:
    errors = {f"{name}_error": run.optional(f"{name}-error") for name in ("midgame", "endcut")}
    outcome = grow.enhance(run.book, run.caller.position, run.worker(), **errors)
    options = run.book.options
    return result_of(run, f"enhance {options.midgame_error} {options.endcut_error}", outcome)


def fill(run: BookCommandRun) -> Result:
    plies = run.number("plies")
    return result_of(run, f"fill {plies}", grow.fill(run.book, run.worker(), plies))


def play(run: BookCommandRun) -> Result:
    return result_of(run, "play", grow.play_out(run.book, run.caller.position, run.worker()))


def extend(run: BookCommandRun) -> Result:
    return result_of(run, "extend", grow.extend(run.book, run.caller.position, run.worker()))


def deepen(run: BookCommandRun) -> Result:
    level = run.level()
    return result_of(run, f"deepen {level}", research.deepen(run.book, run.worker(), level))


def correct(run: BookCommandRun) -> Result:
    book = run.book
    outcome, wrong = research.correct(book, run.worker())
    result = result_of(run, "correct", outcome, changed=len(wrong))
    for correction in wrong:
        old_leaf = f"{move_name(correction.entry.leaf_move)}:{correction.entry.leaf_score:+d}"
        now = book.entry(correction.entry.player, correction.entry.opponent)
        if now is not None:
            result["text"].append(f"Error found: {entry_text(book, now)} instead of <{old_leaf}>")
    return result


def _window(run: BookCommandRun) -> learning.Window:
    return learning.Window(run.number("depth"), run.number("per-move"), run.number("cumulative"))


def learn(run: BookCommandRun) -> Result:
    window, leaf, level = _window(run), run.number("leaf"), run.level()
    outcome = learning.learn(run.book, run.caller.position, run.worker(), window, leaf, level)
    return result_of(run, str(schedules.LearningStep(window, leaf, level)), outcome)


def recalculate_leaves(run: BookCommandRun) -> Result:
    level = run.level()
    outcome = learning.recalculate_leaves(run.book, run.caller.position, run.worker(), _window(run), level)
    return result_of(run, f"recalculate-leaves at level {level}", outcome, changed=outcome.searches)


def schedule(run: BookCommandRun) -> Result:
    name = run.values["file"]
    assert isinstance(name, str)
    if name in schedules.RECIPES:
        content = schedules.RECIPES[name]
    else:
        path = run.path()
        try:
            with files.open_regular(path) as file:
                content = settings_text(file, name)
        except FileNotFoundError:
            recipes = " ".join(schedules.RECIPES)
            raise BadInput(f"book schedule {quoted(name)}: no such file or recipe (recipes: {recipes})") from None
        except OSError as error:
            raise BadInput(f"book schedule {quoted(name)}: {error.strerror}") from None
    try:
        steps = schedules.parse(content)
    except ValueError as error:
        raise BadInput(f"book schedule {quoted(name)}, {error}") from None
    outcomes = schedules.run(run.book, run.caller.position, steps, run.worker())
    earlier = run.job.earlier
    return {
        "finished": len(outcomes) == len(steps) and all(done.finished for done in outcomes),
        "added": earlier.positions + sum(done.added for done in outcomes),
        "searches": earlier.searches + sum(done.searches for done in outcomes),
        # Nobody knows which step did what was done before a kill.
        "text": [line_of(run, str(step), done) for step, done in zip(steps, outcomes, strict=False)],
    }


def reduce(run: BookCommandRun) -> Result:
    read_only = run.values["read"] is True
    done = learning.reduce(run.book, run.caller.position, _window(run), read_only=read_only, progress=run.progress)
    return shrunk(run, "reduce", done)
