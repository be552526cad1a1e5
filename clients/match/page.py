"""The pages of a match: an index with the running games, cross table, Elo and list of games; and a page for each game.

The pages need no other file and no network. While the match runs the index reloads itself, so that no server is needed;
for readers on other machines a server of files is enough.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from html import escape
from itertools import islice
from pathlib import Path

from desdaemon.clients.pages.parts import (
    discs,
    ending,
    head,
    named_row,
    place,
    player_heads,
    players_heading,
    signed,
    stepping_board,
    stone,
    table,
    winner,
)
from desdaemon.clients.pages.pictures import board, chart, sides
from desdaemon.protocol.errors import quoted
from desdaemon.protocol.games.records import GameRecord
from desdaemon.protocol.othello.notation import Position, move_text
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.system import files

from .referee import Finished, RunningGame
from .results.report import MatchOutcome, cross_table, outcome, percent, ranking, rating_text, sequential_text
from .schedule import Schedule

_BETWEEN_S = 1.0
_MOST_POINTS = 200
"""Most points of the graph of Elo."""

_ICON = '<link rel="icon" href="data:,">\n'
"""An empty icon; without one browsers ask a server for it."""

_RELOADING = """<script>
addEventListener("DOMContentLoaded",()=>{
const mark=one=>"#"+encodeURIComponent(one.getAttribute("href")||one.ariaLabel||"");
const all=[...document.querySelectorAll("a,[tabindex]")];
all.find(one=>location.hash.length>1&&mark(one)===location.hash)?.focus({preventScroll:true});
setInterval(()=>{if(location.hash!=="#still"){history.replaceState(null,"",mark(document.activeElement));location.reload()}},2000);
})</script>
<noscript><meta http-equiv="refresh" content="3"></noscript>
"""
"""Reloads the page every two seconds, and gives the focus back to the link or table that had it, which the address
remembers, because behind `desdaemon web` each load has an origin of its own; not while the address ends in ``#still``.
Without scripts the page reloads every three seconds.
"""

_STATES = {
    "finished": "finished",
    "decided": "decided by the test",
    "stopped": "stopped",
    "failed": "ended: a program failed in every game",
    "error": "ended by an error",
}

Rating = tuple[float, float, float]
"""Elo, and the ends of its 95 % interval."""


class MatchPage:
    """Writes the pages of a match, on its main thread only. What cannot be written, as on a full disk, is reported once
    and written later: the match goes on.
    """

    def __init__(
        self,
        folder: Path,
        schedule: Schedule,
        sprt: tuple[float, ...] | None,
        described: Callable[[dict[int, Finished]], tuple[list[str], str]],
        complain: Callable[[str], None],
    ) -> None:
        """``described`` takes the games so far and returns the programs' names and the match's heading. ``sprt`` are
        the Elo differences of the sequential test, None for no test. ``complain`` gets a line about a file that cannot
        be written.
        """
        self._folder = folder
        self._schedule = schedule
        self._sprt = sprt
        self._described = described
        self._complain = complain
        self._names: list[str] = []
        self._unwritten: set[int] = set()
        """The games whose pages are to be written."""
        self._failed = False
        """Whether the last file could not be written."""
        self._heading = ""
        self._growth: dict[int, list[Rating]] = {}
        """Ratings after each number of games: of the first of two programs, or of each of several."""
        self._shown_at = -math.inf

    def resume(self, games: dict[int, Finished]) -> None:
        """Write the index and the pages of ``games``, those already in the journal. For the graph of Elo the ratings
        after the first n games are computed too, for about `_MOST_POINTS` values of n.
        """
        for count in range(1, len(games), 1 + len(games) // _MOST_POINTS):
            self._evaluate(dict(islice(games.items(), count)), -1)
        self.add(games)
        self.show(games, {})

    def add(self, games: dict[int, Finished], number: int = -1) -> None:
        """Write the page of game ``number``, one of ``games``. The first call, for which ``number`` may be left out,
        and one after a program's name has changed write the pages of all games.
        """
        names, self._heading = self._described(games)
        self._unwritten |= {number} if names == self._names else set(games)
        self._names = names
        self._write_games(games)

    def _write_games(self, games: dict[int, Finished]) -> None:
        for number in sorted(self._unwritten):
            place = self._schedule.place(number)
            black, white = self._names[place.black], self._names[place.white]
            if not self._write(_file(number), game_page(games[number], number, black, white)):
                return
            self._unwritten.discard(number)

    def show(self, games: dict[int, Finished], running: Mapping[int, RunningGame]) -> None:
        """Write the index with the ``running`` games, unless it was written less than a second ago."""
        if time.perf_counter() >= self._shown_at + _BETWEEN_S:
            self._shown_at = time.perf_counter()
            self._write_index(games, running, "", -1)

    def finish(self, games: dict[int, Finished], kind: str, failed: int) -> None:
        """Write the index for the last time; ``kind`` is that of the `Ending`, ``failed`` the program that failed in
        every game, or -1.
        """
        self._write_games(games)
        self._write_index(games, {}, _STATES[kind], failed)

    def _evaluate(self, games: dict[int, Finished], failed: int) -> MatchOutcome:
        found = outcome(games, self._schedule, self._names, failed, self._sprt)
        if found.ratings:
            pairs = zip(found.ratings.elo, found.ratings.error, strict=True)
            self._growth[len(games)] = [(elo, elo - error, elo + error) for elo, error in pairs]
        elif found.elo[0] and self._schedule.programs == 2:
            self._growth[len(games)] = [found.elo[0][:3]]
        return found

    def _write_index(
        self, games: dict[int, Finished], running: Mapping[int, RunningGame], state: str, failed: int
    ) -> None:
        found = self._evaluate(games, failed)
        reloading = "" if state else _RELOADING
        still = "" if state else ' <a href="#still">Stop updating</a> <a href="#">Go on</a>'
        heading, total = escape(self._heading), self._schedule.total
        parts = [
            head(heading, _ICON + reloading),
            f"<header><h1>{heading}</h1>\n<p><strong>{len(games)} of {total} games</strong>, "
            f"{state or 'running'}.{still}</p></header>\n",
        ]
        if running:
            figures = (self._figure(number, game) for number, game in sorted(running.items()))
            parts.append(f'<section><h2>Now playing</h2><div class="figures">{"".join(figures)}</div></section>\n')
        parts.append(f"<section><h2>Standings</h2>\n{_standings(found)}</section>\n")
        if len(self._growth) > 1:
            parts.append(f"<section><h2>Elo</h2>\n{elo_graph(self._growth, self._names)}</section>\n")
        if games:
            parts.append(f'<section class="games"><h2>Games</h2>\n{_game_table(found)}</section>\n')
        self._write("index.html", "".join([*parts, "</body>\n</html>\n"]))

    def _figure(self, number: int, game: RunningGame) -> str:
        """Return a running game as HTML: its board, each side's clock and last evaluation."""
        place = self._schedule.place(number)
        position = game.record.final
        lines = []
        for side, program in enumerate((place.black, place.white)):
            thinking = side == (0 if position.black_to_move else 1)
            own = _evaluations(game.record, game.scores, black=side == 0)
            score = f", {_said(own[-1][1], black=side == 0)}" if own else ""
            name = f"{stone(side == 0)}{escape(self._names[program])}"
            lines.append(
                f"<div>{f'<strong>{name}</strong>' if thinking else name}: {_clock(game, side, thinking)}{score}</div>"
            )
        last = game.record.moves[-1].move if game.record.moves else PASS
        label = f"Game {number + 1}, {discs(position)}"
        return (
            f"<figure>{board(position, label, played=last, small=True)}"
            f"<figcaption><div>{label}</div>{''.join(lines)}</figcaption></figure>"
        )

    def _write(self, name: str, text: str) -> bool:
        """Replace a file unless it has this content. Returns whether it has it now."""
        path, content = self._folder / name, text.encode("utf-8", "backslashreplace")
        try:
            if not (path.is_file() and path.read_bytes() == content):
                files.replace(path, content)
            self._failed = False
        except OSError as error:
            if not self._failed:
                self._complain(f"--page {quoted(str(path))}: {error.strerror}: the match goes on")
            self._failed = True
        return not self._failed


