"""`desdaemon train`: the stages of training, each a sub-command (docs/training.md)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from desdaemon.protocol.command_line import Parser, real, whole
from desdaemon.protocol.commands.options import whole_number
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.bases import expect_other_files
from desdaemon.protocol.othello.selectivity import SELECTIVITIES, Selectivity
from desdaemon.protocol.system import logs, platform
from desdaemon.protocol.system.processors import processors

from .store import TrainingError

if TYPE_CHECKING:
    from desdaemon.engine.training.fitting.dataset import FitTask
    from desdaemon.engine.training.labelling.chunks import ScoreChunks

PROGRAM = "desdaemon train"
_MOST = 10**9


class StageOption(NamedTuple):
    """An argument of a stage: its name and the settings for `argparse`."""

    name: str
    settings: dict[str, Any]


class Stage(NamedTuple):
    """A sub-command of `desdaemon train`; ``run`` gets the parsed options and the command line, which it writes into
    the record of its output.
    """

    name: str
    run: Callable[[argparse.Namespace, str], None]
    about: str
    options: tuple[StageOption, ...]


RemoteScores = Callable[[str, str, Path, int], "ScoreChunks"]
"""Returns a function that scores chunks on a cluster; raises `BadInput` if there is no scheduler at the address.

The arguments are the scheduler's address, the folder of certificates or "", the file of weights, and the logarithm
(base 2) of the number of entries of a search's table.
"""


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
    depth = whole_number(text)
    if depth is not None and 1 <= depth <= 60:
        return depth
    raise argparse.ArgumentTypeError(f"expected a depth of 1 to 60 plies or 'exact', found {text!r}")


def _curve(text: str) -> float:
    from desdaemon.engine.evaluation.weights_metadata import GREATEST_CURVE, LEAST_CURVE, of_record

    try:
        curve = float(text)
        return of_record({"curve": curve}).curve or 0.0 if curve else 0.0
    except ValueError:
        expected = f"{LEAST_CURVE} to {GREATEST_CURVE} discs, or 0 for the straight line"
        raise argparse.ArgumentTypeError(f"expected {expected}, found {text!r}") from None


def _score(options: argparse.Namespace) -> ScoreChunks:
    """Return what searches labels: the workers of a cluster if the options name one, otherwise threads here."""
    from .labelling import labels

    if options.remote and options.cluster:
        remote: ScoreChunks = options.remote(options.cluster, options.cluster_tls, options.weights, labels.HASH_BITS)
        return remote
    return labels.score_here(options.weights, options.workers, labels.HASH_BITS)


def _campaign(options: argparse.Namespace, command: str) -> None:
    from .labelling import campaign

    campaign.run(
        options.folder,
        options.sources,
        weights=options.weights,
        score=_score(options),
        first=options.first,
        shards=options.shards,
        perturbed=options.perturbed,
        self_play=options.self_play,
        truth=options.truth,
        command=command,
    )


def _label(options: argparse.Namespace, command: str) -> None:
    from .labelling import labels

    labels.run(
        options.positions,
        options.out,
        score=_score(options),
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


def _fitted_curve(options: argparse.Namespace) -> float | None:
    """Return the curve to fit with, in discs; None for the straight line. The option --curve decides if it is given.
    Without it the weights in --start give the curve; None without --start, or with --patterns edax.
    """
    from desdaemon.engine.evaluation.weights_file import read_packed
    from desdaemon.engine.evaluation.weights_metadata import of_record

    if options.curve is not None:
        return options.curve or None
    if options.start is None or options.patterns == "edax":
        return None
    return of_record(read_packed(options.start)[1]).curve


def _fit_task(options: argparse.Namespace, command: str) -> FitTask:
    """Return the task for the options that the stages `fit` and `fit-network` share."""
    from .fitting.dataset import FitTask, Mixture

    return FitTask(
        options.positions,
        options.labels,
        options.out,
        options.name,
        Mixture(result=options.result_weight, human=options.human_weight),
        options.start,
        options.calibration,
        options.plies[0],
        options.plies[1],
        options.truth,
        command,
    )


def _fit(options: argparse.Namespace, command: str) -> None:
    from .fitting import fit, ridge

    fit.run(
        _fit_task(options, command),
        ridge.RidgeOptions(
            ridge=options.ridge,
            tie=options.tie,
            sweeps=options.sweeps,
            iterations=options.iterations,
            threads=options.workers,
            wide=options.patterns == "all",
            curve=_fitted_curve(options),
        ),
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
    from .fitting import network

    if not options.curve:
        raise TrainingError("a network needs a score curve")
    network.run(
        _fit_task(options, command),
        network.NetworkOptions(
            bands=options.bands,
            passes=options.passes,
            curve=options.curve,
            threads=options.workers,
            seed=options.seed,
            going_on=options.go_on,
        ),
    )


def _validate(options: argparse.Namespace, _command: str) -> None:
    from . import validate

    validate.run(options.weights, options.truth)
    validate.run_searches(options.weights, options.positions, count=options.count, high=options.level)


def _match(options: argparse.Namespace, _command: str) -> None:
    from desdaemon.engine.limits import Limits

    from . import match

    # With a time limit a search may reach the end, as in a game by the clock.
    limits = Limits(options.depth or 60, Selectivity.FULL, 0, options.time)
    plan = match.PairsPlan(options.pairs, limits, options.random, options.seed, options.workers, options.balanced)
    match.run(options.first, options.second, plan)


def _export(options: argparse.Namespace, _command: str) -> None:
    from desdaemon.engine.evaluation.weights_file import read_packed, write_edax

    write_edax(options.out, *read_packed(options.weights))


def _import(options: argparse.Namespace, command: str) -> None:
    from desdaemon.engine.evaluation.weights_file import read_packed, write_shipped
    from desdaemon.engine.evaluation.weights_metadata import of_record, to_record

    packed, record = read_packed(options.weights)
    entries = {"name": options.name, "command": command, "imported": record}
    write_shipped(options.out, packed, {**to_record(of_record(record)), **entries})


def _from(module: str, name: str = "run") -> Callable[[argparse.Namespace, str], None]:
    """Return what runs a stage by a function of a module, relative to this package, whose parameters are named as the
    options are; ``command`` is the command line.
    """

    def run(options: argparse.Namespace, command: str) -> None:
        function = getattr(import_module(f".{module}", __package__), name)
        given = {**vars(options), "command": command}
        function(**{parameter: given[parameter] for parameter in signature(function).parameters})

    return run


def _option(name: str, type: Any = Path, **settings: Any) -> StageOption:
    return StageOption(name, settings if "action" in settings else {"type": type, **settings})


_OUT = _option("--out", required=True)
_SEED = _option("--seed", whole(0, 10**9), default=1)
_SECONDS = _option("--seconds", real(0, 10**9), default=0.0, help="stop after so long (0: never)")
_WORKERS = _option("--workers", whole(1, 1024), default=processors(), help="processes or threads (all cores)")
_TRUTH = _option("--truth", nargs="*", default=[], help="files of positions with exact scores")
_WEIGHTS = _option("--weights", required=True)
_SMALL = _option("--small", action="store_true", help="a file a third smaller, which takes half a minute")
_PLIES = _option("--plies", _plies, required=True, metavar="FIRST-LAST")
_ALL_PLIES = _option("--plies", _plies, default=(0, 60), metavar="FIRST-LAST")
_POSITIONS = _option("positions", nargs="+")
_LABELS = _option("--labels", nargs="+", required=True)
_NAME = _option("--name", str, required=True, help="kept in the weights' record")
_FITTED = (
    _NAME,
    _ALL_PLIES,
    _option("--calibration", nargs="*", default=[], help="correct search labels by files of stage `calibrate`"),
    _option("--result-weight", real(0, 1000), default=0.15, help="of a game's score against a label's 1"),
    _option("--human-weight", real(0, 1000), default=1.0, help="factor of positions of games"),
)

STAGES = (
    Stage(
        "games",
        _from("games.game_files"),
        "read WTHOR databases (.wtb, or folders of them) and files of move lines",
        (_option("sources", nargs="+"), _OUT),
    ),
    Stage(
        "self-play",
        _from("games.self_play"),
        "games of an evaluation against itself, from random openings",
        (
            _WEIGHTS,
            _OUT,
            _option("--games", whole(1, _MOST), default=200_000, help="how many are begun; half of them stay even"),
            _option(
                "--noise", real(0, 64), default=1.5, metavar="DISCS", help="of the scores by which moves are chosen"
            ),
            _SEED,
        ),
    ),
    Stage(
        "positions",
        _from("labelling.positions"),
        "games to positions: of the games, perturbed ones, all openings",
        (
            _option("games"),
            _OUT,
            _option("--perturbed", whole(0, _MOST), default=100_000, help="perturbed positions a ply"),
            _option("--openings", whole(-1, 12), default=7, help="all positions up to this ply (-1: none)"),
            _ALL_PLIES,
            _option("--except", dest="except_", nargs="*", default=[], help="leave out the positions of these files"),
            _SEED,
            _TRUTH,
        ),
    ),
    Stage(
        "label",
        _label,
        "score positions by the engine's search; goes on where it was ended",
        (
            _option("positions"),
            _OUT,
            _WEIGHTS,
            _PLIES,
            _option("--rows", whole(1, _MOST), default=_MOST, help="most positions of each ply"),
            _option("--depth", _depth, required=True, help="plies, or 'exact'"),
            _option(
                "--selectivity", int, default=100, choices=SELECTIVITIES, help="percent; less than 100 allows ProbCut"
            ),
            _SECONDS,
            _option("--skip", nargs="*", default=[], help="leave out rows labelled in these files"),
            _SEED,
            _WORKERS,
        ),
    ),
    Stage(
        "campaign",
        _campaign,
        "positions and labels, shard by shard, at idle priority; goes on where it was ended",
        (
            _option("folder"),
            _option("sources", nargs="*", help="what stage games reads; for a new folder"),
            _WEIGHTS,
            _option("--first", whole(1, 9999), default=1, help="number of the first shard, the seed of its positions"),
            _option("--shards", whole(0, 9999), default=0, help="how many shards (0: without end)"),
            _option("--perturbed", whole(0, _MOST), default=250_000, help="perturbed positions a ply in a shard"),
            _option("--self-play", whole(1, _MOST), default=200_000, help="games against itself for each even shard"),
            _WORKERS,
            _TRUTH,
        ),
    ),
    Stage(
        "adjudicate",
        _from("labelling.labels", "adjudicate"),
        "give games the exact score of their first position that has one",
        (_option("games"), _option("--positions", required=True), _LABELS, _OUT),
    ),
    Stage(
        "calibrate",
        _from("labelling.calibrate"),
        "compare search labels with exact scores, for fit --calibration",
        (
            _POSITIONS,
            _LABELS,
            _OUT,
            _WEIGHTS,
            _PLIES,
            _option("--count", whole(1, _MOST), default=2000, help="most positions of each ply"),
            _option(
                "--depth",
                _depth,
                nargs="+",
                default=[255],
                help="of the scores compared with: 'exact', or plies (the mean)",
            ),
            _option("--selectivity", int, default=100, choices=SELECTIVITIES, help="percent, of these scores"),
            _SECONDS,
            _SEED,
            _WORKERS,
        ),
    ),
    Stage(
        "fit",
        _fit,
        "positions and labels to weights",
        (
            _POSITIONS,
            _option("--labels", nargs="*", default=[]),
            _OUT,
            *_FITTED,
            _option("--start", help="begin from these weights; plies outside --plies are kept"),
            _option("--patterns", str, choices=("all", "edax"), default="all", help="edax: only those of eval.dat"),
            _option(
                "--curve",
                _curve,
                metavar="DISCS",
                help="score curve; 0: the straight line (default: that of --start; for --patterns edax 0)",
            ),
            _option("--ridge", real(0, 10**9), default=1.0),
            _option("--tie", real(0, 10**9), default=200.0),
            _option("--sweeps", whole(1, 1000), default=2),
            _option("--iterations", whole(1, 10**5), default=25),
            _WORKERS,
            _TRUTH,
        ),
    ),
    Stage(
        "fit-network",
        _fit_network,
        "positions and labels to a network",
        (
            _POSITIONS,
            _LABELS,
            _OUT,
            *_FITTED,
            _option("--bands", _bands, default=(0, 24, 38), metavar="PLY,...", help="first ply of each band"),
            _option("--start", help="network from which bands that do not lie within --plies are kept"),
            _option("--go-on", action="store_true", help="fitted bands begin with the numbers of --start"),
            _option("--curve", _curve, default=80.0, metavar="DISCS", help="score curve"),
            _option("--passes", whole(1, 10**4), default=8, help="how often every position is seen"),
            _SEED,
            _WORKERS,
            _TRUTH,
        ),
    ),
    Stage(
        "validate",
        _validate,
        "errors against exact scores; openings at level 16",
        (
            _option("weights"),
            _option("--positions", help="search also held-out positions of this file"),
            _option("--count", whole(1, _MOST), default=24, help="how many of them"),
            _option("--level", whole(0, 60), default=21, help="compare level 12 with this level"),
            _TRUTH,
        ),
    ),
    Stage(
        "match",
        _match,
        "play two weights files against each other, every opening with both colours",
        (
            _option("first"),
            _option("second"),
            _option("--pairs", whole(1, 10**6), default=200, help="pairs of games"),
            _option("--random", whole(0, 60), default=8, help="random moves that make an opening"),
            _option(
                "--balanced",
                real(0, 64),
                metavar="DISCS",
                help="only openings within this many discs of even, by search",
            ),
            _SEED,
            _WORKERS,
        ),
    ),
    Stage(
        "probcut",
        _from("probcut.fit"),
        "fit and check ProbCut's error model; goes on where it was ended",
        (
            _option("positions"),
            _WEIGHTS,
            _OUT,
            _option("--count", whole(1, _MOST), default=2000, help="searches whose nodes are measured"),
            _SEED,
            _WORKERS,
        ),
    ),
    Stage(
        "install",
        _from("probcut.fit", "install"),
        "put ProbCut's error model into a weights file",
        (
            _option("model", help="file of stage probcut"),
            _option("weights"),
            _OUT,
            _SMALL,
        ),
    ),
    Stage(
        "tempo",
        _from("tempo"),
        "move a network's constants until searches of odd and even depths agree",
        (
            _option("positions"),
            _WEIGHTS,
            _OUT,
            _option("--plies", _plies, default=(4, 49), metavar="FIRST-LAST"),
            _option("--count", whole(1, _MOST), default=200, help="most positions of each ply in a round"),
            _option("--rounds", whole(1, 100), default=2),
            _NAME,
            _SEED,
            _WORKERS,
            _SMALL,
        ),
    ),
    Stage(
        "policy",
        _from(".people.fitting.stage"),
        "WTHOR databases to a policy of people's moves by rating; prints how many of the last two years it predicts",
        (
            _option("sources", nargs="+"),
            _OUT,
            _option("--games", whole(1, _MOST), default=200_000, help="most games whose moves are learned"),
            _option(
                "--searched",
                whole(0, _MOST),
                default=200_000,
                help="positions of recent games whose moves are searched",
            ),
            _option("--held", whole(1, _MOST), default=10_000, help="most held-out positions"),
            _SEED,
        ),
    ),
    Stage("export", _export, "write weights in the layout of Edax's eval.dat", (_option("weights"), _option("out"))),
    Stage(
        "import",
        _import,
        "write an eval.dat in the shipped format",
        (_option("weights"), _option("out"), _option("--name", str, default="imported")),
    ),
)


def command_line(*, cluster: bool = False) -> Parser:
    parser = Parser(prog=PROGRAM, description="Make evaluation weights, stage by stage; see docs/training.md.")
    parsers = parser.add_subparsers(required=True, metavar="STAGE")
    for stage in STAGES:
        made = parsers.add_parser(stage.name, help=stage.about, description=stage.about)
        made.set_defaults(run=stage.run)
        for option in stage.options:
            made.add_argument(option.name, **option.settings)
        if stage.name == "match":
            limit = made.add_mutually_exclusive_group(required=True)
            limit.add_argument("--time", type=whole(1, 10**7), default=0, help="milliseconds a move")
            limit.add_argument("--depth", type=whole(1, 60), default=0, help="plies")
        if stage.name in ("label", "campaign") and cluster:
            made.add_argument(
                "--cluster", metavar="ADDRESS", help="search on this scheduler's workers (docs/cluster.md)"
            )
            made.add_argument("--cluster-tls", default="", metavar="FOLDER", help="keys of the cluster")
    return parser


def _inputs(options: argparse.Namespace) -> list[str]:
    values = [value for name, value in vars(options).items() if name != "out"]
    given = [part for value in values for part in (value if isinstance(value, list) else [value])]
    return [str(path) for path in given if isinstance(path, Path)]


def main(argv: list[str], remote: RemoteScores | None = None) -> int:
    """Run one stage. Returns the exit status: 0 if it is done, 1 if its input cannot be used, 2 for a bad command line.

    ``remote`` makes the function that scores positions on a cluster; the caller passes it, because the cluster is in a
    package above this one. Without it stage `label` has no option for a cluster.
    """
    from desdaemon.engine.evaluation.weights_file import WeightsError

    try:
        options = command_line(cluster=remote is not None).parse_args(argv)
    except SystemExit as end:
        return int(end.code or 0)
    options.remote = remote
    command = platform.command_text([*PROGRAM.split(), *argv])
    try:
        if out := getattr(options, "out", None):
            expect_other_files({"out": str(out)}, _inputs(options))
        options.run(options, command)
    except (TrainingError, WeightsError, BadInput, OSError) as error:
        logs.message(str(error), PROGRAM, level="error")
        return 1
    return 0
