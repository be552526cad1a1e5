"""Boards and graphs of scores as SVG, in the colours of the page around them."""

from __future__ import annotations

from html import escape

from desdaemon.protocol.games.judgement import JudgedMove
from desdaemon.protocol.othello.diagrams import DISC_RADIUS, SIZE, board_parts, centre_of
from desdaemon.protocol.othello.notation import Position, move_text, squares_text
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import BlackScore

from .game import GameAnalysis

WIDTH, HEIGHT = 760, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 12, 16, 26


def board(
    position: Position, title: str, *, played: int = PASS, best: int = PASS, name: str = "", small: bool = False
) -> str:
    """Return a board with coordinates.

    ``played`` gets a ring, ``best`` a cross; ``name`` becomes the picture's id.
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
    """Return the ring for the played move or the cross for the best; off the board hidden, for a script to move."""
    x, y = centre_of(square) if square != PASS else (-99, -99)
    shape = '<circle r="12"/>' if kind == "played" else '<path d="M-8 0H8M0 -8V8"/>'
    return f'<g class="mark {kind}" transform="translate({x} {y})">{shape}</g>'


def graph(analysis: GameAnalysis) -> str:
    """Return the graph of the scores before each move and at the end, Black's advantage up.

    Mistakes are marked; a script may move the cursor.
    """
    scores = analysis.scores()
    largest = max(8, *map(abs, scores))
    step = next(step for step in (4, 8, 16) if largest <= 4 * step)
    largest = -(-largest // step) * step
    parts = [
        f'<svg id="graph" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(_described(scores))}" '
        f'data-left="{_LEFT}" data-right="{WIDTH - _RIGHT}" data-plies="{len(scores) - 1}">'
    ]
    solved = _solved_from(analysis.steps)
    if solved < len(scores) - 1:
        x = _x(solved, len(scores))
        width = WIDTH - _RIGHT - x
        parts.append(f'<rect class="solved" x="{x:.1f}" y="{_TOP}" width="{width:.1f}" height="{_inner()}"/>')
        if width > 60:
            parts.append(f'<text class="tick" x="{x + 6:.1f}" y="{HEIGHT - _BOTTOM - 6}">solved</text>')
    for value in range(-largest, largest + 1, step):
        y = _y(value, largest)
        kind = "zero" if value == 0 else "grid"
        parts.append(f'<path class="{kind}" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>')
        minor = " minor" if value // step % 2 else ""
        parts.append(f'<text class="tick value{minor}" x="{_LEFT - 6}" y="{y + 4:.1f}">{abs(value)}</text>')
    for ply in (1, *range(10, len(scores) + 1, 10)):
        parts.append(f'<text class="tick ply" x="{_x(ply - 1, len(scores)):.1f}" y="{HEIGHT - 8}">{ply}</text>')
    points = [(_x(index, len(scores)), _y(score, largest)) for index, score in enumerate(scores)]
    zero = _y(0, largest)
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    area = f"M{points[0][0]:.1f} {zero:.1f}L{line}L{points[-1][0]:.1f} {zero:.1f}Z"
    for side, top, height in (("black", _TOP, zero - _TOP), ("white", zero, HEIGHT - _BOTTOM - zero)):
        clip = (
            f'<clipPath id="{side}-half"><rect x="0" y="{top:.1f}" width="{WIDTH}" height="{height:.1f}"/></clipPath>'
        )
        parts.append(f'{clip}<path class="area {side}" clip-path="url(#{side}-half)" d="{area}"/>')
    parts.append(f'<path class="score" d="M{line}"/>')
    parts.append(f'<path id="cursor" class="cursor" d="M0 {_TOP}V{HEIGHT - _BOTTOM}" transform="translate(-9 0)"/>')
    for made in analysis.steps:
        if made.grade:
            parts.append(_blot(made, points[made.ply - 1]))
    parts.append(f'<text class="side" x="{_LEFT + 6}" y="{_TOP + 14}">Black ahead</text>')
    parts.append(f'<text class="side" x="{_LEFT + 6}" y="{HEIGHT - _BOTTOM - 6}">White ahead</text>')
    parts.append("</svg>")
    return "".join(parts)


def _described(scores: list[BlackScore]) -> str:
    best, worst = max(scores), min(scores)
    return f"Score before each move from Black's side: between {worst:+} and {best:+}, at the end {scores[-1]:+}"


def _solved_from(steps: tuple[JudgedMove, ...]) -> int:
    """Return the index from which all positions have exact scores."""
    index = len(steps)
    while index and (steps[index - 1].sure in ("exact", "")):
        index -= 1
    return index


def _blot(step: JudgedMove, centre: tuple[float, float]) -> str:
    """Return a mistake's mark: a circle for Black, a square on its corner for White."""
    black = step.position.black_to_move
    shape = '<circle r="5"/>' if black else '<path d="M0 -6.5L6.5 0L0 6.5L-6.5 0Z"/>'
    text = f"{step.ply}. {'Black' if black else 'White'} {move_text(step.move)}: {step.grade}, {step.loss} lost"
    place = f"translate({centre[0]:.1f} {centre[1]:.1f})"
    return f'<g class="blot {step.grade}" transform="{place}"><title>{text}</title>{shape}</g>'


def _inner() -> int:
    return HEIGHT - _TOP - _BOTTOM


def _x(index: int, count: int) -> float:
    return _LEFT + index * (WIDTH - _LEFT - _RIGHT) / max(1, count - 1)


def _y(score: int, largest: int) -> float:
    return _TOP + (largest - score) * _inner() / (2 * largest)