def _file(number: int) -> str:
    return f"game-{number + 1:04}.html"


def _clock(game: RunningGame, side: int, thinking: bool) -> str:
    """Return as text the time that ``side`` (0 Black, 1 White) has left or, without a limit, has used. For a side that
    is ``thinking`` the time since its move began is counted.
    """
    elapsed = 1000 * (time.perf_counter() - game.begun) if thinking else 0.0
    limited = game.left[side] < math.inf
    ms = max(0.0, game.left[side] - elapsed) if limited else game.used[side] + elapsed
    return f"{_time(ms)} {'left' if limited else 'used'}"


def _time(ms: float) -> str:
    return f"{int(ms / 60_000)}:{ms / 1000 % 60:04.1f}"


def _evaluations(record: GameRecord, scores: Iterable[float | None], *, black: bool) -> list[tuple[int, float]]:
    """Return the moves of a side that its program has evaluated: the ply, from 0, and the score in discs for Black."""
    return [
        (at, score)
        for at, (position, score) in enumerate(zip(record.positions, scores, strict=False))
        if score is not None and position.black_to_move == black
    ]


def _said(score: float, *, black: bool) -> str:
    """Return an evaluation as text, seen from the side of its program, Black if ``black``; ``score`` is for Black."""
    return signed(score if black else 0.0 - score)


