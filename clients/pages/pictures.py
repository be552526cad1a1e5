"""Boards and graphs as SVG, in the colours of the page around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from desdaemon.protocol.othello.diagrams import DISC_RADIUS, SIZE, board_parts, centre_of
from desdaemon.protocol.othello.notation import Position, squares_text
from desdaemon.protocol.othello.rules import PASS

WIDTH, HEIGHT = 760, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 16, 26
INNER = HEIGHT - TOP - BOTTOM


def board(
    position: Position, title: str, *, played: int = PASS, best: int = PASS, name: str = "", small: bool = False
) -> str:
    """Return a board with coordinates as SVG; ``title`` is its plain text for screen readers.

    The square ``played`` is marked by a ring, ``best`` by a cross; `PASS` marks no square. A ``name`` becomes the
    picture's id; then empty squares have invisible discs, for a script. A ``small`` board has a class of its own.
    """
    identity = f' id="{name}"' if name else ""
    kind = "board small" if small else "board"
    parts = [
        f'<svg class="{kind}"{identity} viewBox="0 0 {SIZE} {SIZE}" role="img" aria-label="{escape(title)}">',
        *board_parts(),
    ]
    discs = squares_text(position)
    for square in range(64):
        x, y = centre_of(square)
        kind = {"X": "black", "O": "white", "-": "none"}[discs[square]]
        if kind != "none" or name:
            parts.append(f'<circle class="disc {kind}" cx="{x}" cy="{y}" r="{DISC_RADIUS}"/>')
    parts.append(_mark("played", played) + _mark("best", best))
    parts.append("</svg>")
    return "".join(parts)


def _mark(kind: str, square: int) -> str:
    """Return, as SVG, the ring (``kind`` ``played``) or the cross (``best``) on a square; for `PASS` it is off the
    board, for a script to move.
    """
    x, y = centre_of(square) if square != PASS else (-99, -99)
    shape = '<circle r="12"/>' if kind == "played" else '<path d="M-8 0H8M0 -8V8"/>'
    return f'<g class="mark {kind}" transform="translate({x} {y})">{shape}</g>'


class Chart(NamedTuple):
    """The scales of a graph: ``places`` from left to right, values from ``-largest`` to ``largest``, a line of
    the grid every ``step``.
    """

    places: int
    largest: int
    step: int

    def x(self, at: int) -> float:
        """Return the x coordinate of place number ``at``, counted from 0, in units of the picture."""
        return LEFT + at * (WIDTH - LEFT - RIGHT) / max(1, self.places - 1)

    def y(self, value: float) -> float:
        """Return the y coordinate of a value, in units of the picture; a value out of range is put on the edge."""
        value = max(-self.largest, min(self.largest, value))
        return TOP + (self.largest - value) * INNER / (2 * self.largest)

    def line(self, points: Iterable[tuple[int, float]]) -> str:
        """Return the data of an SVG path through points (place, value), without the ``M`` at its beginning."""
        return "L".join(f"{self.x(at):.1f} {self.y(value):.1f}" for at, value in points)

    def svg(
        self,
        label: str,
        under: str,
        over: str,
        marks: Iterable[int],
        *,
        first: int = 1,
        steps: bool = True,
        signs: bool = False,
    ) -> str:
        """Return the graph as SVG; ``label`` is its plain text for screen readers.

        ``under`` and ``over`` are SVG to draw below and above the grid; ``marks`` are the places, counted from
        ``first``, whose numbers are written. Values have a sign if ``signs``. With ``steps`` the picture has the id and
        the cursor, hidden at first, that the script of a page of a game expects.
        """
        script = f' id="graph" data-left="{LEFT}" data-right="{WIDTH - RIGHT}" data-plies="{self.places - 1}"'
        parts = [
            f'<svg{script if steps else ""} viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">',
            under,
        ]
        for value in range(-self.largest, self.largest + 1, self.step):
            y = self.y(value)
            kind = "zero" if value == 0 else "grid"
            parts.append(f'<path class="{kind}" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
            minor = " minor" if value // self.step % 2 else ""
            text = f"{value:+d}".replace("-", "\u2212") if signs and value else str(abs(value))
            parts.append(f'<text class="tick value{minor}" x="{LEFT - 6}" y="{y + 4:.1f}">{text}</text>')
        parts += [f'<text class="tick ply" x="{self.x(at - first):.1f}" y="{HEIGHT - 8}">{at}</text>' for at in marks]
        cursor = f'<path id="cursor" class="cursor" d="M0 {TOP}V{HEIGHT - BOTTOM}" transform="translate(-9 0)"/>'
        return "".join([*parts, over, cursor if steps else "", "</svg>"])


def chart(places: int, largest: float, steps: Sequence[int]) -> Chart:
    """Return a chart of ``places`` for values up to ``largest``. Its step is the first of ``steps`` that makes at most
    four lines to each side, else the last. Its range is the whole part of ``largest``, rounded up to whole steps.
    """
    step = next((step for step in steps if largest <= 4 * step), steps[-1])
    return Chart(places, step * max(1, -(-int(largest) // step)), step)


def sides(upper: str, lower: str) -> str:
    """Return, as SVG, the names of the two sides, escaped, in the upper and lower half of a graph."""
    return (
        f'<text class="side" x="{LEFT + 6}" y="{TOP + 14}">{escape(upper)}</text>'
        f'<text class="side" x="{LEFT + 6}" y="{HEIGHT - BOTTOM - 6}">{escape(lower)}</text>'
    )
