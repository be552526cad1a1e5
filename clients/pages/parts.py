"""Parts of pages: head and style, tables, the board with its controls, the transcript and the script."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources

from desdaemon.protocol.othello.diagrams import colour_sheet
from desdaemon.protocol.othello.notation import Position, moves_text, squares_text
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import BARE_WIN


def head(title: str, more: str = "") -> str:
    """Return the beginning of a page as HTML, up to the start of its body. ``title`` and ``more``, which is added to
    the head, are HTML.
    """
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{colour_sheet()}{_resource("page.css")}</style>
{more}</head>
<body>
"""


@functools.cache
def _resource(name: str) -> str:
    return (resources.files(__package__) / name).read_text("utf-8")


def players_heading(black: str, white: str) -> str:
    """Return the heading of a game's page as HTML: the players' names, escaped, each after a stone of its colour."""
    return f"""<h1><span class="player"><span class="stone black"></span>{escape(black)}</span>
<span class="against">against</span>
<span class="player"><span class="stone white"></span>{escape(white)}</span></h1>"""


def stepping_board(picture: str, plies: int, start: int, sentence: str, links: str = "") -> str:
    """Return, as HTML, the section with a board (``picture``, SVG) and the controls that the page's script needs.

    ``start`` is the ply shown, from 0 to ``plies``; ``sentence`` is plain text about the ply, and is escaped; ``links``
    is HTML below the sentence.
    """
    return f"""<section class="game" aria-label="The board">
{picture}
<div class="steps" id="steps" hidden>
<button type="button" data-to="first" aria-label="First move" title="Home">&laquo;</button>
<button type="button" data-to="back" aria-label="Back one move" title="Left arrow">&lsaquo;</button>
<input type="range" id="ply" min="0" max="{plies}" value="{start}" aria-label="Move">
<button type="button" data-to="on" aria-label="On one move" title="Right arrow">&rsaquo;</button>
<button type="button" data-to="last" aria-label="End of the game" title="End">&raquo;</button>
</div>
<p class="told" id="told" aria-live="polite">{escape(sentence)}</p>
<div class="plays" id="plays" hidden></div>
{links}
</section>"""


def place(
    position: Position,
    told: str,
    played: int,
    best: int = PASS,
    line: str = "",
    followed: str = "",
    link: str = "",
) -> dict[str, object]:
    """Return a position of a game for the page's script: ``told`` is a sentence about it, ``played`` and ``best`` are
    squares to mark, `PASS` for none, ``line`` and ``followed`` lines of play or "", ``link`` is the address of a board
    with it or "".
    """
    return {
        "board": squares_text(position),
        "side": "X" if position.black_to_move else "O",
        "played": played,
        "best": best,
        "told": told,
        "line": line,
        "followed": followed,
        **({"link": link} if link else {}),
    }


def ending(moves: Sequence[int], places: Sequence[Mapping[str, object]]) -> str:
    """Return the end of a game's page as HTML: its transcript, and the script with a `place` for each position."""
    data = json.dumps(places, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return f"""<section class="transcript"><h2>Transcript</h2>
<code id="transcript">{moves_text(list(moves))}</code>
<button type="button" id="copy" hidden>Copy</button>
</section>
<script type="application/json" id="data">{data}</script>
<script>{_resource("page.js")}</script>
</body>
</html>
"""


def table(label: str, kind: str, heads: Sequence[tuple[str, str]], rows: Sequence[str]) -> str:
    """Return, as HTML, a table that scrolls, by keyboard too, if it is too wide.

    ``label`` is its name for screen readers, ``kind`` its class; ``heads`` are the columns' names and classes, ``rows``
    its ``tr`` elements. All are HTML.
    """
    top = "".join(
        f'<th scope="col"{f" class={chr(34)}{style}{chr(34)}" if style else ""}>{name}</th>' for name, style in heads
    )
    whole = f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="scroll {kind}" role="region" tabindex="0" aria-label="{label}">{whole}</div>'


def named_row(name: str, cells: Sequence[str]) -> str:
    """Return a table's row as HTML: the heading ``name``, then ``cells``, both HTML."""
    return f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def player_heads(black: str, white: str) -> list[tuple[str, str]]:
    """Return the heads, for `table`, of a column of row names and a column for each player; names become escaped
    HTML.
    """
    names = (("black", black), ("white", white))
    return [("", ""), *((f'<span class="stone {side}"></span>{escape(name)}', "") for side, name in names)]


def stone(black: bool) -> str:
    """Return a disc of a side as HTML, for a table of moves."""
    side = "black" if black else "white"
    return f'<span class="stone {side}" role="img" aria-label="{side}"></span>'


def discs(position: Position) -> str:
    """Return the numbers of discs of Black and White, with a dash between them."""
    return f"{position.black.bit_count()}\u2013{position.white.bit_count()}"


def signed(score: float) -> str:
    """Return a score with its sign, "0" without one; the minus sign is U+2212 instead of a hyphen."""
    return f"{score:+g}".replace("-", "\u2212") if score else "0"


def winner(score: int | None) -> str:
    """Return a result for a table, from Black's score: ``White +12``, ``draw``, ``White`` for a win without discs, ""
    if unknown.
    """
    if not score:
        return "" if score is None else "draw"
    return ("Black" if score > 0 else "White") + (f" +{abs(score)}" if abs(score) != BARE_WIN else "")
