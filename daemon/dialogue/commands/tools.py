"""Handlers of the commands that test and measure the program."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from desdaemon.protocol.commands.options import number_within
from desdaemon.protocol.dialects import edax
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, Position, board_text, moves_text
from desdaemon.protocol.othello.obf import Problem, problem_text
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import MoverScore, seen_by_black
from desdaemon.protocol.system import platform

if TYPE_CHECKING:
    from desdaemon.dialogue.dialects.text import TextDialect
    from desdaemon.engine.limits import Limits

BENCH_S = 60
BENCH_EMPTIES = 20


def _bench(text: TextDialect, argument: str) -> None:
    """Solve positions of seeded random play, a number of them or for a minute."""
    wanted = number_within("bench", argument, 1, 10**6) if argument else 0
    session, generator = text.session, random.Random(1)
    nodes = solved = 0
    begun, cpu_begun = time.monotonic(), time.process_time()
    with session.interrupt.searching(bounded=True) as search:
        while not search.stopped and (solved < wanted if wanted else time.monotonic() - begun < BENCH_S):
            position = _random_position(generator, BENCH_EMPTIES)
            if position is None:
                continue
            session.engine().searcher.clear()
            result = session.search(position, _exact(position), window=(-64, 64))
            nodes += result.nodes
            solved += 1
    ms, cpu_ms = (time.monotonic() - begun) * 1000, (time.process_time() - cpu_begun) * 1000
    text.say(edax.solve_summary(f"{solved} positions", nodes, ms, cpu_ms))


def _exact(position: Position) -> Limits:
    from desdaemon.engine.limits import Limits

    return Limits(position.empties)


def _random_position(generator: random.Random, empties: int) -> Position | None:
    """A position of random play with a move to make; None where the game is over before."""
    position = START
    while position.empties > empties or position.must_pass:
        if position.over:
            return None
        moves = [PASS] if position.must_pass else rules.squares(position.moves)
        position = position.after(generator.choice(moves))
    return None if position.over else position


def _mobility(text: TextDialect, argument: str) -> None:
    seconds = number_within("mobility", argument or "10", 1, 10**5)
    best: Position | None = None
    for position in _random_games(text, seconds=seconds):
        if best is None or position.moves.bit_count() > best.moves.bit_count():
            best = position
    if best is not None:
        text.say(f"{best.moves.bit_count()} moves: {board_text(best)}")


def _random_games(text: TextDialect, seconds: float = 0.0) -> Iterator[Position]:
    """The positions of random games from the board, until the time is up or a stop comes."""
    generator, until = random.Random(), time.monotonic() + seconds
    with text.session.interrupt.searching(bounded=True) as search:
        while time.monotonic() < until and not search.stopped:
            position = text.session.game.position
            while not position.over:
                yield position
                moves = [PASS] if position.must_pass else rules.squares(position.moves)
                position = position.after(generator.choice(moves))


def _estimate(text: TextDialect, argument: str) -> None:
    """Knuth's estimate: the mean over random games of the product of the numbers of choices."""
    trials = number_within("estimate", argument or "10", 1, 10**6)
    generator = random.Random()
    total = plies = played = 0
    with text.session.interrupt.searching(bounded=True) as search:
        while played < trials and not search.stopped:
            position, games = text.session.game.position, 1
            while not position.over:
                moves = [PASS] if position.must_pass else rules.squares(position.moves)
                games *= len(moves)
                plies += 1
                position = position.after(generator.choice(moves))
            total += games
            played += 1
    if played:
        text.say(f"{played} games: about {total / played:.3e} games from here, {plies / played:.1f} plies each")


def _resources(text: TextDialect, argument: str) -> None:
    used = os.times()
    user, system = edax.clock_text(used.user * 1000), edax.clock_text(used.system * 1000)
    most = platform.most_resident_bytes() >> 20
    text.say(f"user time: {user}, system time: {system}, most memory: {most} MiB")
    faults = platform.page_faults()
    if faults is not None:
        text.say(f"page faults: {faults[0]} minor, {faults[1]} major")


# Problem files


def _script_to_obf(text: TextDialect, argument: str) -> None:
    def line(problem: Problem) -> str:
        return f"{problem_text(Problem(problem.position, _scores(text, problem.position)))}\n"

    _write_problems(text, "script-to-obf", argument, line)


def _select_hard(text: TextDialect, argument: str) -> None:
    def line(problem: Problem) -> str:
        scores = sorted(_scores(text, problem.position).values(), reverse=True)
        if len(scores) < 2 or scores[0] - scores[1] != 2:
            return ""
        return f"{problem_text(problem)}\n"

    _write_problems(text, "select-hard", argument, line)


def _scores(text: TextDialect, position: Position) -> dict[int, MoverScore]:
    """The score of every move, searched with the options' limits."""
    if position.over:
        return {}
    choices = max(1, position.moves.bit_count())
    result = text.session.search(position, text.session.limits(position), multipv=choices)
    return {line.move: line.score for line in result.lines}


def _write_problems(text: TextDialect, command: str, argument: str, line: Callable[[Problem], str]) -> None:
    from desdaemon.protocol.games.bases import replace_file

    from .problems import read_problems

    words = argument.split()
    if len(words) != 2:
        raise BadInput(f"{command} {quoted(argument)}: expected a file of problems and a file to write")
    source, target = words
    with text.session.interrupt.searching(bounded=True) as search:
        lines = []
        for problem in read_problems(text, source):
            made = line(problem)
            if search.stopped:
                break
            lines.append(made)
    replace_file(target, "".join(lines).encode())
    text.say(f"{sum(map(bool, lines))} problems written to {target}")


def _wtest(text: TextDialect, argument: str) -> None:
    """Solve the games of a WTHOR file where their theoretical scores begin, and compare."""
    from desdaemon.protocol.games import wthor
    from desdaemon.protocol.games.bases import replayed

    base = wthor.read(argument)
    depth = base.header.depth
    games = wrong = 0
    with text.session.interrupt.searching(bounded=True) as search:
        for number, game in enumerate(base.games, 1):
            position, line = START, []
            for played in replayed(START, game.moves):
                if position.empties <= depth and not position.must_pass:
                    break
                position = position.after(played.move)
                line.append(played.move)
            if position.over or position.empties > depth:
                continue
            score = text.session.search(position, _exact(position), window=(-64, 64)).lines[0].score
            if search.stopped:
                break
            games += 1
            found = 32 + seen_by_black(score, position.black_to_move) // 2
            if found != game.theoretical:
                wrong += 1
                text.say(f"game {number}: {game.theoretical} written, {found} found after {moves_text(line)}")
    text.say(f"{games} games, {wrong} wrong theoretical scores")


HANDLERS: dict[str, Callable[[TextDialect, str], None]] = {
    "bench": _bench,
    "mobility": _mobility,
    "estimate": _estimate,
    "resources": _resources,
    "script-to-obf": _script_to_obf,
    "select-hard": _select_hard,
    "wtest": _wtest,
}
