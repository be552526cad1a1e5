"""`desdaemon bench`: the engine's speed on this machine, and the signature of its search.

Times are medians of repeated runs, of processor time where one thread works (other programs disturb it least) and of
wall time for threads and start-up. ``--problems`` names the folder of fforum-1-19.obf, fforum-20-39.obf,
fforum-40-59.obf and midgame-8.obf; without it positions of seeded random play are used.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from desdaemon.engine.compiler.library import OURSELVES
from desdaemon.engine.evaluation.weights import SHIPPED, Weights, WeightsError
from desdaemon.engine.limits import Limits, level_limits
from desdaemon.engine.processors import processors
from desdaemon.engine.search import Searcher
from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import board_text
from desdaemon.protocol.othello.obf import Problem
from desdaemon.protocol.othello.rules import START
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.spelling import did_you_mean
from desdaemon.protocol.system import logs
from desdaemon.protocol.system.terminal import ProgressLine

from . import known_scores, move_losses
from .peer import Peer, PeerError
from .problems import contradicts, random_problems, read_problems, simple_positions
from .virtual_threads import TURN

if TYPE_CHECKING:
    from .threads import Spread


class Measurement(NamedTuple):
    """One measurement: seconds (median), what was counted, and the count."""

    name: str
    seconds: float
    nodes: int
    note: str = ""


class Plan(NamedTuple):
    """The parameters of `EngineBench.threads` and `EngineBench.moves`.

    For threads: numbers of real and of virtual threads and a level, or a number of solves to check or of games to play,
    ``nodes`` of virtual time a move, with the seed of their positions. For moves: the number of ``positions`` and their
    seed.

    ``turn`` is the number of nodes that a virtual thread visits before another one runs; real threads take the shortest
    of turns. ``places`` are the indices of the positions for selective searches in their file, all where it is empty.
    """

    real: tuple[int, ...] = (2,)
    virtual: tuple[int, ...] = ()
    level: int = 21
    places: tuple[int, ...] = ()
    stress: int = 0
    positions: int = 5000
    games: int = 0
    nodes: int = 100_000
    seed: int = 1
    turn: int = TURN


class EngineBench:
    """The measurements: each method is one, named as on the command line. Used by one thread."""

    def __init__(self, weights: Weights, problems: Path | None, repeat: int) -> None:
        """``problems`` is a folder of OBF files, ``repeat`` the number of runs whose median counts."""
        self.weights = weights
        self.problems = problems
        self.repeat = repeat
        self.plan = Plan()
        self.peer: Peer | None = None
        """Another program, whose solves stand beside ours."""

    def _set(self, file: str, first: int, last: int, empties: int) -> tuple[str, list[Problem]]:
        path = self.problems / file if self.problems else None
        if path is not None and path.is_file():
            return f"{path.stem}[{first}:{last}]", read_problems(path, first, last)
        return f"random, {empties} empties", random_problems(8, empties, 1)

    def _searched(
        self,
        name: str,
        problems: Sequence[Problem],
        limits: Callable[[int], Limits],
        *,
        bits: int = 21,
    ) -> Measurement:
        searcher = Searcher(hash_bits=bits, weights=self.weights)
        clock = time.process_time
        seconds, nodes, wrong = [], 0, 0
        for _ in range(self.repeat):
            total, nodes, wrong = 0.0, 0, 0
            for problem in problems:
                searcher.clear()
                player, opponent, _ = problem.position
                begun = clock()
                result = searcher.search(player, opponent, limits(problem.position.empties))
                total += clock() - begun
                nodes += result.nodes
                wrong += contradicts(result.lines[0], problem)
            seconds.append(total)
        return Measurement(name, statistics.median(seconds), nodes, f"{wrong} WRONG" if wrong else "")

    def perft(self) -> list[Measurement]:
        """Perft 11, both modes, one thread."""
        from desdaemon.engine.counting import perft

        rows = []
        for mode in (1, 2):
            seconds, leaves = [], 0
            for _ in range(max(3, self.repeat)):
                begun = time.process_time()
                leaves = perft(*START, 11, mode, threads=1)
                seconds.append(time.process_time() - begun)
            rows.append(Measurement(f"perft 11 mode {mode}", statistics.median(seconds), leaves))
        return rows

    def solve(self) -> list[Measurement]:
        """Exact scores, one thread; the peer's after ours.

        Raises PeerError.
        """
        rows = []
        for file, first, last, bits in (
            ("fforum-1-19.obf", 0, 19, 16),
            ("fforum-20-39.obf", 0, 20, 21),
            ("fforum-40-59.obf", 0, 5, 21),
            ("fforum-40-59.obf", 0, 10, 22),
        ):
            name, problems = self._set(file, first, last, 18)
            if self.peer is None:
                rows.append(self._searched(f"exact {name}", problems, Limits, bits=bits))
            else:
                rows += self._beside(self.peer, f"exact {name}", problems, bits)
            if name.startswith("random"):
                break
        return rows

    def _beside(self, peer: Peer, name: str, problems: Sequence[Problem], bits: int) -> list[Measurement]:
        """Our solves and the peer's, in turn, so that what else the machine does disturbs both alike."""
        turns = EngineBench(self.weights, None, 1)
        ours, theirs = [], []
        for _ in range(self.repeat):
            ours.append(turns._searched(name, problems, Limits, bits=bits))
            theirs.append(peer.solve(problems, bits))
        own = ours[-1]._replace(seconds=statistics.median(run.seconds for run in ours))
        seconds, nodes, wrong = statistics.median(run.seconds for run in theirs), theirs[-1].nodes, theirs[-1].wrong
        note = f"ours: {own.seconds / seconds:.2f} of its time" if seconds else "too fast for its clock"
        note += f", {own.nodes / nodes:.2f} of its nodes" if nodes else ""
        note += f"; {wrong} WRONG" if wrong else ""
        return [own, Measurement(f"  {peer.name}", seconds, nodes, note)]

    def midgame(self) -> list[Measurement]:
        """Levels 12, 16 and 21, one thread."""
        name, problems = self._set("midgame-8.obf", 0, 8, 36)
        levels = (12, 16, 21) if name.startswith("midgame") else (10, 12)
        return [
            self._searched(f"level {level} {name}", problems, lambda empties, level=level: level_limits(level, empties))  # type: ignore[misc]
            for level in levels
        ]

    def levels(self) -> Iterator[Measurement]:
        """Levels 12, 16, 18 and 20 on positions that are the same for all weights; no level reads them to the end.

        The sum is that of the largest trees; the geometric mean beside it, of which no position decides, tells best
        whether a change makes trees smaller. One thread.
        """
        positions = [position for empties in (36, 40, 44) for position in simple_positions(60, empties, 1)]
        searcher, line = Searcher(hash_bits=21, weights=self.weights), ProgressLine()
        for level in (12, 16, 18, 20):
            nodes: list[int] = []
            begun = time.process_time()
            for player, opponent in positions:
                line.show(f"level {level}: {len(nodes)} of {len(positions)} positions")
                searcher.clear()
                limits = level_limits(level, 64 - (player | opponent).bit_count())
                nodes.append(searcher.search(player, opponent, limits).nodes)
            line.clear()
            yield Measurement(
                f"level {level}, {len(positions)} positions",
                time.process_time() - begun,
                sum(nodes),
                f"geometric mean {statistics.geometric_mean(nodes):,.0f} nodes",
            )

    def moves(self) -> list[Measurement]:
        """The losses by the moves of selective and of shallower searches, by `move_losses`; Ctrl-C ends it with what it
        has measured.
        """
        line = ProgressLine()
        found: list[move_losses.MoveLosses] = []
        with contextlib.suppress(KeyboardInterrupt):
            for found in move_losses.measure(self.weights, self.plan.positions, self.plan.seed):
                done = len(found[0].losses)
                means = ", ".join(f"{move_losses.mean(loss.losses):.3f}" for loss in found)
                line.show(f"{done} of {self.plan.positions} positions; mean losses {means}")
        line.clear()
        return [self._losses(loss) for loss in found]

    def hard(self) -> Iterator[Measurement]:
        """Scores and moves of selective searches against the exact ones of fforum 40 to 79, which list every move's.

        Without the files nothing is measured. One thread.
        """
        problems = []
        for file in ("fforum-40-59.obf", "fforum-60-79.obf"):
            path = self.problems / file if self.problems else None
            if path is None or not path.is_file():
                yield Measurement("hard", 0.0, 0, f"expected --problems with {file}")
                return
            problems += read_problems(path)
        mean, line = move_losses.mean, ProgressLine()
        for limits in known_scores.SEARCHES:
            found = known_scores.Errors(limits)
            for found in known_scores.measure(self.weights, problems, limits):
                line.show(f"{limits.depth} plies: {len(found.scores)} of {len(problems)} positions")
            line.clear()
            yield Measurement(
                f"{limits.depth} plies at {limits.selectivity} %, {len(found.scores)} positions",
                found.seconds,
                found.nodes,
                f"mean error {mean(found.scores):.2f} +- {move_losses.standard_error(found.scores):.2f}, "
                f"best move {100 * mean([lost == 0 for lost in found.losses]):.1f} %, "
                f"loss {mean(found.losses):.2f} +- {move_losses.standard_error(found.losses):.2f}",
            )

    @staticmethod
    def _losses(loss: move_losses.MoveLosses) -> Measurement:
        mean, standard_error = move_losses.mean, move_losses.standard_error
        first, other = mean(loss.first), mean(loss.other)
        error = standard_error([a - b for a, b in zip(loss.first, loss.other, strict=True)])
        return Measurement(
            f"{loss.limits.depth} plies at {loss.limits.selectivity} %",
            loss.seconds,
            loss.nodes,
            f"{len(loss.losses)} positions, best move {100 * mean([lost == 0 for lost in loss.losses]):.1f} %, "
            f"loss {mean(loss.losses):.3f} +- {standard_error(loss.losses):.3f}, "
            f"where {len(loss.other)} moves differ {other:.2f}, the first's {first:.2f} "
            f"(difference {first - other:+.2f} +- {error:.2f})",
        )

    def evaluation(self) -> list[Measurement]:
        """Incremental evaluations: flips, update of the features and the sum of the weights."""
        searcher = Searcher(hash_bits=10, weights=self.weights)
        [problem] = random_problems(1, 30, 3)
        number = 2_000_000
        seconds = []
        for _ in range(max(5, self.repeat)):
            begun = time.process_time()
            searcher.time_evaluations(*problem.position[:2], number)
            seconds.append(time.process_time() - begun)
        return [Measurement("evaluation", statistics.median(seconds), number)]

    def short(self) -> list[Measurement]:
        """Level 5, one thread, wall time: the cost of short questions without a server."""
        number = 500
        problems = [found for empties in range(41, 53, 3) for found in random_problems(number, empties, empties)]
        searcher = Searcher(weights=self.weights)
        seconds, nodes = [], 0
        for _ in range(self.repeat):
            searcher.clear()
            nodes, begun = 0, time.perf_counter()
            for problem in problems:
                player, opponent, _ = problem.position
                nodes += searcher.search(player, opponent, level_limits(5, problem.position.empties)).nodes
            seconds.append(time.perf_counter() - begun)
        return [
            Measurement("level 5, random positions", statistics.median(seconds), nodes, f"{len(problems)} searches")
        ]

    def threads(self) -> list[Measurement]:
        """Exact scores, and the level of `plan`, by one thread and by several: real threads, then virtual ones."""
        from . import threads

        plan = self.plan
        if plan.stress:
            return _stressed(self.weights, plan)
        if plan.games:
            return [_played(self.weights, plan, threads) for threads in plan.virtual]
        rows = []
        for virtual, numbers, last in ((False, plan.real, 10), (True, plan.virtual, 5)):
            if not numbers:
                continue
            exact = self._set("fforum-40-59.obf", 0, last, 20)
            name, problems = self._set("fforum-60-79.obf", 0, 20, 34)
            places = plan.places or tuple(range(len(problems)))
            chosen = [problems[place] for place in places if place < len(problems)]
            if not chosen:
                raise BadInput(f"--places {','.join(map(str, places))}: expected less than {len(problems)}")
            if plan.places:
                name += f" {','.join(map(str, places))}"
            for label, positions, limits in (
                (f"exact {exact[0]}", exact[1], lambda empties: Limits(empties)),
                (f"level {plan.level} {name}", chosen, lambda empties: level_limits(plan.level, empties)),
            ):
                spreads = threads.measure(self.weights, positions, limits, numbers, virtual=virtual, quantum=plan.turn)
                rows += [_spread_row(label, spread, virtual=virtual) for spread in spreads]
        return rows

    def startup(self) -> list[Measurement]:
        """Fresh processes with a warm cache: to the first prompt, and to the answers of a hint and a solve."""
        middle, late = (board_text(random_problems(1, *of)[0].position) for of in ((36, 5), (14, 6)))
        return [
            Measurement("start to prompt", self._until(""), 0),
            Measurement(
                "start to hint 1 at level 10",
                self._until(f"level 10\nsetboard {middle}\nhint 1\n"),
                0,
            ),
            Measurement(
                "start to 14 empties solved",
                self._until(f"level 60\nsetboard {late}\nhint 1\n"),
                0,
            ),
        ]

    def _until(self, lines: str) -> float:
        """Seconds from the start of a process to the prompt after the last of ``lines``."""
        prompts = lines.count("\n") + 1
        command = [sys.executable, "-P", "-c", _ENTRY, str(Path(__file__).resolve().parents[2]), "-q"]
        if self.weights.source != str(SHIPPED):
            command += ["-eval-file", self.weights.source]
        seconds = []
        for _ in range(max(7, self.repeat)):
            begun = time.perf_counter()
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(lines.encode())
                process.stdin.flush()
                seen = 0
                while seen < prompts:
                    data = os.read(process.stdout.fileno(), 65536)
                    if not data:
                        raise RuntimeError("the daemon ended before its last prompt")
                    seen += data.count(b">")
                seconds.append(time.perf_counter() - begun)
                process.stdin.close()
                process.stdout.read()
        return statistics.median(seconds)

    def stop(self) -> list[Measurement]:
        """From a stop to the end of the search, wall time, over searches of every kind stopped at random moments; and
        until a thread that joined a search has left it.
        """
        from . import stops

        rows = []
        for threads in sorted({1, processors(), 32}):
            for name, delays in stops.measure(self.weights, threads):
                rows.append(_delays_row(f"stop, {name}, {threads} thread{'s' * (threads > 1)}", delays))
        rows.append(_delays_row("a thread that joined a search leaves it", stops.measure_leaving(self.weights)))
        return rows

    def signature(self) -> tuple[int, list[int]]:
        """Nodes and scores of a fixed set of searches: the same on every machine, for the same code and weights."""
        searcher = Searcher(hash_bits=16, weights=self.weights)
        nodes = 0
        scores: list[int] = []
        for empties, number, limits in (
            (44, 4, Limits(8, Selectivity(73))),
            (36, 4, Limits(10, Selectivity(73))),
            (30, 4, Limits(7, Selectivity(100))),
            (17, 6, Limits(17, Selectivity(100))),
            (18, 6, Limits(18, Selectivity(87))),
        ):
            for problem in random_problems(number, empties, empties):
                searcher.clear()
                result = searcher.search(*problem.position[:2], limits, multipv=2)
                nodes += result.nodes
                scores += [line.score for line in result.lines]
        return nodes, scores

    def selectivity(self) -> list[Measurement]:
        """The share of selective searches that score within a disc of the full one, by `selectivity_check`."""
        from . import selectivity_check

        return [
            Measurement(
                f"{share.selectivity} % {what}, {share.positions} positions",
                share.seconds,
                share.nodes,
                f"{100 * share.right / share.positions:.2f} % right",
            )
            for what, shares in (
                ("to the end", selectivity_check.measure(self.weights)),
                (f"{selectivity_check.DEPTH} plies", selectivity_check.measure_early(self.weights)),
            )
            for share in shares
        ]


