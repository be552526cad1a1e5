"""One player's games together: by phase, opening, year and opponent, and the mistakes that came again, as text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from desdaemon.clients.programs.statistics import expected_score
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.bases import FileGame
from desdaemon.protocol.games.judgement import GRADES, JudgedMove, PlayerSummary, summary
from desdaemon.protocol.games.records import final_result
from desdaemon.protocol.othello.notation import move_text
from desdaemon.protocol.othello.openings import opening_of
from desdaemon.protocol.othello.rules import canonical
from desdaemon.protocol.othello.scores import BlackScore
from desdaemon.protocol.spelling import did_you_mean, name_test, plural

from .game import MARKS, GameAnalysis

FIRST_RATING = 1500.0
_POINTS_A_GAME = 32
"""Rating points that a game can move at most, Elo's K."""
_NEAR = 100
"""Rating points by which players count as equal."""
_OPENINGS = 12
_NAMES_TOLD = 5
MOST_MISTAKES = 8
MOST_GAMES = 1_000_000
"""Most games that ratings come from, each of 100 bytes of memory."""
MOST_OWN_GAMES = 20_000
"""Most games of players whose names contain the wanted one, each of some 6 kilobytes."""

PHASES = (("moves 1 to 20", 40), ("moves 21 to 40", 20), ("moves 41 to 60", 0))
"""The phases with the number of squares that are empty after their last move."""


class RatedGame(NamedTuple):
    """A game of a player, who has Black (``black``) or White. ``rating`` is the player's Elo before the game,
    ``opponent`` the other player's, None without a name.
    """

    game: FileGame
    black: bool
    rating: float
    opponent: float | None


class Player(NamedTuple):
    """A player: the whole name, the rating after the last game, and the games in the order of their dates."""

    name: str
    rating: float
    games: list[RatedGame]


def find_player(games: Iterable[FileGame], name: str) -> Player:
    """Return the player among ``games`` whose name is ``name`` in this spelling, else in another case, else the only
    one whose name contains it; for ``=Ann`` only Ann.

    The ratings are Elo's, from the results of all ``games``: everybody begins with `FIRST_RATING`. Raises `BadInput`
    if no name, or more than one, contains ``name``, and for more games than `MOST_GAMES` and `MOST_OWN_GAMES`.
    """
    wanted = name_test(name)
    # Each name and date is one object in memory, however many games have it.
    texts: dict[str, str] = {}
    names: set[str] = set()
    listed: list[tuple[str, str, str, BlackScore | None, FileGame | None]] = []
    own_games = 0
    for game in games:
        record = game.record
        date, black, white = (texts.setdefault(text, text) for text in (game.date, record.black, record.white))
        names.update((black, white))
        result = final_result(record, game.result)
        # Of others' games the result is enough, and a base has many.
        whole = game if wanted(black) or wanted(white) else None
        listed.append((date, black, white, result, whole))
        own_games += whole is not None
        if len(listed) > MOST_GAMES or own_games > MOST_OWN_GAMES:
            raise BadInput(f"expected at most {MOST_GAMES:,} games, {MOST_OWN_GAMES:,} of them of {quoted(name)}")
    whole_name = _whole_name(name, names - {""})
    listed.sort(key=lambda row: row[0])
    ratings: defaultdict[str, float] = defaultdict(lambda: FIRST_RATING)
    found = []
    for _, black, white, result, whole in listed:
        own = black == whole_name
        if whole and (own or white == whole_name):
            other = white if own else black
            found.append(RatedGame(whole, own, ratings[whole_name], ratings[other] if other else None))
        if result is not None and black and white:
            points = (result > 0) + (result == 0) / 2
            change = _POINTS_A_GAME * (points - expected_score(ratings[black] - ratings[white]))
            ratings[black] += change
            ratings[white] -= change
    return Player(whole_name, ratings[whole_name], found)


def _whole_name(name: str, names: set[str]) -> str:
    if name in names:
        return name
    matching = sorted(filter(name_test(name), names))
    same = [one for one in matching if one.casefold() == name.casefold()]
    if len(same or matching) == 1:
        return (same or matching)[0]
    if matching:
        more = ", ..." if len(matching) > _NAMES_TOLD else ""
        raise BadInput(
            f"{quoted(name)} is a part of {plural(len(matching), 'name')}: {', '.join(matching[:_NAMES_TOLD])}{more}"
        )
    known = sorted(names | {word for one in names for word in one.split()})
    raise BadInput(f"no player {quoted(name)}: {did_you_mean(name, known, 'a name in these games')}")


class JudgedGame(NamedTuple):
    """A game of the player with its analysis."""

    rated: RatedGame
    analysis: GameAnalysis
    opening: str
    """The English name of the opening, ``without a name`` for others."""

    @property
    def own(self) -> list[JudgedMove]:
        """The player's moves."""
        return self.analysis.of_side(self.rated.black)

    @property
    def theirs(self) -> list[JudgedMove]:
        """The opponent's moves."""
        return self.analysis.of_side(not self.rated.black)

    @property
    def year(self) -> str:
        """The year as text, ``without a date`` if it is unknown."""
        return self.rated.game.date[:4] or "without a date"

    @property
    def opponent(self) -> str:
        """The opponent's name, ``?`` if it is unknown."""
        record = self.rated.game.record
        return (record.white if self.rated.black else record.black) or "?"

    @property
    def points(self) -> float | None:
        """1 for a won game, 0.5 for a drawn one, 0 for a lost one, None if the result is unknown."""
        result = self.analysis.result
        if result is None:
            return None
        return 0.5 if not result else float((result > 0) == self.rated.black)


