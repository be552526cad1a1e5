"""The commands that count, measure and estimate, such as ``perft``, ``count``, ``bench`` and ``resources``."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from desdaemon.dialogue.session import CommandContext, unlimited
from desdaemon.protocol.commands.options import number_within
from desdaemon.protocol.dialects import edax
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, Position, board_text
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.spelling import did_you_mean, plural
from desdaemon.protocol.system import platform
from desdaemon.protocol.system.terminal import ElapsedTime

if TYPE_CHECKING:
    from desdaemon.core.settings import SessionSettings

MOST_SHAPE_PLIES = 8

BENCH_S, BENCH_EMPTIES = 60, 20
"""Seconds that `bench` takes unless it is given a number of positions, and empty squares of these positions."""

_PERFT_PIECE = 9
"""Plies that one call counts; longer lines are counted in pieces, so that a stop takes effect."""


def perft(context: CommandContext, argument: str) -> None:
    words = argument.split() or ["10"]
    if len(words) > 2:
        raise BadInput(f"perft {quoted(argument)}: expected a depth and optionally a mode, 1 or 2")
    depth = number_within("perft", words[0], 0, 60)
    mode = number_within("perft mode", words[1], 1, 2) if len(words) > 1 else 1
    _count_lines(context, depth, mode)


def _count_lines(context: CommandContext, depth: int, mode: int) -> None:
    """Print the number of lines of ``depth`` plies, or that the count was stopped. In ``mode`` 1 a pass counts as a
    ply, in mode 2 it does not.
    """
    from desdaemon.engine.counting.counts import perft

    position = context.session.game.position
    begun = time.perf_counter()
    with context.session.interrupt.searching(bounded=depth <= 13) as search, _elapsed(context, f"perft {depth}"):

        def count(player: int, opponent: int, left: int) -> int:
            if search.stopped:
                return 0
            moves = rules.legal_moves(player, opponent)
            if left <= _PERFT_PIECE or not moves:
                return perft(player, opponent, left, mode)
            return sum(count(*rules.play(player, opponent, move), left - 1) for move in rules.squares(moves))

        total = count(position.player, position.opponent, depth)
        stopped = search.stopped
    if stopped:
        context.say(f"perft {depth} (mode {mode}): stopped")
    else:
        context.say(f"perft {depth} (mode {mode}): {total} in {edax.clock_text((time.perf_counter() - begun) * 1000)}")


def count(context: CommandContext, argument: str) -> None:
    what, _, rest = argument.partition(" ")
    words = rest.split()
    counter = _COUNTERS.get(what.lower())
    if counter is None or not words or len(words) > (2 if counter is _positions else 1):
        expected = "games, positions or shapes, and a depth"
        meant = did_you_mean(what, _COUNTERS, expected) if counter is None else f"expected {expected}"
        raise BadInput(f"count {quoted(argument)}: {meant}")
    counter(context, words)


def _games(context: CommandContext, words: list[str]) -> None:
    depth = number_within("count games", words[0], 0, 60)
    with context.session.interrupt.searching(bounded=depth <= 13) as search:
        for plies in range(depth + 1):
            _count_lines(context, plies, 1)
            if search.stopped:
                return


def _positions(context: CommandContext, words: list[str]) -> None:
    from desdaemon.engine.counting.counts import count_positions

    depth = number_within("count positions", words[0], 0, 12)
    chosen = [number_within("count positions, definition", words[1], 1, 3)] if len(words) > 1 else [1, 2, 3]
    for definition in chosen:
        what = f"positions {depth} (definition {definition})"
        with context.session.interrupt.searching(bounded=True) as search, _elapsed(context, what):
            count = count_positions(depth, definition, lambda: search.stopped)
        if search.stopped:
            context.say(f"{what}: stopped")
            return
        context.say(f"{what}: {count}")


def _shapes(context: CommandContext, words: list[str]) -> None:
    depth = number_within("count shapes", words[0], 0, MOST_SHAPE_PLIES)
    layer = {rules.canonical(*rules.START)}
    with context.session.interrupt.searching(bounded=True) as search:
        for plies in range(depth + 1):
            with _elapsed(context, f"shapes {plies}"):
                if plies:
                    layer = {child for position in layer if not search.stopped for child in _children(*position)}
                shapes = {_canonical_shape(player | opponent) for player, opponent in layer}
            if search.stopped:
                context.say(f"shapes {plies}: stopped")
                return
            context.say(f"shapes {plies}: {len(shapes)}")


def _children(player: int, opponent: int) -> list[tuple[int, int]]:
    """Return the canonical image of the position after each legal move; if the next side must pass then, of that after
    the pass.
    """
    children = []
    for move in rules.squares(rules.legal_moves(player, opponent)):
        after = rules.play(player, opponent, move)
        if rules.must_pass(*after):
            after = rules.play(*after, PASS)
        children.append(rules.canonical(*after))
    return children


def _canonical_shape(discs: int) -> int:
    return min(rules.transform(discs, symmetry) for symmetry in range(8))


_COUNTERS: dict[str, Callable[[CommandContext, list[str]], None]] = {
    "games": _games,
    "positions": _positions,
    "shapes": _shapes,
}


def _elapsed(context: CommandContext, what: str) -> ElapsedTime:
    return ElapsedTime(what, wanted=not context.session.remote)


# Measurements and random games


def bench(context: CommandContext, argument: str) -> None:
    """Solve random positions from a fixed seed, as many as ``argument`` says or `BENCH_S` allows. Prints the totals."""
    wanted = number_within("bench", argument, 1, 10**6) if argument else 0
    session, generator = context.session, random.Random(1)
    nodes = solved = 0
    begun, cpu_begun = time.perf_counter(), time.process_time()
    with session.interrupt.searching(bounded=True) as search, _elapsed(context, "bench"):
        while not search.stopped and (solved < wanted if wanted else time.perf_counter() - begun < BENCH_S):
            position = _random_position(generator, BENCH_EMPTIES)
            if position is None:
                continue
            session.engine().searcher.clear()
            result = session.search(position, unlimited(position), window=(-64, 64))
            nodes += result.nodes
            solved += 1
    ms, cpu_ms = (time.perf_counter() - begun) * 1000, (time.process_time() - cpu_begun) * 1000
    context.say(edax.solve_summary(plural(solved, "position"), nodes, ms, cpu_ms))


def _random_position(generator: random.Random, empties: int) -> Position | None:
    """Return a position of a random game with ``empties`` empty squares, fewer if the side to move had to pass there;
    None if the game is over by then.
    """
    position = START
    while position.empties > empties or position.must_pass:
        if position.over:
            return None
        position = _after_random_move(position, generator)
    return None if position.over else position


def bench_as_edax(settings: SessionSettings, count: str) -> int:
    """Solve random positions as the command `bench` does. Returns the exit status of `carry_out`."""
    from desdaemon.dialogue.stdio import carry_out

    return carry_out(settings, f"bench {count}")


def mobility(context: CommandContext, argument: str) -> None:
    seconds = number_within("mobility", argument or "10", 1, 10**5)
    best: Position | None = None
    for position in _random_games(context, seconds):
        if best is None or position.moves.bit_count() > best.moves.bit_count():
            best = position
    if best is not None:
        context.say(f"{plural(best.moves.bit_count(), 'move')}: {board_text(best)}")


def _random_games(context: CommandContext, seconds: float) -> Iterator[Position]:
    """Yield the positions of random games that begin on the board. No game is begun after ``seconds`` or a stop."""
    generator, until = random.Random(), time.perf_counter() + seconds
    with context.session.interrupt.searching(bounded=True) as search, _elapsed(context, "mobility"):
        while time.perf_counter() < until and not search.stopped:
            position = context.session.game.position
            while not position.over:
                yield position
                position = _after_random_move(position, generator)


def _after_random_move(position: Position, generator: random.Random) -> Position:
    return position.after(PASS if position.must_pass else generator.choice(rules.squares(position.moves)))


def estimate(context: CommandContext, argument: str) -> None:
    """Estimate the number of games as Knuth did: the mean product of the numbers of moves along random games."""
    trials = number_within("estimate", argument or "10", 1, 10**6)
    generator = random.Random()
    total = plies = played = 0
    with context.session.interrupt.searching(bounded=True) as search, _elapsed(context, "estimate"):
        while played < trials and not search.stopped:
            position, games = context.session.game.position, 1
            while not position.over:
                games *= max(1, position.moves.bit_count())
                plies += 1
                position = _after_random_move(position, generator)
            total += games
            played += 1
    if played:
        context.say(
            f"{plural(played, 'game')}: about {total / played:.3e} games from here, {plies / played:.1f} plies each"
        )


def resources(context: CommandContext, argument: str) -> None:
    used = os.times()
    user, system = edax.clock_text(used.user * 1000), edax.clock_text(used.system * 1000)
    most = platform.most_resident_bytes() >> 20
    context.say(f"user time: {user}, system time: {system}, most memory: {most} MiB")
    faults = platform.page_faults()
    if faults is not None:
        context.say(f"page faults: {faults[0]} minor, {faults[1]} major")
