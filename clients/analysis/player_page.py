"""The report on one player as an HTML page that needs no other file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from html import escape

from desdaemon.clients.pages.parts import discs, head, table
from desdaemon.clients.pages.pictures import board, chart, sides
from desdaemon.protocol.games.judgement import JudgedMove
from desdaemon.protocol.spelling import plural

from .game import line_text
from .page import address
from .player import MOST_MISTAKES, JudgedGame, Mistake, Player, Row, heading, mistakes, sections

_LINE_MOVES = 8
_BAR = 8
"""Width of a bar in units of the picture."""
_HEADS = (
    ("", "text"),
    ("Games", ""),
    ("Score&nbsp;%", ""),
    ("Acc.&nbsp;%", ""),
    ("Lost a game", ""),
    ("Blunders", "minor"),
    ("Mistakes", "minor"),
    ("Inaccuracies", "minor"),
    ("Theirs&nbsp;%", ""),
)


def player_page(player: Player, games: Sequence[JudgedGame], link: str = "") -> str:
    """Return the page about a player as HTML; there must be a game. ``link`` is the address of a board, as for
    `page.page`.
    """
    analysis = games[0].analysis
    engine = f"analysed by {escape(analysis.engine)}, {escape(analysis.effort)}"
    tables = "".join(
        f'<section class="games"><h2>{title}</h2>{_PICTURES.get(title, _nothing)(games)}'
        f"{table(title, 'index', _HEADS, [_row(row) for row in rows])}</section>\n"
        for title, rows in sections(games)
        if rows
    )
    return f"""{head(f"{escape(player.name)}, {engine}")}<header><h1>{escape(player.name)}</h1>
<p>{heading(player, games)} · {engine}</p></header>
<p class="legend">Theirs is the accuracy of the opponents in the same games.</p>
{tables}{_mistakes(mistakes(games)[:MOST_MISTAKES], link)}</body>
</html>
"""


def _row(row: Row) -> str:
    cells = [
        (str(row.games), ""),
        ("" if row.score is None else f"{row.score:.1f}", ""),
        (f"{row.own.accuracy:.1f}", ""),
        (f"{row.lost:.1f}", ""),
        *((str(count), ' class="minor"') for count in row.own.grades.values()),
        (f"{row.theirs.accuracy:.1f}", ""),
    ]
    return f'<tr><th scope="row">{row.label}</th>{"".join(f"<td{kind}>{text}</td>" for text, kind in cells)}</tr>'


def _nothing(games: Sequence[JudgedGame]) -> str:
    return ""


def _by_move(games: Sequence[JudgedGame]) -> str:
    return _losses(games, lambda game, move: 61 - move.position.empties, "move of the game")


def _by_year(games: Sequence[JudgedGame]) -> str:
    dated = [game for game in games if game.year.isdecimal()]
    return _losses(dated, lambda game, move: int(game.year), "year")


_PICTURES: Mapping[str, Callable[[Sequence[JudgedGame]], str]] = {"Phases": _by_move, "Years": _by_year}


def _losses(games: Sequence[JudgedGame], place: Callable[[JudgedGame, JudgedMove], int], what: str) -> str:
    """Return, as HTML, bars of the discs lost a move, on average: one pair for each value of ``place``, which the label
    calls ``what``. The player's bar goes up, the opponents' down. Returns "" for fewer than two values.
    """
    losses: defaultdict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for game in games:
        for side, moves in enumerate((game.own, game.theirs)):
            for move in moves:
                if move.choices > 1:
                    losses[place(game, move)][side].append(move.loss)
    if len(losses) < 2:
        return ""
    means = {at: tuple(sum(one) / len(one) if one else 0.0 for one in both) for at, both in losses.items()}
    first, last = min(means), max(means)
    # A place on either side stays free for half of a bar and of a number.
    scale = chart(last - first + 3, max(map(max, means.values())) + 0.99, (1, 2, 4, 8, 16))
    bars = []
    for at, (own, theirs) in means.items():
        x, zero = scale.x(at - first + 1) - _BAR / 2, scale.y(0)
        for kind, top, bottom in (("black", scale.y(own), zero), ("white", zero, scale.y(-theirs))):
            bars.append(
                f'<rect class="area {kind}" x="{x:.1f}" y="{top:.1f}" width="{_BAR}" height="{bottom - top:.1f}"/>'
            )
    label = f"Discs lost a move, by {what}: the player above, the opponents below"
    marks = [at for at in range(first, last + 1) if at in (first, last) or at % 10 == 0]
    picture = scale.svg(label, "", "".join(bars) + sides("Player", "Opponents"), marks, first=first - 1, steps=False)
    return f'{picture}<p class="legend">{label}.</p>'


def _mistakes(found: Sequence[Mistake], link: str) -> str:
    if not found:
        return ""
    figures = []
    for mistake in found:
        move, game = mistake.move, mistake.game
        times = f"{mistake.times} times, " if mistake.times > 1 else ""
        told = f"{times}{plural(mistake.lost, 'disc')} lost: move {move.ply}, {mistake.text}"
        last = escape(f"{game.year}, {game.opponent}, {game.opening}")
        on = f'<br><a href="{escape(address(game.analysis, link, move.ply - 1))}">On a board</a>' if link else ""
        figures.append(
            f"<figure>{board(move.position, discs(move.position), played=move.move, best=move.best.move, small=True)}"
            f"<figcaption><strong>{told}</strong> "
            f'<span class="line">{line_text(move.best.line, move.position.black_to_move, _LINE_MOVES)}</span>'
            f"{last}{on}</figcaption></figure>"
        )
    return (
        '<section class="mistakes"><h2>Commonest mistakes</h2><p class="legend">The ring is the move that was '
        f'made, the cross the best one; below is the last time.</p><div class="figures">{"".join(figures)}</div>'
        "</section>\n"
    )
