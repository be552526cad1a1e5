"""Stage `policy`: from dated games of named players to weights of `desdaemon.engine.policy`, and how many moves of the
last two years, which are held out, these predict.

Programs, whose names in WTHOR have brackets, count in the ratings but teach no moves. The weights maximise the
likelihood of the people's moves by stochastic gradient ascent with a step size for each weight (Adagrad), in three
passes that begin where the one before ended: without values of moves; with static ones; with those of searches, for a
part of the positions.
"""

from __future__ import annotations

from array import array
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from desdaemon.engine import policy
from desdaemon.engine.kernels.bits import moves as legal_moves
from desdaemon.engine.limits import Limits
from desdaemon.engine.policy import CONFIGURATIONS, FIRST, LOSSES, MOST, OFTEN, PATTERNS, PHASE_PLIES, PHASES, SHARES
from desdaemon.engine.search import Searcher
from desdaemon.protocol.games import bases
from desdaemon.protocol.othello.rules import CORNERS
from desdaemon.protocol.system import logs

from .compiled import compiled
from .games.game_files import squares_of
from .labelling import boards
from .labelling.boards import Boards
from .ratings import MEAN, Ratings, rate
from .store import StageProgress, TrainingError, write_line

Floats = NDArray[np.float32]

FIRST_PLY = 4
"""First ply of the moves that are learned and predicted: the moves before it are nearly always the same."""
_KNOWN_PLIES = 24
"""Last ply of known openings."""
_HELD_YEARS = 2
_F5 = 37
_PATTERNS_RATE, _RATED_RATE = np.float32(0.1), np.float32(0.15)
_PATTERNS_SEEN, _RATED_SEEN = 10.0, 10.0
"""Initial sums of squared gradients, so that what was seen a few times moves little."""
_BANDS = (0, 1300, 1500, 1700, 1900, 2100, 9999)


class Games(NamedTuple):
    """Games by number: squares (games, 60), players' numbers, years, and Black's share of the point."""

    squares: NDArray[np.uint8]
    black: NDArray[np.int64]
    white: NDArray[np.int64]
    years: NDArray[np.int64]
    points: NDArray[np.float64]
    programs: NDArray[np.bool_]
    """For each player's number whether it is a program."""

    def part(self, chosen: Any) -> Games:
        """Return the chosen games."""
        squares, black, white, years, points = (each[chosen] for each in self[:5])
        return Games(squares, black, white, years, points, self.programs)


def read_games(sources: list[Path]) -> Games:
    """Return the games of WTHOR files, or of folders of them. A file is left out, with a message, if the names of some
    of its players are missing. Raises `TrainingError` if no file is left, `BadInput` for an unusable file.
    """
    squares, numbers, names = [], [], [""]
    for path in (
        file for source in sources for file in (sorted(source.glob("*.wtb")) if source.is_dir() else [source])
    ):
        base = bases.read_wthor(str(path), logs.message)
        games = list(base.games.values())
        listed = bases.names_beside(str(path), ".jou", logs.message)
        if not games or max(max(game.black, game.white) for game in games) >= len(listed):
            logs.message(f"{path}: left out: its players have no names")
            continue
        names = max(names, listed, key=len)
        squares.append(squares_of([game.moves for game in games]))
        numbers += [(game.black, game.white, base.header.year, np.sign(game.discs - 32) / 2 + 0.5) for game in games]
    if not squares:
        raise TrainingError(f"{', '.join(map(str, sources))}: no games of named players (*.wtb with a .JOU)")
    black, white, years, points = np.array(numbers).T
    programs = np.array(["(" in name for name in names])
    return Games(
        np.concatenate(squares),
        black.astype(np.int64),
        white.astype(np.int64),
        years.astype(np.int64),
        points,
        programs,
    )