# Where nothing is installed: runs this very source tree.
_ENTRY = f"""{OURSELVES}
sys.argv[0] = "desdaemon"
from desdaemon.cli.main import main
sys.exit(main())
"""


def _delays_row(name: str, delays: list[float]) -> Measurement:
    note = f"median of {len(delays)}; greatest {1e3 * max(delays):.1f} ms"
    return Measurement(name, statistics.median(delays), 0, note)


def _spread_row(name: str, spread: Spread, *, virtual: bool) -> Measurement:
    kind = "virtual thread" if virtual else "thread"
    note = (
        f"speed-up {spread.speedup:.2f}, nodes {100 * spread.extra:+.1f} %, longest thread {100 * spread.longest:.1f} %"
        + (f", idle {100 * spread.idle:.1f} %" if virtual else "")
        + (f", {spread.wrong} WRONG" if spread.wrong else "")
    )
    label = f"{name}, {spread.threads} {kind}{'s' * (spread.threads > 1)}"
    return Measurement(label, 0.0 if virtual else spread.time, spread.nodes, note)


def _stressed(weights: Weights, plan: Plan) -> list[Measurement]:
    """The solves that `stress` compares, with progress on standard error: all, and those of each number of empties."""
    from . import stress

    line, last = ProgressLine(), 0.0

    def progress(found: stress.Stress) -> None:
        nonlocal last
        if time.perf_counter() - last >= 1:
            last = time.perf_counter()
            line.show(f"{found.solved} of {plan.stress} solves, {found.wrong} wrong scores")

    found = stress.stress(weights, plan.stress, plan.seed, progress)
    line.clear()
    rows = [
        Measurement(
            f"exact solves by {stress.THREADS[0]} to {stress.THREADS[-1]} threads",
            found.seconds,
            found.nodes,
            f"{found.wrong} of {found.solved} scores WRONG, {found.stopped} stopped before; "
            f"{found.wrong_entries} of {found.entries} entries WRONG; "
            f"{found.wrong_full_width} of {found.full_width} full-width scores WRONG",
        )
    ]
    for empties in sorted({empties for empties, _ in found.counts}):
        by = ", ".join(f"{found.counts[empties, threads]} by {threads}" for threads in stress.THREADS)
        rows.append(Measurement(f"of these, {empties} empties", 0.0, 0, by))
    return rows + [Measurement(failure, 0.0, 0, "WRONG") for failure in found.failures]


