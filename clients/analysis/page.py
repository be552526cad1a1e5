"""Analyses as HTML pages that need no other file: a game with board, graph, mistakes and moves; an index of games.

The pages are complete without scripts; a small one steps through the game.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple
from urllib.parse import quote

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
from desdaemon.clients.pages.pictures import board
from desdaemon.protocol.games.judgement import GRADES, JudgedMove, PlayerSummary
from desdaemon.protocol.othello.notation import board_text, move_text, moves_text
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import BlackScore
from desdaemon.protocol.spelling import plural

from .game import GameAnalysis, left_book_text, line_text, result_text, side_names
from .graph import graph

_MOST_MISTAKES = 8
_LINE_MOVES = 8


def page(analysis: GameAnalysis, link: str = "", index: str = "") -> str:
    """Return the page of a game as HTML. The analysis must have at least one step.

    ``link`` is the address of a board, in which ``{moves}`` and ``{board}`` stand for a position. ``index`` is the
    address of the page about all games. If either is "", its links are left out.
    """
    black, white = side_names(analysis.game)
    final = analysis.whole.record.final
    start = _start(analysis)
    about = " · ".join(analysis.about)
    title = f"{escape(black)} &ndash; {escape(white)}, analysed by {escape(analysis.engine)}"
    return f"""{head(title)}<header>
{players_heading(black, white)}
<p>{f"{escape(about)} · " if about else ""}<strong>{result_text(analysis.result)}</strong> ({discs(final)}) ·
analysed by {escape(analysis.engine)}, {escape(analysis.effort)}{_interrupted(analysis)}</p>
</header>
<main>
{
        stepping_board(
            _board(analysis, start),
            len(analysis.steps),
            start,
            _sentence_at(analysis, start),
            _links(analysis, link, index, start),
        )
    }
<section class="account" aria-label="Score and summary">
<h2>Score</h2>
{graph(analysis)}
<p class="legend">Discs by which a side would win with best play from there on.
Coloured moves lost discs: {_legend()}; circles for Black, diamonds for White.</p>
<h2>Players</h2>
{_summary(analysis)}
{_left_book(analysis)}</section>
</main>
{_mistakes(analysis)}
<section class="moves"><h2>All moves</h2>
{_moves(analysis)}
</section>
{ending([played.move for played in analysis.whole.record.moves], _places(analysis, link))}"""


def _legend() -> str:
    """Return the legend as HTML: the colours of the grades, with the discs from which they apply."""
    return " ".join(f'<span class="key {name}">●</span> {least} or more' for least, name in GRADES)


def _start(analysis: GameAnalysis) -> int:
    """Return the ply of the position shown first: before the first mistake, or the last if there is none."""
    return next((step.ply - 1 for step in analysis.steps if step.grade), len(analysis.steps))


def _board(analysis: GameAnalysis, ply: int) -> str:
    if ply == len(analysis.steps):
        final = analysis.game.record.final
        return board(final, f"The board at the end, {discs(final)}", played=analysis.steps[-1].move, name="board")
    step = analysis.steps[ply]
    return board(step.position, _sentence(step), played=step.move, best=step.best.move, name="board")


def _interrupted(analysis: GameAnalysis) -> str:
    if analysis.complete:
        return ""
    return f", interrupted after {len(analysis.steps)} of {plural(len(analysis.whole.record.moves), 'move')}"


def _links(analysis: GameAnalysis, link: str, index: str, ply: int) -> str:
    """Return, as HTML, a link to a board with the position after ``ply`` moves and one to the index, each unless its
    address, ``link`` or ``index``, is "".
    """
    links = []
    if link:
        links.append(f'<a id="link" href="{escape(address(analysis, link, ply))}">This position on a board</a>')
    if index:
        links.append(f'<a href="{escape(index)}">All games</a>')
    return f'<p class="links">{"".join(links)}</p>' if links else ""


def address(analysis: GameAnalysis, link: str, ply: int) -> str:
    """Return ``link``, the address of a board, with the position after ``ply`` moves filled in."""
    steps = analysis.steps
    moves = moves_text([step.move for step in steps[:ply]])
    position = steps[ply].position if ply < len(steps) else analysis.game.record.final
    return link.replace("{moves}", moves).replace("{board}", quote(board_text(position)))


def _sentence_at_end(analysis: GameAnalysis) -> str:
    final = analysis.game.record.final
    if not analysis.complete:
        return f"Not analysed from here on, {discs(final)}."
    return f"The end: {result_text(analysis.result)}, {discs(final)}."


def _sentence_at(analysis: GameAnalysis, ply: int) -> str:
    return _sentence(analysis.steps[ply]) if ply < len(analysis.steps) else _sentence_at_end(analysis)


def _sentence(step: JudgedMove) -> str:
    """Return, as text, a sentence about a move, with its score and, if it lost discs, the best move's."""
    side = "Black" if step.position.black_to_move else "White"
    if step.move == PASS:
        return f"{step.ply}. {side} has to pass."
    name = move_text(step.move)
    if not step.loss:
        return f"{step.ply}. {side} plays {name} ({signed(step.played.score)}): nothing is better."
    given = f", giving away {step.turned}" if step.turned else ""
    worth = f"{name} ({signed(step.played.score)})"
    return f"{step.ply}. {side} plays {worth}{given}; best was {move_text(step.best.move)} ({signed(step.best.score)})."