class Choices(NamedTuple):
    """Positions with a choice, side to move first, the number of the chosen move (from 0), and the mover's rating.

    ``children`` (boards after the move), ``squares`` and ``small`` (indices of rated weights, in the order of
    `policy.GROUPS`) have an entry for each legal move: those of position k are ``starts[k]`` to ``starts[k + 1]`` - 1.
    """

    players: Boards
    opponents: Boards
    chosen: NDArray[np.int64]
    ratings: Floats
    starts: NDArray[np.int64]
    children: tuple[Boards, Boards]
    squares: NDArray[np.int64]
    small: NDArray[np.uint16]

    @property
    def above(self) -> Floats:
        """The ratings' differences from `policy.MEAN_RATING`, in units of `policy.RATING_UNIT`."""
        return (self.ratings - np.float32(policy.MEAN_RATING)) / np.float32(policy.RATING_UNIT)

    @property
    def parents(self) -> NDArray[np.int64]:
        """The number of the position of each move."""
        return np.repeat(np.arange(len(self.players)), np.diff(self.starts))


@compiled
def _legal(players: Boards, opponents: Boards, out: Boards) -> None:
    for i in range(players.shape[0]):
        out[i] = legal_moves(players[i], opponents[i])


def _moves_of(players: Boards, opponents: Boards) -> Boards:
    out = np.empty_like(players)
    _legal(players, opponents, out)
    return out


class _Positions(NamedTuple):
    players: Boards
    opponents: Boards
    squares: NDArray[np.int64]
    ratings: Floats


def _positions(games: Games, ratings: Ratings, last: int) -> _Positions:
    """Return the positions of ``games`` up to ply ``last`` in which a person chose among moves."""
    lengths = np.zeros(len(games.squares), np.uint8)
    boards.replay(games.squares, lengths, np.zeros(len(lengths), np.int8), np.zeros(len(lengths), np.bool_))
    room = 2 * len(lengths) * (last + 1 - FIRST_PLY)
    players, opponents = np.empty(room, np.uint64), np.empty(room, np.uint64)
    numbers, turns = np.empty(room, np.int32), np.empty(room, np.int8)
    count = boards.expand(games.squares, lengths, FIRST_PLY, last, players, opponents, numbers, turns)
    players, opponents, numbers, turns = players[:count], opponents[:count], numbers[:count], turns[:count]
    plies = boards.plies(players, opponents)
    mover = np.where(turns > 0, games.black[numbers], games.white[numbers])
    wanted = (plies < lengths[numbers]) & ~games.programs[mover]
    wanted &= np.bitwise_count(_moves_of(players, opponents)) > 1
    rated = ratings.of(mover[wanted], games.years[numbers[wanted]])
    played = games.squares[numbers[wanted], plies[wanted]].astype(np.int64)
    return _Positions(players[wanted], opponents[wanted], played, rated.astype(np.float32))