def _played(weights: Weights, plan: Plan, threads: int) -> Measurement:
    """The games of so many virtual threads against one, with progress on standard error."""
    from . import games

    line = ProgressLine()

    def said(found: games.Outcome) -> str:
        return f"{100 * found.share:.1f} +- {100 * found.error:.1f} % of the points, {found.discs:+.2f} discs a game"

    begun = time.perf_counter()
    found = games.play(
        weights,
        threads,
        plan.nodes,
        plan.games,
        plan.seed,
        lambda found: line.show(f"{threads} virtual threads, {found.games} of {plan.games} games: {said(found)}"),
    )
    line.clear()
    name = f"{found.games} games of {threads} virtual threads against one"
    return Measurement(name, time.perf_counter() - begun, found.nodes, said(found))


def _machine() -> dict[str, Any]:
    from desdaemon.engine.compiler.target import host_target

    return {"cpu": host_target().cpu, "cores": processors(), "python": platform.python_version()}


_MEASUREMENTS: dict[str, str] = {
    "perft": "perft 11 in both modes",
    "solve": "exact scores of the fforum problems",
    "midgame": "levels 12, 16 and 21",
    "levels": "nodes of levels 12 to 20 on 180 positions",
    "eval": "incremental evaluations",
    "hard": "errors of selective searches on fforum 40 to 79",
    "short": "searches of level 5 one after the other, wall time",
    "threads": "one thread against several, real or virtual",
    "stop": "from a stop to the end of the search",
    "startup": "fresh processes with a warm cache",
    "moves": "what the moves of searches of 12 to 18 plies lose (two hours)",
    "selectivity": "how often selective searches are right (minutes)",
    "signature": "nodes of fixed searches",
}


