"""The graph of the score in a game's analysis."""

from __future__ import annotations

from desdaemon.clients.pages.pictures import BOTTOM, HEIGHT, INNER, RIGHT, TOP, WIDTH, chart, sides
from desdaemon.protocol.games.judgement import JudgedMove
from desdaemon.protocol.othello.notation import move_text
from desdaemon.protocol.othello.scores import BlackScore

from .game import GameAnalysis


def graph(analysis: GameAnalysis) -> str:
    """Return, as SVG, the graph of the score before each move and at the end, Black's side up. Mistakes and the part
    that was solved to the end are marked.
    """
    scores = analysis.scores()
    scale = chart(len(scores), max(8, *map(abs, scores)), (4, 8, 16))
    under = ""
    solved = _solved_from(analysis.steps)
    if solved < len(scores) - 1:
        x = scale.x(solved)
        width = WIDTH - RIGHT - x
        under = f'<rect class="solved" x="{x:.1f}" y="{TOP}" width="{width:.1f}" height="{INNER}"/>'
        if width > 60:
            under += f'<text class="tick" x="{x + 6:.1f}" y="{HEIGHT - BOTTOM - 6}">solved</text>'
    zero = scale.y(0)
    line = scale.line(enumerate(scores))
    area = f"M{scale.x(0):.1f} {zero:.1f}L{line}L{scale.x(len(scores) - 1):.1f} {zero:.1f}Z"
    over = ""
    for side, top, height in (("black", TOP, zero - TOP), ("white", zero, HEIGHT - BOTTOM - zero)):
        clip = (
            f'<clipPath id="{side}-half"><rect x="0" y="{top:.1f}" width="{WIDTH}" height="{height:.1f}"/></clipPath>'
        )
        over += f'{clip}<path class="area {side}" clip-path="url(#{side}-half)" d="{area}"/>'
    over += f'<path class="score" d="M{line}"/>'
    over += "".join(
        _blot(made, scale.x(made.ply - 1), scale.y(scores[made.ply - 1])) for made in analysis.steps if made.grade
    )
    marks = (1, *range(10, len(scores) + 1, 10))
    return scale.svg(_described(scores), under, over + sides("Black ahead", "White ahead"), marks)


def _described(scores: list[BlackScore]) -> str:
    best, worst = max(scores), min(scores)
    return f"Score before each move from Black's side: between {worst:+} and {best:+}, at the end {scores[-1]:+}"


def _solved_from(steps: tuple[JudgedMove, ...]) -> int:
    """Return the index of the move at which the solved end of a game begins: from there on every move but passes has an
    exact score. Returns the number of moves if the last score is not exact.
    """
    index = len(steps)
    while index and (steps[index - 1].sure in ("exact", "")):
        index -= 1
    return index


def _blot(step: JudgedMove, x: float, y: float) -> str:
    """Return a mistake's mark around (x, y) as SVG: a circle for Black, a square on its corner for White."""
    black = step.position.black_to_move
    shape = '<circle r="5"/>' if black else '<path d="M0 -6.5L6.5 0L0 6.5L-6.5 0Z"/>'
    text = f"{step.ply}. {'Black' if black else 'White'} {move_text(step.move)}: {step.grade}, {step.loss} lost"
    return f'<g class="blot {step.grade}" transform="translate({x:.1f} {y:.1f})"><title>{text}</title>{shape}</g>'
