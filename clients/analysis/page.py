"""An analysis as one HTML page that needs nothing else: board, graph, mistakes and all moves.

Without scripts it is complete; a small script of its own steps through the game.
"""

from __future__ import annotations

import json
from html import escape

from desdaemon.protocol.othello.notation import Position, move_text, squares_text
from desdaemon.protocol.othello.rules import PASS

from .game import GRADES, GameAnalysis, Step, line_text
from .page_style import SCRIPT, STYLE
from .pictures import board, graph
from .table import result_text

_MOST_MISTAKES = 8
_LINE_MOVES = 8


def page(analysis: GameAnalysis) -> str:
    """The page."""
    record = analysis.game.record
    black, white = record.black or "Black", record.white or "White"
    final = record.final
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
<h1><span class="stone black"></span>{escape(black)} <span class="against">against</span>
<span class="stone white"></span>{escape(white)}</h1>
<p>{f"{escape(about)} · " if about else ""}<strong>{result_text(analysis.result)}</strong> ({discs}) ·
analysed by {escape(analysis.engine)}, {escape(analysis.effort)}</p>
</header>
<main>
<section class="game" aria-label="The board">
{board(final, f"The board at the end, {discs}", played=_last_move(analysis), name="board")}
<div class="steps" id="steps" hidden>
<button type="button" data-to="first" aria-label="First move" title="Home">&laquo;</button>
<button type="button" data-to="back" aria-label="Back one move" title="Left arrow">&lsaquo;</button>
<input type="range" id="ply" min="0" max="{len(analysis.steps)}" value="{len(analysis.steps)}" aria-label="Move">
<button type="button" data-to="on" aria-label="On one move" title="Right arrow">&rsaquo;</button>
<button type="button" data-to="last" aria-label="End of the game" title="End">&raquo;</button>
</div>
<p class="told" id="told" aria-live="polite">{escape(_told_at_end(analysis))}</p>
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
<script type="application/json" id="data">{_data(analysis)}</script>
<script>{SCRIPT}</script>
</body>
</html>
"""


def _last_move(analysis: GameAnalysis) -> int:
    return analysis.steps[-1].move


def _discs(position: Position) -> str:
    return f"{position.black.bit_count()}\u2013{position.white.bit_count()}"


def _told_at_end(analysis: GameAnalysis) -> str:
    return f"The end: {result_text(analysis.result)}, {_discs(analysis.game.record.final)}."


def _told(step: Step) -> str:
    """What is said about the position before a move."""
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
    record = analysis.game.record
    heads = "".join(f"<th scope='col'>{name.capitalize()}s</th>" for _, name in GRADES)
    heads = heads.replace("Inaccuracys", "Inaccuracies")
    rows = []
    for black, name in ((True, record.black or "Black"), (False, record.white or "White")):
        account = analysis.summary(black)
        share = f"{account.best} of {account.choices}"
        counts = "".join(f"<td>{account.grades[grade]}</td>" for _, grade in GRADES)
        rows.append(
            f'<tr><th scope="row"><span class="stone {"black" if black else "white"}"></span>{escape(name)}</th>'
            f"<td>{share}</td><td>{account.lost}</td><td>{account.mean:.2f}</td>{counts}</tr>"
        )
    head = (
        '<th scope="col">Player</th><th scope="col">Best moves</th><th scope="col">Discs lost</th>'
        f'<th scope="col">a move</th>{heads}'
    )
    return _table("Players", "summary", head, rows)


def _table(label: str, kind: str, head: str, rows: list[str]) -> str:
    """A table that scrolls where it is too wide, by the keyboard too."""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="scroll {kind}" role="region" tabindex="0" aria-label="{label}">{table}</div>'


def _mistakes(analysis: GameAnalysis) -> str:
    """The worst moves, each with its board."""
    worst = sorted((step for step in analysis.steps if step.grade), key=lambda step: (-step.lost, step.number))
    worst = sorted(worst[:_MOST_MISTAKES], key=lambda step: step.number)
    if not worst:
        return ""
    figures = []
    for step in worst:
        black = step.position.black_to_move
        title = f"Before move {step.number}, {_discs(step.position)}"
        figures.append(
            f"<figure>{board(step.position, title, played=step.move, best=step.best, small=True)}"
            f"<figcaption><strong>{escape(_told(step))}</strong> "
            f'<span class="line">{line_text(step.line, black, _LINE_MOVES)}</span></figcaption></figure>'
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
        cells = [
            f'<th scope="row"><a href="#board" data-ply="{step.number}">{step.number}</a></th>',
            f'<td><span class="stone {side}" role="img" aria-label="{side}"></span><b>{name}</b></td>',
            f"<td>{_signed(step.played) if step.move != PASS else ''}</td>",
            f"<td>{best}</td><td>{_signed(step.score) if step.lost else ''}</td>",
            f"<td>{step.lost or ''}</td><td>{step.grade}</td><td>{step.sure}</td>",
            f'<td class="line">{line_text(step.line, black, _LINE_MOVES)}</td>',
        ]
        rows.append(f'<tr class="{step.grade}" data-row="{step.number}">{"".join(cells)}</tr>')
    heads = ("Ply", "Move", "Score", "Best", "Its score", "Lost", "", "How sure", "Best line, Black in capitals")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return _table("All moves", "all", head, rows)


def _data(analysis: GameAnalysis) -> str:
    """What the script needs: a board, the marks and a sentence for each position."""
    places = [
        {
            "board": squares_text(step.position),
            "played": step.move,
            "best": step.best if step.lost else PASS,
            "told": _told(step),
        }
        for step in analysis.steps
    ]
    end = {"board": squares_text(analysis.game.record.final), "played": _last_move(analysis), "best": PASS}
    places.append({**end, "told": _told_at_end(analysis)})
    return json.dumps(places, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