def _numbers(text: str, least: int = 2, most: int = 256) -> tuple[int, ...]:
    """Numbers with commas between, none for an empty text."""
    try:
        numbers = tuple(int(part) for part in text.split(",") if part)
    except ValueError:
        numbers = (least - 1,)
    if not all(least <= number <= most for number in numbers):
        raise argparse.ArgumentTypeError(f"{text!r}: expected numbers from {least} to {most} with commas between")
    return numbers


def _places(text: str) -> tuple[int, ...]:
    return _numbers(text, 0, 1000)


def _even(text: str) -> int:
    if not text.isdecimal() or int(text) % 2:
        raise argparse.ArgumentTypeError(f"{text!r}: expected an even number of games, two from each position")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number from 1")
    return int(text)


def command_line() -> Parser:
    """The command line."""
    parser = Parser(
        prog="desdaemon bench",
        description=__doc__,
        epilog="\n".join(f"  {name:12}{what}" for name, what in _MEASUREMENTS.items()),
    )
    parser.add_argument("what", nargs="*", metavar="WHAT", help="measurements to run, by name")
    parser.add_argument("--problems", type=Path, metavar="FOLDER", help="folder of OBF files")
    parser.add_argument("--eval-file", help="weights other than the shipped ones")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the median counts (3)")
    parser.add_argument("--threads", type=_numbers, default=(2,), metavar="N,N", help="threads: so many real ones (2)")
    parser.add_argument("--virtual", type=_numbers, default=(), metavar="N,N", help="threads: so many virtual ones")
    parser.add_argument("--level", type=int, default=21, help="threads: level of the selective searches (21)")
    parser.add_argument("--places", type=_places, default=(), metavar="N,N", help="threads: places of their positions")
    parser.add_argument("--positions", type=_positive, default=5000, metavar="N", help="moves: positions (5000)")
    parser.add_argument("--stress", type=int, default=0, metavar="N", help="threads: check N exact solves instead")
    parser.add_argument(
        "--games", type=_even, default=0, metavar="N", help="threads: play N games by the virtual ones against one"
    )
    parser.add_argument(
        "--nodes", type=_positive, default=100_000, metavar="N", help="threads: virtual time of a move there (100000)"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="moves, threads: seed of positions, solves and games (1)",
    )
    parser.add_argument(
        "--turn", type=_positive, default=TURN, metavar="N", help=f"threads: nodes of a virtual thread's turn ({TURN})"
    )
    parser.add_argument("--peer", metavar="COMMAND", help="solve: beside ours, a program that solves as Edax does")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the measurements named (by default all but the last three); returns the exit status."""
    parser = command_line()
    arguments = parser.parse_args(argv)
    unknown = [what for what in arguments.what if what not in _MEASUREMENTS]
    if unknown:
        near = did_you_mean(unknown[0], _MEASUREMENTS)
        parser.error(f"{unknown[0]!r}: expected one of {', '.join(_MEASUREMENTS)}{near}")
    if arguments.repeat < 1:
        parser.error("--repeat must be at least 1")
    chosen = arguments.what or list(_MEASUREMENTS)[:-3]
    try:
        weights = Weights.load(arguments.eval_file)
    except WeightsError as error:
        logs.message(str(error), level="error")
        return 1
    if arguments.games and not arguments.virtual:
        parser.error("--games: expected --virtual, the threads that play against one")
    if arguments.problems is not None and not arguments.problems.is_dir():
        parser.error(f"--problems {arguments.problems}: expected a folder")
    bench = EngineBench(weights, arguments.problems, arguments.repeat)
    bench.plan = Plan(
        arguments.threads,
        arguments.virtual,
        arguments.level,
        arguments.places,
        arguments.stress,
        arguments.positions,
        arguments.games,
        arguments.nodes,
        arguments.seed,
        arguments.turn,
    )
    try:
        bench.peer = Peer(arguments.peer) if arguments.peer else None
        return _run(bench, chosen, as_json=arguments.json)
    except (PeerError, BadInput) as error:
        logs.message(str(error), level="error")
        return 1


def _run(bench: EngineBench, chosen: Sequence[str], *, as_json: bool) -> int:
    """Take the measurements and print them; returns the exit status. Raises PeerError and BadInput."""
    report: dict[str, Any] = {"machine": _machine(), "rows": []}
    if not as_json:
        print(" ".join(f"{key}: {value}" for key, value in report["machine"].items()))
        print(f"{'measurement':44} {'seconds':>9} {'count':>14} {'M/s':>8}")
    for what in chosen:
        if what == "signature":
            nodes, scores = bench.signature()
            report["signature"] = {"nodes": nodes, "scores": scores}
            if not as_json:
                print(f"signature {nodes}")
            continue
        for row in getattr(bench, "evaluation" if what == "eval" else what)():
            report["rows"].append(row._asdict())
            if not as_json:
                speed = f"{row.nodes / row.seconds / 1e6:8.1f}" if row.nodes and row.seconds else ""
                seconds = f"{row.seconds:9.4f}" if row.seconds else ""
                print(f"{row.name:44} {seconds:>9} {row.nodes or '':>14} {speed:>8} {row.note}", flush=True)
    if as_json:
        print(json.dumps(report))
    return 0
