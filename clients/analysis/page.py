"""An analysis as one self-contained HTML page: board, graph, mistakes and all moves.

It is complete without scripts; a small one steps through the game.
"""

from __future__ import annotations

import json
from html import escape
from urllib.parse import quote

from desdaemon.protocol.othello.notation import Position, board_text, move_text, moves_text, squares_text
from desdaemon.protocol.othello.rules import PASS

from .game import AnalyzedPly, GameAnalysis, line_text, side_names
from .page_script import SCRIPT
from .page_style import STYLE
from .pictures import board, graph
from .table import result_text

_MOST_MISTAKES = 8
_LINE_MOVES = 8


def page(analysis: GameAnalysis, link: str = "", index: str = "") -> str:
    """The HTML page.

    ``link`` is the address of a board, in which ``{moves}`` and ``{board}`` are replaced by a position; ``index`` that
    of a page about many games.
    """
    black, white = side_names(analysis.game)
    final = analysis.whole.record.final
    start = _start(analysis)
    about = " · ".join(part for part in (analysis.game.event, analysis.game.date) if part)
    discs = f"{final.black.bit_count()}\u2013{final.white.bit_count()}"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(black)} &ndash; {escape(white)}, analysed by {escape(analysis.engine)}</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1><span class="player"><span class="stone black"></span>{escape(black)}</span> <span class="against">against</span>
<span class="player"><span class="stone white"></span>{escape(white)}</span></h1>
<p>{f"{escape(about)} · " if about else ""}<strong>{result_text(analysis.result)}</strong> ({discs}) ·
analysed by {escape(analysis.engine)}, {escape(analysis.effort)}{_interrupted(analysis)}</p>
</header>
<main>
<section class="game" aria-label="The board">
{_board(analysis, start)}
<div class="steps" id="steps" hidden>
<button type="button" data-to="first" aria-label="First move" title="Home">&laquo;</button>
<button type="button" data-to="back" aria-label="Back one move" title="Left arrow">&lsaquo;</button>
<input type="range" id="ply" min="0" max="{len(analysis.steps)}" value="{start}" aria-label="Move">
<button type="button" data-to="on" aria-label="On one move" title="Right arrow">&rsaquo;</button>
<button type="button" data-to="last" aria-label="End of the game" title="End">&raquo;</button>
</div>
<p class="told" id="told" aria-live="polite">{escape(_sentence_at(analysis, start))}</p>
<div class="plays" id="plays" hidden></div>
{_links(analysis, link, index, start)}
</section>
<section class="account" aria-label="Score and summary">
<h2>Score</h2>
{graph(analysis)}
<p class="legend">Discs by which a side would win with best play from there on.
<span class="key blunder">●</span> 10 or more lost <span class="key mistake">●</span> 4 or more
<span class="key inaccuracy">●</span> 2 or more; circles for Black, diamonds for White.</p>
<h2>Players</h2>
{_summary(analysis)}
</section>
</main>
{_mistakes(analysis)}
<section class="moves"><h2>All moves</h2>
{_moves(analysis)}
</section>
<section class="transcript"><h2>Transcript</h2>
<code id="transcript">{moves_text([played.move for played in analysis.whole.record.moves])}</code>
<button type="button" id="copy" hidden>Copy</button>
</section>
<script type="application/json" id="data">{_data(analysis, link)}</script>
<script>{SCRIPT}</script>
</body>
</html>
"""


def _last_move(analysis: GameAnalysis) -> int:
    return analysis.steps[-1].move


def _start(analysis: GameAnalysis) -> int:
    """The number of the position shown first: before the first mistake, or else the end."""
    return next((step.number - 1 for step in analysis.steps if step.grade), len(analysis.steps))


def _board(analysis: GameAnalysis, at: int) -> str:
    if at == len(analysis.steps):
        final = analysis.game.record.final
        return board(final, f"The board at the end, {_discs(final)}", played=_last_move(analysis), name="board")
    step = analysis.steps[at]
    return board(step.position, _sentence(step), played=step.move, best=step.best, name="board")


def _interrupted(analysis: GameAnalysis) -> str:
    if analysis.complete:
        return ""
    return f", interrupted after {len(analysis.steps)} of {len(analysis.whole.record.moves)} moves"


def _links(analysis: GameAnalysis, link: str, index: str, at: int) -> str:
    """The links to other pages, if any."""
    links = []
    if link:
        links.append(f'<a id="link" href="{escape(_address(analysis, link, at))}">This position on a board</a>')
    if index:
        links.append(f'<a href="{escape(index)}">All games</a>')
    return f'<p class="links">{"".join(links)}</p>' if links else ""


def _address(analysis: GameAnalysis, link: str, at: int) -> str:
    """The address of a position on the board."""
    steps = analysis.steps
    moves = moves_text([step.move for step in steps[:at]])
    position = steps[at].position if at < len(steps) else analysis.game.record.final
    return link.replace("{moves}", moves).replace("{board}", quote(board_text(position)))


def _discs(position: Position) -> str:
    return f"{position.black.bit_count()}\u2013{position.white.bit_count()}"


def _sentence_at_end(analysis: GameAnalysis) -> str:
    final = analysis.game.record.final
    if not analysis.complete:
        return f"Not analysed from here on, {_discs(final)}."
    return f"The end: {result_text(analysis.result)}, {_discs(final)}."


def _sentence_at(analysis: GameAnalysis, at: int) -> str:
    return _sentence(analysis.steps[at]) if at < len(analysis.steps) else _sentence_at_end(analysis)


def _sentence(step: AnalyzedPly) -> str:
    """A sentence on the position before a move."""
    side = "Black" if step.position.black_to_move else "White"
    if step.move == PASS:
        return f"{step.number}. {side} has to pass."
    name = move_text(step.move)
    if not step.lost:
        return f"{step.number}. {side} plays {name} ({_signed(step.played)}): nothing is better."
    given = f", giving away {step.turned}" if step.turned else ""
    worth = f"{name} ({_signed(step.played)})"
    return f"{step.number}. {side} plays {worth}{given}; best was {move_text(step.best)} ({_signed(step.score)})."


def _signed(score: int) -> str:
    return f"{score:+}".replace("-", "\u2212") if score else "0"


def _summary(analysis: GameAnalysis) -> str:
    """Both players' accounts, a line for each figure."""
    accounts = [analysis.summary(black) for black in (True, False)]
    rows = [
        _summary_row("Accuracy", [f"{account.accuracy:.1f}&nbsp;%" for account in accounts]),
        _summary_row("Best moves", [f"{account.best} of {account.choices}" for account in accounts]),
        _summary_row("Discs lost", [str(account.lost) for account in accounts]),
        _summary_row("Lost a move", [f"{account.mean:.2f}" for account in accounts]),
    ]
    for grade, name in (("blunder", "Blunders"), ("mistake", "Mistakes"), ("inaccuracy", "Inaccuracies")):
        rows.append(_summary_row(name, [str(account.grades[grade]) for account in accounts]))
    heads = "".join(
        f'<th scope="col"><span class="stone {side}"></span>{escape(name)}</th>'
        for side, name in zip(("black", "white"), side_names(analysis.game), strict=True)
    )
    return _table("Players", "summary", f"<td></td>{heads}", rows)