def _summary(analysis: GameAnalysis) -> str:
    """Return a table of both players' figures as HTML."""
    accounts = [analysis.summary(black) for black in (True, False)]
    rows = [
        named_row("Accuracy", [f"{account.accuracy:.1f}&nbsp;%" for account in accounts]),
        named_row("Best moves", [f"{account.best} of {account.choices}" for account in accounts]),
        named_row("Discs lost", [str(account.lost) for account in accounts]),
        named_row("Lost a move", [f"{account.mean:.2f}" for account in accounts]),
    ]
    for grade, name in (("blunder", "Blunders"), ("mistake", "Mistakes"), ("inaccuracy", "Inaccuracies")):
        rows.append(named_row(name, [str(account.grades[grade]) for account in accounts]))
    return table("Players", "summary", player_heads(*side_names(analysis.game)), rows)


def _left_book(analysis: GameAnalysis) -> str:
    """Return, as HTML, where the game left the book, with a link to that position; "" if it is not known to have."""
    left = analysis.left_book
    if left is None:
        return ""
    return f'<p class="legend">The game <a href="#board" data-ply="{left.ply}">{left_book_text(left)}</a>.</p>\n'


def _mistakes(analysis: GameAnalysis) -> str:
    """Return, as HTML, up to eight of the costliest moves, each with its board; "" if no move has a grade."""
    worst = sorted((step for step in analysis.steps if step.grade), key=lambda step: (-step.loss, step.ply))
    worst = worst[:_MOST_MISTAKES]
    if not worst:
        return ""
    figures = []
    for step in worst:
        black = step.position.black_to_move
        title = f"Before move {step.ply}, {discs(step.position)}"
        figures.append(
            f"<figure>{board(step.position, title, played=step.move, best=step.best.move, small=True)}"
            f"<figcaption><strong>{escape(_sentence(step))}</strong> "
            f'<a class="line" href="#board" data-ply="{step.ply}" data-line="1">'
            f"{line_text(step.best.line, black, _LINE_MOVES)}</a></figcaption></figure>"
        )
    return (
        '<section class="mistakes"><h2>The costliest moves</h2><p class="legend">The ring is the move that was '
        f'made, the cross the best one.</p><div class="figures">{"".join(figures)}</div></section>'
    )


def _moves(analysis: GameAnalysis) -> str:
    rows = []
    for step in analysis.steps:
        black = step.position.black_to_move
        name = "pass" if step.move == PASS else move_text(step.move)
        best = move_text(step.best.move) if step.loss else ""
        line = line_text(step.best.line, black, _LINE_MOVES)
        if step.move != PASS:
            line = f'<a href="#board" data-ply="{step.ply}" data-line="1">{line}</a>'
        cells = [
            f'<th scope="row"><a href="#board" data-ply="{step.ply}">{step.ply}</a></th>',
            f"<td>{stone(black)}<b>{name}</b></td>",
            f"<td>{signed(step.played.score) if step.move != PASS else ''}</td>",
            f"<td>{best}</td><td>{signed(step.best.score) if step.loss else ''}</td>",
            f"<td>{step.loss or ''}</td><td>{step.grade}</td><td>{step.sure}</td>",
            f'<td class="line">{line}</td>',
        ]
        rows.append(f'<tr class="{step.grade}" data-row="{step.ply}">{"".join(cells)}</tr>')
    heads = ("Ply", "Move", "Score", "Best", "Its score", "Lost", "", "How sure", "Best line, Black in capitals")
    return table("All moves", "all", [(name, "") for name in heads], rows)