class Openings(NamedTuple):
    """How often people chose each move of positions that occurred at least ``OFTEN[0]`` times.

    ``pairs`` are the moves, each as 64 * position key + square, ascending, ``counts`` how often each was chosen;
    ``keys`` are the positions, ``totals`` how often each occurred.
    """

    pairs: Boards
    counts: NDArray[np.int64]
    keys: Boards
    totals: NDArray[np.int64]

    @classmethod
    def of(cls, positions: _Positions) -> Openings:
        """Return the counts of those positions that occur at least ``OFTEN[0]`` times in ``positions``."""
        keys = _keys(positions.players, positions.opponents)
        pairs, counts = np.unique(keys << np.uint64(6) | positions.squares.astype(np.uint64), return_counts=True)
        own = pairs >> np.uint64(6)
        begins = np.flatnonzero(np.append(True, own[1:] != own[:-1]))
        totals = np.add.reduceat(counts, begins)
        often = totals >= OFTEN[0]
        kept = np.repeat(often, np.diff(np.append(begins, len(own))))
        return cls(pairs[kept], counts[kept], own[begins][often], totals[often])

    def found(self, keys: Boards, squares: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how often each move was chosen, and how often its position occurred; 0 if unknown. Move k is
        ``squares[k]`` in the position with the key ``keys[k]``.
        """
        wanted = keys << np.uint64(6) | squares.astype(np.uint64)
        return _looked_up(self.pairs, self.counts, wanted), _looked_up(self.keys, self.totals, keys)

    def packed(self) -> policy.KnownOpenings:
        """Return these openings in the form that the policy looks up."""
        steps = np.searchsorted(OFTEN, self.totals, side="right") - 1
        shares = _shares(self.counts, np.repeat(self.totals, self._moves_each()))
        starts, moves, place = array("I", [0]), bytearray(), 0
        for step, number in zip(steps.tolist(), self._moves_each().tolist(), strict=True):
            moves.append(step)
            for k in range(place, place + number):
                moves += bytes([int(self.pairs[k]) & 63, int(shares[k])])
            place += number
            starts.append(len(moves))
        return policy.KnownOpenings(array("I", self.keys.tolist()), starts, bytes(moves))

    def _moves_each(self) -> NDArray[np.int64]:
        own = self.pairs >> np.uint64(6)
        return np.searchsorted(own, self.keys, side="right") - np.searchsorted(own, self.keys)


def _looked_up(names: Boards, numbers: NDArray[np.int64], wanted: Boards) -> NDArray[np.int64]:
    if not len(names):
        return np.zeros(len(wanted), np.int64)
    place = np.minimum(np.searchsorted(names, wanted), len(names) - 1)
    return np.where(names[place] == wanted, numbers[place], 0)


def _keys(players: Boards, opponents: Boards) -> Boards:
    """Return the `policy.board_key` of each board."""
    mixed = players * np.uint64(0x9E3779B97F4A7C15) + opponents * np.uint64(0xBF58476D1CE4E5B9)
    keys: Boards = ((mixed ^ mixed >> np.uint64(29)) * np.uint64(0x94D049BB133111EB)) >> np.uint64(32)
    return keys


def _shares(counts: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the `policy.share_step` of each of ``counts`` and its total."""
    steps = 1 + (1.5 * np.log2(totals / np.maximum(1, counts))).astype(np.int64)
    return np.where(counts > 0, np.minimum(SHARES - 1, steps), 0)


def choices(positions: _Positions, openings: Openings, *, own: bool) -> Choices:
    """Return ``positions`` with all that is looked up for their moves; the indices of searched values are 0.

    With ``own`` the counts of ``openings`` include these positions: each position's own choice is then subtracted.
    """
    legal = _moves_of(positions.players, positions.opponents)
    starts = np.append(0, np.cumsum(np.bitwise_count(legal).astype(np.int64)))
    children = np.empty(starts[-1], np.uint64), np.empty(starts[-1], np.uint64)
    parents = np.empty(starts[-1], np.int64)
    boards.successors(positions.players, positions.opponents, *children, parents)
    before = (positions.players | positions.opponents)[parents]
    squares = np.bitwise_count((children[0] | children[1]) - before - np.uint64(1)).astype(np.int64)
    is_chosen = squares == positions.squares[parents]
    phase = np.minimum(PHASES - 1, boards.plies(positions.players, positions.opponents) // PHASE_PLIES)[parents]
    phase = phase.astype(np.int64)
    replies = _moves_of(*children)
    turned = np.bitwise_count(children[1]).astype(np.int64) - np.bitwise_count(positions.players)[parents] - 1
    count, total = openings.found(_keys(positions.players, positions.opponents)[parents], squares)
    if own:
        count, total = count - is_chosen, total - 1
    known = SHARES * (np.searchsorted(OFTEN, total, side="right") - 1) + _shares(count, np.maximum(1, total))
    places = np.array([each.place for each in policy.square_patterns()])
    columns = [
        FIRST["square"] + 9 * phase + places[squares],
        FIRST["mobility"] + (MOST + 1) * phase + np.minimum(MOST, np.bitwise_count(replies)),
        FIRST["turned"] + (MOST + 1) * phase + np.minimum(MOST, turned),
        FIRST["corners"] + 3 * phase + np.minimum(2, np.bitwise_count(replies & np.uint64(CORNERS))),
        _losses("static", -_static(*children), starts, phase),
        np.zeros_like(phase),
        np.where(total >= OFTEN[0], FIRST["known"] + known, 0),
    ]
    chosen = np.flatnonzero(is_chosen) - starts[:-1]
    small = np.stack(columns, axis=1).astype(np.uint16)
    return Choices(positions.players, positions.opponents, chosen, positions.ratings, starts, children, squares, small)


def _static(players: Boards, opponents: Boards) -> NDArray[np.float64]:
    sums = np.empty(len(players), np.int64)
    own, other, found = (each.ctypes.data for each in (players, opponents, sums))
    Searcher(hash_bits=10).score_many(own, other, found, len(sums), Limits(0))
    return sums / 128


def _losses(
    group: str, values: NDArray[np.float64], starts: NDArray[np.int64], phase: NDArray[np.int64]
) -> NDArray[np.int64]:
    best = np.repeat(np.maximum.reduceat(values, starts[:-1]), np.diff(starts))
    steps: NDArray[np.int64] = FIRST[group] + (len(LOSSES) + 1) * phase + np.searchsorted(LOSSES, best - values)
    return steps


def search(choices: Choices, said: StageProgress) -> NDArray[np.float64]:
    """Search all moves as the policy does and return their values, in discs for the mover; write the indices of these
    values into ``small``.
    """
    found = policy.MoveValues()
    values = np.empty(len(choices.squares))
    own, other = (array("Q", each.tobytes()) for each in choices.children)
    starts = choices.starts.tolist()
    for k, (begin, end) in enumerate(pairwise(starts)):
        values[begin:end] = found.of(own[begin:end], other[begin:end])[1]
        if k % 1000 == 0:
            said.now_and_then(f"{k} of {len(starts) - 1} positions searched")
    phase = np.minimum(PHASES - 1, boards.plies(choices.players, choices.opponents) // PHASE_PLIES)
    choices.small[:, 5] = _losses("searched", values, choices.starts, phase[choices.parents].astype(np.int64))
    return values


class Model(NamedTuple):
    """Weights as in `PolicyWeights` while they are fitted; ``rated`` is (RATED, 2), ``patterns`` in units of 1."""

    rated: Floats
    patterns: Floats


class _Geometry(NamedTuple):
    places: NDArray[np.int64]
    squares: NDArray[np.int64]
    """The squares of the patterns of each square, 64, which is always empty, where a pattern has fewer than WIDTH."""


def _geometry() -> _Geometry:
    squares = np.full((64, PATTERNS, policy.WIDTH), 64, np.int64)
    for square, each in enumerate(policy.square_patterns()):
        for k, pattern in enumerate(each.patterns):
            squares[square, k, : len(pattern)] = pattern
    return _Geometry(np.array([each.place for each in policy.square_patterns()]), squares)


@compiled
def _descend(
    order: NDArray[np.int64],
    players: Boards,
    opponents: Boards,
    chosen: NDArray[np.int64],
    above: Floats,
    starts: NDArray[np.int64],
    moved: NDArray[np.int64],
    small: NDArray[np.uint16],
    geometry: _Geometry,
    model: Model,
    seen: Model,
    rate: np.float32,
    chances: Floats,
) -> None:
    """Write the chances of the moves of the positions in ``order`` to ``chances``. With a ``rate`` above 0 also fit
    ``model`` after each position, in steps divided by the root of ``seen``, the sums of squared gradients, which grow.

    ``moved`` are the moves' squares; the other arrays of positions and moves are those of `Choices`.
    """
    digits = np.zeros(65, np.int64)
    numbers = np.empty((64, PATTERNS), np.int64)
    for i in order:
        for square in range(64):
            own = (players[i] >> np.uint64(square)) & np.uint64(1)
            other = (opponents[i] >> np.uint64(square)) & np.uint64(1)
            digits[square] = np.int64(own) + 2 * np.int64(other)
        begin, end = starts[i], starts[i + 1]
        most = np.float32(-1e9)
        for c in range(begin, end):
            total = np.float32(0)
            square = moved[c]
            first = geometry.places[square] * PATTERNS * CONFIGURATIONS
            for k in range(PATTERNS):
                configuration = np.int64(0)
                for j in range(policy.WIDTH - 1, -1, -1):
                    configuration = 3 * configuration + digits[geometry.squares[square, k, j]]
                numbers[c - begin, k] = first + k * CONFIGURATIONS + configuration
                total += model.patterns[numbers[c - begin, k]]
            for k in range(small.shape[1]):
                total += model.rated[small[c, k], 0] + above[i] * model.rated[small[c, k], 1]
            chances[c] = total
            most = max(most, total)
        total = np.float32(0)
        for c in range(begin, end):
            chances[c] = np.exp(chances[c] - most)
            total += chances[c]
        for c in range(begin, end):
            chances[c] /= total
            if rate > 0:
                pull = chances[c]
                if c - begin == chosen[i]:
                    pull -= np.float32(1)
                for k in range(PATTERNS):
                    number = numbers[c - begin, k]
                    seen.patterns[number] += pull * pull
                    model.patterns[number] -= rate * _PATTERNS_RATE * pull / np.sqrt(seen.patterns[number])
                for k in range(small.shape[1]):
                    number = np.int64(small[c, k])
                    if number:
                        step = pull
                        for d in range(2):
                            seen.rated[number, d] += step * step
                            model.rated[number, d] -= rate * _RATED_RATE * step / np.sqrt(seen.rated[number, d])
                            step = pull * above[i]


class Fit:
    """Fits a model. For each weight it keeps the sum of squared gradients, which makes later steps smaller."""

    def __init__(self) -> None:
        shapes = (policy.RATED, 2), (9 * PATTERNS * CONFIGURATIONS,)
        self.model = Model(*(np.zeros(shape, np.float32) for shape in shapes))
        self._seen = Model(np.full(shapes[0], _RATED_SEEN, np.float32), np.full(shapes[1], _PATTERNS_SEEN, np.float32))
        self._geometry = _geometry()

    def run(self, choices: Choices, order: NDArray[np.int64], rate: float, known: int) -> Floats:
        """Return the chances of all moves of the positions in ``order``; a ``rate`` above 0 fits the model to them.
        ``known`` is the number of values that are used: 0 none, 1 the static ones, 2 the searched ones too.
        """
        chances = np.zeros(len(choices.squares), np.float32)
        small = choices.small if known == 2 else choices.small * _used(known)
        _descend(
            order,
            choices.players,
            choices.opponents,
            choices.chosen,
            choices.above,
            choices.starts,
            choices.squares,
            small,
            self._geometry,
            self.model,
            self._seen,
            np.float32(rate),
            chances,
        )
        return chances

    def round(self) -> array[int]:
        """Round the model's weights of patterns to units of the file, and return them in these units."""
        units = np.clip(np.rint(self.model.patterns * policy.UNIT), -127, 127)
        self.model.patterns[:] = units / policy.UNIT
        return array("b", units.astype(np.int8).tobytes())


def _used(known: int) -> NDArray[np.uint16]:
    names = list(policy.GROUPS)
    values = names.index("static"), names.index("searched")
    return np.array([k not in values[known:] for k in range(len(names))], np.uint16)


def run(sources: list[Path], out: Path, *, games: int, searched: int, held: int, seed: int, command: str) -> None:
    """Fit a policy to all positions of ``games`` games, to ``searched`` of them with searched values, write it to
    ``out``, and print how many moves it predicts in ``held`` positions of the held-out years.
    """
    progress = StageProgress("policy")
    rng = np.random.default_rng(seed)
    read = read_games(sources)
    read = read.part(read.squares[:, 0] == _F5)
    last = int(read.years.max())
    taught = read.part(read.years <= last - _HELD_YEARS)
    ratings = rate(taught.black, taught.white, taught.years, taught.points)
    progress.say(
        f"{len(read.years)} games, {len(taught.years)} before {last - _HELD_YEARS + 1}, ratings of "
        f"{len(np.unique(ratings.players))} players, {int(ratings.values.min())} to {int(ratings.values.max())}"
    )
    openings = Openings.of(_positions(taught, ratings, _KNOWN_PLIES))
    progress.say(f"{len(openings.keys)} opening positions known")
    held_positions = _sample(_positions(read.part(read.years > last - _HELD_YEARS), ratings, 59), held, rng)
    test = choices(held_positions, openings, own=False)
    values = search(test, progress)
    chosen_games = rng.permutation(len(taught.years))[:games]
    positions = _positions(taught.part(np.sort(chosen_games)), ratings, 59)
    train = choices(positions, openings, own=True)
    progress.say(f"{len(train.players)} positions to learn from, {len(test.players)} held out")
    fit, everything = Fit(), np.arange(len(test.players))
    fit.run(train, rng.permutation(len(train.players)), 1.0, 0)
    without = fit.run(test, everything, 0.0, 0)
    progress.say(f"without values {_share(test, without):.4f}")
    fit.run(train, rng.permutation(len(train.players)), 0.7, 1)
    progress.say(f"with static values {_share(test, fit.run(test, everything, 0.0, 1)):.4f}")
    few = choices(_sample(positions, searched, rng), openings, own=True)
    search(few, progress)
    for number in range(3):
        fit.run(few, rng.permutation(len(few.players)), 0.5 * (1 - number / 3), 2)
        progress.say(f"with searched values {_share(test, fit.run(test, everything, 0.0, 2)):.4f}")
    patterns = fit.round()
    record = {"command": command, "games": len(taught.years), "positions": len(train.players), "searched": searched}
    rated = array("f", fit.model.rated.tobytes())
    policy.write(out, policy.PolicyWeights(rated, patterns, openings.packed(), record))
    report(test, openings, values, without, fit.run(test, everything, 0.0, 2))


def _sample(positions: _Positions, number: int, rng: np.random.Generator) -> _Positions:
    picked = np.sort(rng.permutation(len(positions.players))[:number])
    players, opponents, squares, ratings = positions
    return _Positions(players[picked], opponents[picked], squares[picked], ratings[picked])


def _guesses(choices: Choices, sums: NDArray[Any]) -> NDArray[np.bool_]:
    """Return for each position whether the first of the moves with the largest of ``sums`` is the chosen one."""
    best = np.repeat(np.maximum.reduceat(sums, choices.starts[:-1]), np.diff(choices.starts)) == sums
    order = np.where(best, np.arange(len(sums)), len(sums))
    right: NDArray[np.bool_] = np.minimum.reduceat(order, choices.starts[:-1]) == choices.starts[:-1] + choices.chosen
    return right


def _share(choices: Choices, sums: NDArray[Any]) -> float:
    return float(_guesses(choices, sums).mean())


def report(test: Choices, openings: Openings, values: NDArray[np.float64], without: Floats, chances: Floats) -> None:
    """Print, by ratings and by plies, how many of the moves chosen in ``test`` are predicted, and for people's and the
    policy's moves the discs lost and how often they leave a corner to the opponent.

    ``values`` are the searched values of all moves; ``without`` and ``chances`` their chances by a model without and
    with values of moves.
    """
    begin, picks = test.starts[:-1], test.starts[:-1] + test.chosen
    best = np.repeat(np.maximum.reduceat(values, begin), np.diff(test.starts)) - values
    given = (test.small[:, 3].astype(np.int64) - FIRST["corners"]) % 3 > 0
    plies = boards.plies(test.players, test.opponents).astype(np.int64)
    columns = {
        "search": 100 * _guesses(test, values),
        "without": 100 * _guesses(test, without),
        "with": 100 * _guesses(test, chances),
        "likelihood": -np.log(np.maximum(1e-9, chances[picks])),
        "loss": best[picks],
        "policy's": np.add.reduceat(chances * best, begin),
        "corner": 100 * given[picks],
        "policy's ": 100 * np.add.reduceat(chances * given, begin),
    }
    write_line(f"{'':16}{'positions':>10}" + "".join(f"{name:>11}" for name in columns))

    def line(name: str, mask: NDArray[np.bool_]) -> None:
        if mask.any():
            cells = "".join(f"{column[mask].mean():11.2f}" for column in columns.values())
            write_line(f"{name:16}{mask.sum():10}{cells}")

    line("all", np.ones(len(plies), np.bool_))
    line("of unrated", test.ratings == MEAN)
    for low, high in pairwise(_BANDS):
        line(f"{low} to {high - 1}", (test.ratings >= low) & (test.ratings < high) & (test.ratings != MEAN))
    for low in range(0, 60, 10):
        line(f"plies {low}-{low + 9}", (plies >= low) & (plies < low + 10))
    count, total = openings.found(_keys(test.players, test.opponents)[test.parents], test.squares)
    known = total[begin] >= OFTEN[0]
    line("known openings", known)
    commonest = 100 * _guesses(test, count)[known].mean() if known.any() else 0.0
    write_line(f"the commonest move there predicts {commonest:.2f} %")