def _summary_row(name: str, cells: list[str]) -> str:
    return f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def _table(label: str, kind: str, head: str, rows: list[str]) -> str:
    """A table that scrolls where it is too wide, by the keyboard too."""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="scroll {kind}" role="region" tabindex="0" aria-label="{label}">{table}</div>'


def _mistakes(analysis: GameAnalysis) -> str:
    """The worst moves, the costliest first, each with its board."""
    worst = sorted((step for step in analysis.steps if step.grade), key=lambda step: (-step.lost, step.number))
    worst = worst[:_MOST_MISTAKES]
    if not worst:
        return ""
    figures = []
    for step in worst:
        black = step.position.black_to_move
        title = f"Before move {step.number}, {_discs(step.position)}"
        figures.append(
            f"<figure>{board(step.position, title, played=step.move, best=step.best, small=True)}"
            f"<figcaption><strong>{escape(_sentence(step))}</strong> "
            f'<a class="line" href="#board" data-ply="{step.number}" data-line="1">'
            f"{line_text(step.line, black, _LINE_MOVES)}</a></figcaption></figure>"
        )
    return (
        '<section class="mistakes"><h2>The costliest moves</h2><p class="legend">The ring is the move that was '
        f'made, the cross the best one.</p><div class="figures">{"".join(figures)}</div></section>'
    )


def _moves(analysis: GameAnalysis) -> str:
    rows = []
    for step in analysis.steps:
        black = step.position.black_to_move
        side = "black" if black else "white"
        name = "pass" if step.move == PASS else move_text(step.move)
        best = move_text(step.best) if step.lost else ""
        line = line_text(step.line, black, _LINE_MOVES)
        if step.move != PASS:
            line = f'<a href="#board" data-ply="{step.number}" data-line="1">{line}</a>'
        cells = [
            f'<th scope="row"><a href="#board" data-ply="{step.number}">{step.number}</a></th>',
            f'<td><span class="stone {side}" role="img" aria-label="{side}"></span><b>{name}</b></td>',
            f"<td>{_signed(step.played) if step.move != PASS else ''}</td>",
            f"<td>{best}</td><td>{_signed(step.score) if step.lost else ''}</td>",
            f"<td>{step.lost or ''}</td><td>{step.grade}</td><td>{step.sure}</td>",
            f'<td class="line">{line}</td>',
        ]
        rows.append(f'<tr class="{step.grade}" data-row="{step.number}">{"".join(cells)}</tr>')
    heads = ("Ply", "Move", "Score", "Best", "Its score", "Lost", "", "How sure", "Best line, Black in capitals")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return _table("All moves", "all", head, rows)


def _data(analysis: GameAnalysis, link: str) -> str:
    """The data of the page's script: for each position the board, the side to move, the marks, a sentence, the lines of
    play.
    """
    places: list[dict[str, object]] = []
    for at, step in enumerate(analysis.steps):
        passes = step.move == PASS
        places.append(
            {
                "board": squares_text(step.position),
                "side": "X" if step.position.black_to_move else "O",
                "played": step.move,
                "best": step.best if step.lost else PASS,
                "told": _sentence(step),
                "line": "" if passes else step.line,
                "followed": "" if passes or not step.lost else step.followed,
                **({"link": _address(analysis, link, at)} if link else {}),
            }
        )
    final = analysis.game.record.final
    places.append(
        {
            "board": squares_text(final),
            "side": "X" if final.black_to_move else "O",
            "played": _last_move(analysis),
            "best": PASS,
            "told": _sentence_at_end(analysis),
            "line": "",
            "followed": "",
            **({"link": _address(analysis, link, len(places))} if link else {}),
        }
    )
    return json.dumps(places, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