def _places(analysis: GameAnalysis, link: str) -> list[dict[str, object]]:
    """Return the positions of the game for the page's script, in the form that `ending` needs."""
    places = [
        place(
            step.position,
            _sentence(step),
            step.move,
            step.best.move if step.loss else PASS,
            "" if step.move == PASS else moves_text(step.best.line),
            moves_text(step.played.line) if step.loss else "",
            address(analysis, link, ply),
        )
        for ply, step in enumerate(analysis.steps)
    ]
    final, last = analysis.game.record.final, address(analysis, link, len(places))
    return [*places, place(final, _sentence_at_end(analysis), analysis.steps[-1].move, link=last)]


# The index of many games


class GameRow(NamedTuple):
    """A row of the index: a game's analysis in short.

    ``summaries`` are Black's and White's; ``worst`` is the costliest move, None if no move lost discs. ``page`` is the
    file of the game's page, or ""; names may be "".
    """

    number: int
    black: str
    white: str
    about: str
    result: BlackScore | None
    summaries: tuple[PlayerSummary, PlayerSummary]
    worst: JudgedMove | None
    page: str


def row_of(analysis: GameAnalysis, page: str = "") -> GameRow:
    """Return a game's row in the index; ``page`` is the file of its page, or ""."""
    game, worst = analysis.whole, max(analysis.steps, key=lambda step: (step.loss, step.position.black_to_move))
    return GameRow(
        game.number,
        game.record.black,
        game.record.white,
        ", ".join(analysis.about),
        analysis.result,
        (analysis.summary(True), analysis.summary(False)),
        worst if worst.loss else None,
        page,
    )


def index_page(rows: Sequence[GameRow], engine: str) -> str:
    """Return the index as HTML: the games, and each player's losses. ``engine`` names engine and effort."""
    games = f"{len(rows)} {'game' if len(rows) == 1 else 'games'}"
    return f"""{head(f"{games}, analysed by {escape(engine)}")}<header><h1>{games}</h1>
<p>analysed by {escape(engine)}</p></header>
<section class="games"><h2>Games</h2>
{_game_table(rows)}
</section>
<section class="games"><h2>Players</h2>
{_player_table(rows)}
</section>
</body>
</html>
"""


_HEADS = (
    ("Game", ""),
    ("Black", "text"),
    ("acc.", ""),
    ("lost", "minor"),
    ("White", "text"),
    ("acc.", ""),
    ("lost", "minor"),
    ("Result", "text"),
    ("Costliest", "minor"),
    ("Event", "text minor"),
)
"""Columns of the table of games, with CSS classes; ``minor`` ones are hidden on narrow screens."""


def _game_table(rows: Sequence[GameRow]) -> str:
    body = []
    for row in rows:
        number = f'<a href="{escape(row.page)}">{row.number}</a>' if row.page else str(row.number)
        cells = [f'<th scope="row">{number}</th>']
        for name, account in zip((row.black, row.white), row.summaries, strict=True):
            cells.append(f'<td class="text">{escape(name or "?")}</td>')
            cells.append(f'<td>{account.accuracy:.1f}&nbsp;%</td><td class="minor">{account.lost}</td>')
        worst = row.worst
        text = f"{worst.ply}. {move_text(worst.move)}, {worst.loss}" if worst else ""
        if worst and row.page:
            text = f'<a href="{escape(row.page)}#{worst.ply}">{text}</a>'
        cells.append(f'<td class="text">{winner(row.result)}</td><td class="minor">{text}</td>')
        cells.append(f'<td class="text minor">{escape(row.about)}</td>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    return table("Games", "index", _HEADS, body)


def _player_table(rows: Sequence[GameRow]) -> str:
    """Return the table of the named players as HTML, the most accurate first; the accuracy is the mean over all
    choices, 100 % without any.
    """
    accounts: dict[str, list[PlayerSummary]] = {}
    for row in rows:
        for name, account in zip((row.black, row.white), row.summaries, strict=True):
            accounts.setdefault(name, []).append(account)
    accounts.pop("", None)
    ranked = []
    for name, games in accounts.items():
        choices, lost = sum(one.choices for one in games), sum(one.lost for one in games)
        accuracy = sum(one.choices * one.accuracy for one in games) / choices if choices else 100.0
        cells = (
            f'<tr><th scope="row">{escape(name)}</th><td>{len(games)}</td><td class="minor">{choices}</td>'
            f'<td>{accuracy:.1f}&nbsp;%</td><td>{lost}</td><td class="minor">{lost / max(1, choices):.2f}</td></tr>'
        )
        ranked.append((-accuracy, name, cells))
    heads = [("Player", ""), ("Games", ""), ("Choices", "minor"), ("Accuracy", ""), ("Lost", ""), ("a move", "minor")]
    return table("Players", "index", heads, [cells for _, _, cells in sorted(ranked)])