# The first page


def _standings(result: MatchOutcome) -> str:
    order = ranking(result)
    cells = cross_table(result)
    rated = ["Elo"] if result.ratings else []
    heads = ["Program", *rated, "Games", "Won", "Drawn", "Lost", "Score", "Discs", *map(str, range(1, len(order) + 1))]
    rows = []
    for rank, at in enumerate(order, 1):
        one = result.standings[at]
        elo = [f"{result.ratings.elo[at]:+.1f} ± {result.ratings.error[at]:.1f}"] if result.ratings else []
        if at in result.failed and elo:
            elo = [""]
        points = [cells.get((at, other), "") for other in order]
        counts = map(str, (one.games, one.wins, one.draws, one.losses))
        values = [*elo, *counts, percent(one), f"{one.discs:+.1f}", *points]
        rows.append(named_row(f"{rank}. {escape(result.names[at])}", values))
    text = table("Standings", "index", [(name, "") for name in heads], rows)
    rating = result.elo[0]
    if rating and len(order) == 2:
        text += (
            f'<p class="legend">Elo of {escape(result.names[0])}: {rating_text(rating)}; likelihood of superiority '
            f"{100 * rating.superiority:.1f} %</p>"
        )
    if result.test and result.sprt:
        text += f'<p class="legend">{sequential_text(result.test, result.sprt)}</p>'
    return text


