"""`desdaemon train`: the stages of training, each a sub-command; see docs/training.md for how they fit together."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.selectivity import SELECTIVITIES, Selectivity
from desdaemon.protocol.system import logs

from .compiled import cores
from .store import TrainingError

if TYPE_CHECKING:
    from desdaemon.engine.training.labelling.chunks import ScoreChunks

PROGRAM = "desdaemon train"

Stage = Callable[[argparse.Namespace, str], None]

RemoteScores = Callable[[str, str, Path, int], "ScoreChunks"]
"""What scores chunks by a cluster: of the scheduler's address, the folder of certificates or "", the weights, and the
logarithm (base 2) of the entries of a search's table. Raises `BadInput` where there is no scheduler."""


def _plies(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    try:
        low, high = int(first), int(last if dash else first)
    except ValueError:
        low, high = 1, 0
    if not 0 <= low <= high <= 60:
        raise argparse.ArgumentTypeError(f"expected a range of plies like 20-43 within 0-60, found {text!r}")
    return low, high


def _depth(text: str) -> int:
    from desdaemon.engine.training.fitting.dataset import EXACT

    if text == "exact":
        return EXACT
    if text.isdigit() and 1 <= int(text) <= 60:
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a depth of 1 to 60 plies or 'exact', found {text!r}")


def _calibrate(options: argparse.Namespace, command: str) -> None:
    from .labelling import calibrate

    calibrate.run(
        options.positions,
        options.labels,
        options.out,
        weights=options.weights,
        first=options.plies[0],
        last=options.plies[1],
        count=options.count,
        depths=options.depth,
        selectivity=Selectivity(options.selectivity),
        seed=options.seed,
        workers=options.workers,
        seconds=options.seconds,
        command=command,
    )


def _curve(text: str) -> float:
    from desdaemon.engine.evaluation.weights_metadata import GREATEST_CURVE, LEAST_CURVE, of_record

    try:
        curve = float(text)
        return of_record({"curve": curve}).curve or 0.0 if curve else 0.0
    except ValueError:
        expected = f"{LEAST_CURVE} to {GREATEST_CURVE} discs, or 0 for the straight line"
        raise argparse.ArgumentTypeError(f"expected {expected}, found {text!r}") from None


def _games(options: argparse.Namespace, _command: str) -> None:
    from .games import game_files as files

    files.run(options.sources, options.out, sample=options.sample, seed=options.seed)


def _make_games(options: argparse.Namespace, _command: str) -> None:
    from .games import game_files as files

    files.make(options.count, options.out, opening=options.random, noise=options.noise, seed=options.seed)


def _self_play(options: argparse.Namespace, _command: str) -> None:
    from .games import self_play

    self_play.run(
        options.out,
        count=options.count,
        weights=options.weights,
        depth=options.depth,
        first_random=options.random[0],
        last_random=options.random[1],
        seed=options.seed,
        workers=options.workers,
        seconds=options.seconds,
    )


def _positions(options: argparse.Namespace, _command: str) -> None:
    from .labelling import positions

    positions.run(
        options.games,
        options.out,
        count=options.perturbed,
        opening_plies=options.openings,
        seed=options.seed,
        truth_files=options.truth,
        except_files=options.except_,
        good=options.plausible,
        weights_file=options.weights,
        first=options.plies[0],
        last=options.plies[1],
    )


def _label(options: argparse.Namespace, command: str) -> None:
    from .labelling import labels

    if options.remote and options.cluster:
        score = options.remote(options.cluster, options.cluster_tls, options.weights, labels.HASH_BITS)
    else:
        score = labels.score_here(options.weights, options.workers, labels.HASH_BITS)
    labels.run(
        options.positions,
        options.out,
        score=score,
        first=options.plies[0],
        last=options.plies[1],
        count=options.rows,
        depth=options.depth,
        selectivity=Selectivity(options.selectivity),
        seed=options.seed,
        seconds=options.seconds,
        skip=options.skip,
        command=command,
    )


def _adjudicate(options: argparse.Namespace, _command: str) -> None:
    from .labelling import labels

    labels.adjudicate(options.games, options.positions, options.labels, options.out)


def _fitted_curve(options: argparse.Namespace) -> float | None:
    """The curve of the options; else that of the weights to start from, and None for the patterns of eval.dat."""
    from desdaemon.engine.evaluation.weights_file import read_packed
    from desdaemon.engine.evaluation.weights_metadata import of_record

    if options.curve is not None:
        return options.curve or None
    if options.start is None or options.patterns == "edax":
        return None
    return of_record(read_packed(options.start)[1]).curve


def _fit(options: argparse.Namespace, command: str) -> None:
    from desdaemon.engine.training.fitting.dataset import Mixture

    from .fitting import fit, ridge

    fit.run(
        options.positions,
        options.labels,
        options.out,
        name=options.name,
        mixture=Mixture(result=options.result_weight, human=options.human_weight),
        options=ridge.RidgeOptions(
            ridge=options.ridge,
            tie=options.tie,
            sweeps=options.sweeps,
            iterations=options.iterations,
            threads=options.workers,
            wide=options.patterns == "all",
            curve=_fitted_curve(options),
        ),
        start=options.start,
        calibrated=options.calibration,
        first=options.plies[0],
        last=options.plies[1],
        truth_files=options.truth,
        command=command,
    )


def _bands(text: str) -> tuple[int, ...]:
    from desdaemon.engine.evaluation.network import reason_against

    try:
        bands = tuple(int(part) for part in text.split(","))
        reason = reason_against(bands, ())
    except ValueError:
        reason = f"expected the first plies of bands like 0,18,31,47, found {text!r}"
    if reason:
        raise argparse.ArgumentTypeError(reason)
    return bands


def _fit_network(options: argparse.Namespace, command: str) -> None:
    from desdaemon.engine.training.fitting.dataset import Mixture

    from .fitting import network

    if not options.curve:
        raise TrainingError("a network needs a score curve")
    network.run(
        options.positions,
        options.labels,
        options.out,
        name=options.name,
        mixture=Mixture(result=options.result_weight, human=options.human_weight),
        options=network.NetworkOptions(
            bands=options.bands,
            passes=options.passes,
            rate=options.rate,
            curve=options.curve,
            threads=options.workers,
            seed=options.seed,
        ),
        start=options.start,
        first=options.plies[0],
        last=options.plies[1],
        calibrated=options.calibration,
        truth_files=options.truth,
        command=command,
    )


def _validate(options: argparse.Namespace, _command: str) -> None:
    from . import validate

    validate.run(options.weights, options.truth)
    validate.run_searches(options.weights, options.positions, count=options.count, high=options.level)


def _match(options: argparse.Namespace, _command: str) -> None:
    from desdaemon.engine.limits import Limits

    from . import match

    # A search that reaches the end in its time goes on to the exact score, as in a game by the clock.
    limits = Limits(options.depth or 60, Selectivity.FULL, 0, options.time)
    plan = match.PairsPlan(options.pairs, limits, options.random, options.seed, options.workers, options.balanced)
    match.run(options.first, options.second, plan)


def _probcut(options: argparse.Namespace, command: str) -> None:
    from .probcut import fit as probcut

    probcut.run(
        options.positions,
        options.weights,
        options.out,
        count=options.count,
        seed=options.seed,
        workers=options.workers,
        command=command,
    )


def _install(options: argparse.Namespace, _command: str) -> None:
    from .probcut import fit as probcut

    probcut.install(options.model, options.weights, options.out, small=options.small)


def _all(options: argparse.Namespace, command: str) -> None:
    from . import recipe

    recipe.run(
        options.sources,
        options.out,
        plan="quick" if options.quick else "full",
        seed=options.seed,
        workers=options.workers,
        truth=options.truth,
        command=command,
    )


def _export(options: argparse.Namespace, _command: str) -> None:
    from desdaemon.engine.evaluation.weights_file import read_packed, write_edax

    write_edax(options.out, *read_packed(options.weights))


def _import(options: argparse.Namespace, command: str) -> None:
    from desdaemon.engine.evaluation.weights_file import read_packed, write_shipped
    from desdaemon.engine.evaluation.weights_metadata import of_record, to_record

    packed, record = read_packed(options.weights)
    entries = {"name": options.name, "command": command, "imported": record}
    write_shipped(options.out, packed, {**to_record(of_record(record)), **entries})


def command_line(*, cluster: bool = False) -> Parser:
    """The command line."""
    parser = Parser(prog=PROGRAM, description=__doc__)
    stages = parser.add_subparsers(required=True, metavar="STAGE")

    def stage(name: str, run: Stage, about: str) -> argparse.ArgumentParser:
        made = stages.add_parser(name, help=about, description=about)
        made.set_defaults(run=run)
        return made

    def common(made: argparse.ArgumentParser, *, workers: bool = False, truth: bool = False) -> None:
        if workers:
            made.add_argument("--workers", type=int, default=cores(), help="processes or threads (all cores)")
        if truth:
            made.add_argument("--truth", type=Path, nargs="*", default=[], help="files of positions with exact scores")

    made = stage("games", _games, "read WTHOR databases (.wtb, or folders of them) and files of move lines")
    made.add_argument("sources", type=Path, nargs="+")
    made.add_argument("--out", type=Path, required=True)
    made.add_argument("--sample", type=int, default=0, help="keep so many games, chosen at random (0: all)")
    made.add_argument("--seed", type=int, default=1)

    made = stage("make-games", _make_games, "games of a simple player, for trying the stages without game files")
    made.add_argument("count", type=int)
    made.add_argument("--out", type=Path, required=True)
    made.add_argument("--random", type=int, default=8, help="random moves at the start of each game")
    made.add_argument("--noise", type=int, default=4, help="how much chance there is in the later moves")
    made.add_argument("--seed", type=int, default=1)

    made = stage("self-play", _self_play, "games of the engine from random openings; goes on where it was ended")
    made.add_argument("count", type=int)
    made.add_argument("--out", type=Path, required=True)
    made.add_argument("--weights", type=Path, required=True)
    made.add_argument("--depth", type=int, default=4, help="plies")
    made.add_argument("--random", type=_plies, default=(4, 14), metavar="FIRST-LAST", help="random moves at the start")
    made.add_argument("--seconds", type=float, default=0.0, help="stop after so long (0: never)")
    made.add_argument("--seed", type=int, default=1)
    common(made, workers=True)

    made = stage("positions", _positions, "games to positions: of the games, perturbed ones, all openings")
    made.add_argument("games", type=Path)
    made.add_argument("--out", type=Path, required=True)
    made.add_argument("--perturbed", type=int, default=100_000, help="perturbed positions a ply")
    made.add_argument("--openings", type=int, default=7, help="all positions up to this ply (-1: none)")
    made.add_argument(
        "--plausible", type=int, default=0, help="plausible positions a ply, by the judgement of --weights"
    )
    made.add_argument("--weights", type=Path, help="of the plausible positions")
    made.add_argument("--plies", type=_plies, default=(0, 60), metavar="FIRST-LAST")
    made.add_argument(
        "--except", dest="except_", type=Path, nargs="*", default=[], help="leave out the positions of these files"
    )
    made.add_argument("--seed", type=int, default=1)
    common(made, truth=True)

    made = stage("label", _label, "score positions by the engine's search; goes on where it was ended")
    made.add_argument("positions", type=Path)
    made.add_argument("--out", type=Path, required=True)
    made.add_argument("--weights", type=Path, required=True)
    made.add_argument("--plies", type=_plies, required=True, metavar="FIRST-LAST")
    made.add_argument("--rows", type=int, default=10**9, help="at most so many positions of each ply")
    made.add_argument("--depth", type=_depth, required=True, help="plies, or 'exact'")
    made.add_argument(
        "--selectivity", type=int, default=100, choices=SELECTIVITIES, help="percent; less than 100 allows ProbCut"
    )
    made.add_argument("--seconds", type=float, default=0.0, help="stop after so long (0: never)")
    made.add_argument("--skip", type=Path, nargs="*", default=[], help="leave out rows labelled in these files")
    made.add_argument("--seed", type=int, default=1)
    if cluster:
        made.add_argument("--cluster", metavar="ADDRESS", help="search on this scheduler's workers (docs/cluster.md)")
        made.add_argument("--cluster-tls", default="", metavar="FOLDER", help="keys of the cluster")
    common(made, workers=True)

    made = stage("adjudicate", _adjudicate, "give games the exact score of their first position that has one")
    made.add_argument("games", type=Path)
    made.add_argument("--positions", type=Path, required=True)
    made.add_argument("--labels", type=Path, nargs="+", required=True)
    made.add_argument("--out", type=Path, required=True)

    made = stage("calibrate", _calibrate, "compare search labels with exact scores, for fit --calibration")
    made.add_argument("positions", type=Path, nargs="+")
    made.add_argument("--labels", type=Path, nargs="+", required=True)
    made.add_argument("--out", type=Path, required=True)
    made.add_argument("--weights", type=Path, required=True)
    made.add_argument("--plies", type=_plies, required=True, metavar="FIRST-LAST")
    made.add_argument("--count", type=int, default=2000, help="at most so many positions of each ply")
    made.add_argument(
        "--depth",
        type=_depth,
        nargs="+",
        default=[255],
        help="of the scores compared with: 'exact', or plies (the mean)",
    )
    made.add_argument("--selectivity", type=int, default=100, choices=SELECTIVITIES, help="percent, of these scores")
    made.add_argument("--seconds", type=float, default=0.0, help="stop searching after so long (0: never)")
    made.add_argument("--seed", type=int, default=1)
    common(made, workers=True)

    made = stage("fit", _fit, "positions and labels to weights")
    made.add_argument("positions", type=Path, nargs="+")
    made.add_argument("--labels", type=Path, nargs="*", default=[])
    made.add_argument("--out", type=Path, required=True)
    made.add_argument("--name", required=True, help="kept in the weights' record")
    made.add_argument("--start", type=Path, help="begin from these weights; plies outside --plies are kept")
    made.add_argument("--plies", type=_plies, default=(0, 60), metavar="FIRST-LAST")
    made.add_argument(
        "--calibration", type=Path, nargs="*", default=[], help="correct search labels by files of stage `calibrate`"
    )
    made.add_argument("--patterns", choices=("all", "edax"), default="all", help="edax: those that eval.dat has only")
    made.add_argument(
        "--curve",
        type=_curve,
        metavar="DISCS",
        help="score curve; 0: the straight line (default: that of --start; for --patterns edax 0)",
    )
    made.add_argument("--result-weight", type=float, default=0.15, help="of a game's score against a label's 1")
    made.add_argument("--human-weight", type=float, default=1.0, help="factor of positions of games")
    made.add_argument("--ridge", type=float, default=1.0)
    made.add_argument("--tie", type=float, default=200.0)
    made.add_argument("--sweeps", type=int, default=2)
    made.add_argument("--iterations", type=int, default=25)
    common(made, workers=True, truth=True)

    made = stage("fit-network", _fit_network, "positions and labels to a network")
    made.add_argument("positions", type=Path, nargs="+")
    made.add_argument("--labels", type=Path, nargs="+", required=True)
    made.add_argument("--out", type=Path, required=True)
    made.add_argument("--name", required=True, help="kept in the weights' record")
    made.add_argument("--bands", type=_bands, default=(0, 24, 38), metavar="PLY,...", help="first ply of each band")
    made.add_argument("--start", type=Path, help="network from which bands that do not lie within --plies are kept")
    made.add_argument("--plies", type=_plies, default=(0, 60), metavar="FIRST-LAST")
    made.add_argument(
        "--calibration", type=Path, nargs="*", default=[], help="correct search labels by files of stage `calibrate`"
    )
    made.add_argument("--curve", type=_curve, default=80.0, metavar="DISCS", help="score curve")
    made.add_argument("--result-weight", type=float, default=0.15, help="of a game's score against a label's 1")
    made.add_argument("--human-weight", type=float, default=1.0, help="factor of positions of games")
    made.add_argument("--passes", type=int, default=8, help="how often every position is seen")
    made.add_argument("--rate", type=float, default=0.05, help="size of the first steps")
    made.add_argument("--seed", type=int, default=1)
    common(made, workers=True, truth=True)

    made = stage("validate", _validate, "errors against exact scores; openings at level 16")
    made.add_argument("weights", type=Path)
    made.add_argument("--positions", type=Path, help="search also held-out positions of this file")
    made.add_argument("--count", type=int, default=24, help="how many of them")
    made.add_argument("--level", type=int, default=21, help="compare level 12 with this level")
    common(made, truth=True)

    made = stage("match", _match, "play two weights files against each other, every opening with both colours")
    made.add_argument("first", type=Path)
    made.add_argument("second", type=Path)
    made.add_argument("--pairs", type=int, default=200, help="pairs of games")
    limit = made.add_mutually_exclusive_group(required=True)
    limit.add_argument("--time", type=int, default=0, help="milliseconds a move")
    limit.add_argument("--depth", type=int, default=0, help="plies")
    made.add_argument("--random", type=int, default=8, help="random moves that make an opening")
    made.add_argument(
        "--balanced", type=float, metavar="DISCS", help="only openings within so many discs of even, by search"
    )
    made.add_argument("--seed", type=int, default=1)
    common(made, workers=True)

    made = stage("probcut", _probcut, "fit and check ProbCut's error model; goes on where it was ended")
    made.add_argument("positions", type=Path)
    made.add_argument("--weights", type=Path, required=True)
    made.add_argument("--out", type=Path, required=True)
    made.add_argument("--count", type=int, default=2000, help="searches whose nodes are measured")
    made.add_argument("--seed", type=int, default=1)
    common(made, workers=True)

    made = stage("install", _install, "put ProbCut's error model into a weights file")
    made.add_argument("model", type=Path, help="file of stage probcut")
    made.add_argument("weights", type=Path)
    made.add_argument("--out", type=Path, required=True)
    made.add_argument("--small", action="store_true", help="a file a third smaller, which takes half a minute")

    made = stage("all", _all, "every stage, from game files to weights; goes on where it was ended")
    made.add_argument("sources", type=Path, nargs="+", help="game files, folders, or one file of stage `games`")
    made.add_argument("--out", type=Path, required=True, help="folder of all files made")
    made.add_argument("--quick", action="store_true", help="a sample: minutes instead of hours")
    made.add_argument("--seed", type=int, default=1)
    common(made, workers=True, truth=True)

    made = stage("export", _export, "write weights in the layout of Edax's eval.dat")
    made.add_argument("weights", type=Path)
    made.add_argument("out", type=Path)

    made = stage("import", _import, "write an eval.dat in the shipped format")
    made.add_argument("weights", type=Path)
    made.add_argument("out", type=Path)
    made.add_argument("--name", default="imported")
    return parser


def main(argv: list[str], remote: RemoteScores | None = None) -> int:
    """Run one stage; 0 when it is done, 1 when its input can't be used, 2 for a bad command line.

    ``remote`` comes from the caller because the cluster belongs to a package above this one; without it stage `label`
    has no option for one.
    """
    from desdaemon.engine.evaluation.weights_file import WeightsError

    try:
        options = command_line(cluster=remote is not None).parse_args(argv)
    except SystemExit as end:
        return int(end.code or 0)
    options.remote = remote
    command = " ".join([PROGRAM, *(shlex.quote(argument) for argument in argv)])
    try:
        options.run(options, command)
    except (TrainingError, WeightsError, BadInput, OSError) as error:
        logs.message(str(error), PROGRAM, level="error")
        return 1
    return 0