def judged_game(rated: RatedGame, analysis: GameAnalysis) -> JudgedGame:
    """Return a game with its analysis and the name of its opening."""
    opening = opening_of([*(step.position for step in analysis.steps), analysis.game.record.final])
    return JudgedGame(rated, analysis, opening.name("english") if opening else "without a name")


class Row(NamedTuple):
    """A row about games, or a phase of them: the player's percentage of the points (None if no result is known), the
    player's moves and the opponents'.
    """

    label: str
    games: int
    score: float | None
    own: PlayerSummary
    theirs: PlayerSummary

    @property
    def lost(self) -> float:
        """Discs that the player lost by wrong moves in a game, on average."""
        return self.own.lost / self.games


def _row(label: str, games: Sequence[JudgedGame], chosen: Callable[[JudgedMove], bool] = lambda move: True) -> Row:
    own = [[move for move in game.own if chosen(move)] for game in games]
    theirs = [move for game in games for move in game.theirs if chosen(move)]
    points = [game.points for game in games if game.points is not None]
    score = 100 * sum(points) / len(points) if points else None
    return Row(label, sum(map(bool, own)), score, summary(move for moves in own for move in moves), summary(theirs))


def sections(games: Sequence[JudgedGame]) -> list[tuple[str, list[Row]]]:
    """Return the tables about a player's games, each with its title; there must be a game. Empty rows are left out."""
    openings = Counter(game.opening for game in games)
    listed = [name for name, _ in openings.most_common(_OPENINGS)]
    years = sorted({game.year for game in games})
    gaps = [(game, game.rated.opponent - game.rated.rating) for game in games if game.rated.opponent is not None]
    tables = [
        (
            "Games",
            [
                _row("all", games),
                _row("as Black", [game for game in games if game.rated.black]),
                _row("as White", [game for game in games if not game.rated.black]),
            ],
        ),
        ("Phases", [_row(name, games, _phase(empties)) for name, empties in PHASES]),
        (
            "Opponents by rating",
            [
                _row(f"{_NEAR} or more above", [game for game, gap in gaps if gap >= _NEAR]),
                _row("equal", [game for game, gap in gaps if abs(gap) < _NEAR]),
                _row(f"{_NEAR} or more below", [game for game, gap in gaps if gap <= -_NEAR]),
            ],
        ),
        (
            "Openings",
            [
                *(_row(name, [game for game in games if game.opening == name]) for name in listed),
                _row("all others", [game for game in games if game.opening not in listed]),
            ],
        ),
        ("Years", [_row(year, [game for game in games if game.year == year]) for year in years]),
    ]
    return [(title, [row for row in rows if row.games]) for title, rows in tables]


def _phase(empties: int) -> Callable[[JudgedMove], bool]:
    return lambda move: empties < move.position.empties <= empties + 20


class Mistake(NamedTuple):
    """A mistake or blunder that the player made ``times`` times in a position, mirrored or not, with the discs that it
    lost in all; ``game`` and ``move`` are those of the last time.
    """

    times: int
    lost: int
    game: JudgedGame
    move: JudgedMove

    @property
    def text(self) -> str:
        """The mistake in words: ``E3 instead of C5``."""
        return f"{move_text(self.move.move)} instead of {move_text(self.move.best.move)}"


def mistakes(games: Sequence[JudgedGame]) -> list[Mistake]:
    """Return the player's mistakes: those made most often first, of these the costliest first."""
    made: defaultdict[tuple[tuple[int, int], ...], list[tuple[JudgedGame, JudgedMove]]] = defaultdict(list)
    for game in games:
        for move in game.own:
            if move.grade in ("blunder", "mistake"):
                after = move.position.after(move.move)
                key = canonical(*move.position[:2]), canonical(*after[:2])
                made[key].append((game, move))
    found = [Mistake(len(each), sum(move.loss for _, move in each), *each[-1]) for each in made.values()]
    return sorted(found, key=lambda mistake: (-mistake.times, -mistake.lost))


def heading(player: Player, games: Sequence[JudgedGame]) -> str:
    """Return a sentence about the games and the ratings, as text."""
    years = sorted({game.year for game in games if game.rated.game.date})
    span = "" if not years else f", {years[0]}" if len(years) == 1 else f", {years[0]} to {years[-1]}"
    return f"{plural(len(games), 'game')}{span}; rating {player.rating:.0f} by the results in these files"


_HEAD = f"""{"":45}lost{"":17}opponents'
{"":20}  games  score  accuracy  a game{"".join(f"{MARKS[name]:>5}" for _, name in GRADES)}   accuracy
"""


def report(player: Player, games: Sequence[JudgedGame]) -> str:
    """Return the report on a player as text of at most 80 columns; there must be a game."""
    analysis = games[0].analysis
    lines = [player.name, heading(player, games), f"{analysis.engine}, {analysis.effort}", "", _HEAD.rstrip("\n")]
    for title, rows in sections(games):
        lines += [title, *map(_line, rows)] if rows else []
    found = mistakes(games)[:MOST_MISTAKES]
    if found:
        lines += ["", "Commonest mistakes", " times  lost  move  last time"]
    for mistake in found:
        game = mistake.game
        last = f"{mistake.text:19}  {game.year}, {game.opponent}, {game.opening}"
        lines.append(f"{mistake.times:6}  {mistake.lost:4}  {mistake.move.ply:4}  {last}"[:80])
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    score = "" if row.score is None else f"{row.score:.1f}"
    grades = "".join(f"{row.own.grades[name]:5}" for _, name in GRADES)
    return (
        f"  {row.label[:18]:18}  {row.games:5}  {score:>5}  {row.own.accuracy:6.1f} %  {row.lost:6.1f}{grades}"
        f"   {row.theirs.accuracy:6.1f} %"
    )