def elo_graph(growth: Mapping[int, list[Rating]], names: list[str]) -> str:
    """Return, as HTML, the graph of Elo by number of games. With two programs it shows the first one's Elo and its 95 %
    interval, with more programs a line for each. Values beyond the scale, at most some 800 Elo, are put on its edge.
    """
    counts = sorted(growth)
    counts = sorted({*counts[:: 1 + len(counts) // _MOST_POINTS], counts[-1]})
    finite = [abs(value) for count in counts for rating in growth[count] for value in rating if math.isfinite(value)]
    scale = chart(counts[-1], min(800, max([20, *finite])), (10, 25, 50, 100, 200))
    over = []
    for at in range(len(growth[counts[-1]])):
        ratings = [(count - 1, growth[count][at]) for count in counts]
        if len(names) == 2:
            upper = [(place, rating[2]) for place, rating in ratings]
            lower = [(place, rating[1]) for place, rating in reversed(ratings)]
            over.append(f'<path class="band" d="M{scale.line([*upper, *lower])}Z"/>')
        over.append(f'<path class="score" d="M{scale.line((place, rating[0]) for place, rating in ratings)}"/>')
    if len(names) == 2:
        over.append(sides(f"{names[0]} ahead", f"{names[1]} ahead"))
    else:
        lowest = 0.0
        for y, name in sorted(
            (scale.y(last[0]) - 4, name) for last, name in zip(growth[counts[-1]], names, strict=True)
        ):
            # Names of equal programs stand below each other; on narrow screens they are 21 units high.
            lowest = max(y, lowest + 22)
            place = f'x="{scale.x(counts[-1] - 1) - 6:.1f}" y="{lowest:.1f}"'
            over.append(f'<text class="side" {place} text-anchor="end">{escape(name)}</text>')
    label = "Elo after each game" if len(names) > 2 else f"Elo of {names[0]} after each game, with its 95 % interval"
    marks = sorted({1, counts[-1], *range(1, counts[-1], max(1, counts[-1] // 8))} - {counts[-1] - 1})
    legend = f'<p class="legend">{escape(label)}.</p>'
    return scale.svg(label, "", "".join(over), marks, steps=False, signs=len(names) > 2) + legend


def _game_table(result: MatchOutcome) -> str:
    rows = []
    for number, game in sorted(result.games.items(), reverse=True):
        place = result.schedule.place(number)
        names = (f'<td class="text">{escape(result.names[at])}</td>' for at in (place.black, place.white))
        times = "".join(f'<td class="minor">{_time(ms)}</td>' for ms in game.used)
        rows.append(
            f'<tr><th scope="row"><a href="{_file(number)}">{number + 1}</a></th>{"".join(names)}'
            f'<td class="text">{winner(game.score)}</td>'
            f'<td class="text minor">{"" if game.ending == "played" else game.ending}</td>{times}</tr>'
        )
    heads = [
        ("Game", ""),
        ("Black", "text"),
        ("White", "text"),
        ("Result", "text"),
        ("Ended", "text minor"),
        ("Black's time", "minor"),
        ("White's", "minor"),
    ]
    return table("Games", "index", heads, rows)


# A game's page


def game_page(game: Finished, number: int, black: str, white: str) -> str:
    """Return the page of a finished game as HTML; ``number`` counts from 0, ``black`` and ``white`` are plain names."""
    record = game.record
    moves = [played.move for played in record.moves]
    result = winner(game.score) + (f", {game.ending}: {escape(game.note)}" if game.note else "")
    told = ("Black", "White")[game.faulty] if game.faulty >= 0 else ""
    places = _places(game)
    last = str(places[-1]["told"])
    end = board(record.final, last, played=moves[-1] if moves else PASS, name="board")
    links = '<p class="links"><a href="index.html">All games</a></p>'
    rows = [
        named_row("Time used", [_time(ms) for ms in game.used]),
        named_row("Longest move", [_time(ms) for ms in game.longest]),
        named_row("Moves chosen", [str(count) for count in game.moves]),
    ]
    return f"""{head(f"Game {number + 1}: {escape(black)} &ndash; {escape(white)}", _ICON)}<header>
{players_heading(black, white)}
<p>Game {number + 1} · <strong>{result}</strong>{f" of {told}" if told else ""} ({discs(record.final)})</p>
</header>
<main>
{stepping_board(end, len(moves), len(moves), last, links)}
<section class="account" aria-label="Evaluations and times">
<h2>Evaluations</h2>
{evaluation_graph(game)}
<h2>Times</h2>
{table("Times", "summary", player_heads(black, white), rows)}
</section>
</main>
<section class="moves"><h2>All moves</h2>
{_moves(game)}
</section>
{ending(moves, places)}"""


def evaluation_graph(game: Finished) -> str:
    """Return, as HTML, the graph of both programs' evaluations of their moves, Black's advantage up, with a legend."""
    both = [_evaluations(game.record, game.scores, black=black) for black in (True, False)]
    largest = max([8.0, *(abs(score) for own in both for _, score in own)])
    plies = len(game.record.moves) + 1
    scale = chart(plies, math.ceil(largest), (4, 8, 16))
    lines = "".join(
        f'<path class="score{kind}" d="M{scale.line(own)}"/>'
        for own, kind in zip(both, ("", " second"), strict=True)
        if own
    )
    label = "What both programs said of their moves" if all(both) else "What Black's program said of its moves"
    if not both[0]:
        label = "What White's program said of its moves" if both[1] else "Neither program said anything of its moves"
    marks = (1, *range(10, plies + 1, 10))
    picture = scale.svg(label, "", lines + sides("Black ahead", "White ahead"), marks)
    return f"{picture}<p class=\"legend\">{label}, in discs: Black's program a line, White's dashes.</p>"


def _places(game: Finished) -> list[dict[str, object]]:
    """Return the positions of the game for the page's script, in the form that `ending` needs."""
    record = game.record
    positions = record.positions
    moves = [*(played.move for played in record.moves), record.moves[-1].move if record.moves else PASS]
    sentences = [_sentence(game, at, position) for at, position in enumerate(positions[:-1])]
    sentences.append(f"The end: {winner(game.score)}, {discs(positions[-1])}.")
    return [place(*each) for each in zip(positions, sentences, moves, strict=True)]


def _sentence(game: Finished, index: int, position: Position) -> str:
    """Return, as plain text, a sentence about the move number ``index``, from 0, which was played in ``position``."""
    side = "Black" if position.black_to_move else "White"
    move, ms = game.record.moves[index]
    if move == PASS:
        return f"{index + 1}. {side} has to pass."
    score = game.scores[index] if game.scores else None
    said = f", says {_said(score, black=position.black_to_move)}" if score is not None else ""
    spent = f", {ms / 1000:.2f} s" if ms else ""
    return f"{index + 1}. {side} plays {move_text(move)}{said}{spent}."


def _moves(game: Finished) -> str:
    rows = []
    scores = game.scores or (None,) * len(game.record.moves)
    for at, (position, (move, ms), score) in enumerate(
        zip(game.record.positions, game.record.moves, scores, strict=False)
    ):
        name = "pass" if move == PASS else move_text(move)
        said = "" if score is None else _said(score, black=position.black_to_move)
        rows.append(
            f'<tr data-row="{at + 1}"><th scope="row"><a href="#board" data-ply="{at + 1}">{at + 1}</a></th>'
            f"<td>{stone(position.black_to_move)}<b>{name}</b></td><td>{said}</td>"
            f"<td>{f'{ms / 1000:.2f} s' if ms else ''}</td></tr>"
        )
    return table("All moves", "all", [(name, "") for name in ("Ply", "Move", "Its score", "Time")], rows)
