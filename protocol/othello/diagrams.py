"""Pictures of a board: SVG for files, notebooks, reports and the browser, and Encapsulated PostScript (EPS).

All pictures that this program shows use `COLOURS` and the geometry of this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .notation import Position, square_text

CELL = 48
MARGIN = 22
SIZE = 8 * CELL + 2 * MARGIN
DISC_RADIUS = 20
"""`CELL`, `MARGIN`, `SIZE` and `DISC_RADIUS` are in units of the SVG pictures, which are `SIZE` wide and high."""


class Colour(NamedTuple):
    """A colour in the light and in the dark theme."""

    light: str
    dark: str


COLOURS = {
    "page": Colour("#f5f3ee", "#141716"),
    "card": Colour("#fffefb", "#1c201e"),
    "ink": Colour("#1f2321", "#e9e8e3"),
    "soft": Colour("#5d655f", "#a2aaa4"),
    "edge": Colour("#dcd8cd", "#343a37"),
    "row": Colour("#f4efe2", "#262b28"),
    "accent": Colour("#1f5fbf", "#8ab6ff"),
    # The board
    "felt": Colour("#2f8061", "#2a6e54"),
    "grid": Colour("#1d5a43", "#174535"),
    "frame": Colour("#23302a", "#0d1110"),
    "letter": Colour("#b9cabf", "#8fa399"),
    "black-disc": Colour("#161817", "#161817"),
    "white-disc": Colour("#f7f5ee", "#f7f5ee"),
    "last-move": Colour("#ffb020", "#ffb020"),
    # The graph and the moves
    "black-area": Colour("#3a403c", "#000000"),
    "white-area": Colour("#e4dfd1", "#cfcabb"),
    "solved": Colour("#eef3ee", "#202a26"),
    "blunder": Colour("#b3261e", "#ff8078"),
    "mistake": Colour("#b75a00", "#ffab5e"),
    "inaccuracy": Colour("#8a6d00", "#e6c84e"),
}
"""Colours by the name that style sheets use: ``felt`` for ``var(--felt)``."""


def colour_sheet() -> str:
    """Return `COLOURS` as a style sheet; the theme is the system's or the page's ``data-theme`` (light, dark)."""
    light, dark = (
        "".join(f"--{name}:{colour[theme]};" for name, colour in COLOURS.items()).rstrip(";") for theme in range(2)
    )
    return (
        f":root{{color-scheme:light dark;{light}}}\n"
        f"@media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
        f":root[data-theme=light]{{color-scheme:light}}:root[data-theme=dark]{{color-scheme:dark;{dark}}}\n"
    )


def centre_of(square: int) -> tuple[int, int]:
    """Return x and y of the middle of a square in the SVG pictures."""
    return MARGIN + square % 8 * CELL + CELL // 2, MARGIN + square // 8 * CELL + CELL // 2


def board_parts() -> list[str]:
    """Return an empty board as SVG elements: frame, felt, lines, points and coordinates.

    The elements have classes for style sheets, and the light colours as attributes for pictures without a style sheet.
    """
    colour = {name: value.light for name, value in COLOURS.items()}
    side = 8 * CELL
    parts = [
        f'<rect class="frame" width="{SIZE}" height="{SIZE}" rx="10" fill="{colour["frame"]}"/>',
        f'<rect class="felt" x="{MARGIN}" y="{MARGIN}" width="{side}" height="{side}" fill="{colour["felt"]}"/>',
        f'<path class="lines" d="{_grid()}" stroke="{colour["grid"]}" stroke-width="1.5" fill="none"/>',
        f'<g class="points" fill="{colour["grid"]}">',
    ]
    for x, y in ((2, 2), (6, 2), (2, 6), (6, 6)):
        parts.append(f'<circle class="point" cx="{MARGIN + x * CELL}" cy="{MARGIN + y * CELL}" r="4"/>')
    parts += ["</g>", f'<g text-anchor="middle" font-family="sans-serif" font-size="13" fill="{colour["letter"]}">']
    for index in range(8):
        middle = MARGIN + index * CELL + CELL // 2
        parts += [_letter(middle, MARGIN // 2, "abcdefgh"[index]), _letter(MARGIN // 2, middle, str(index + 1))]
    return [*parts, "</g>"]


def _grid() -> str:
    first, last = MARGIN, MARGIN + 8 * CELL
    return "".join(f"M{place} {first}V{last}M{first} {place}H{last}" for place in range(first, last + 1, CELL))


def _letter(x: int, y: int, letter: str) -> str:
    return f'<text class="coordinate" x="{x}" y="{y}" dominant-baseline="central">{letter}</text>'


def board_svg() -> str:
    """Return an empty board as an SVG element for a page whose style sheet has the colours."""
    return f'<svg class="board" viewBox="0 0 {SIZE} {SIZE}" aria-hidden="true">{"".join(board_parts())}</svg>'


def svg_text(position: Position) -> str:
    """Return a board as an SVG file, A1 top left, with legal moves marked."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIZE}" height="{SIZE}" viewBox="0 0 {SIZE} {SIZE}">'
    parts = [head, *board_parts()]
    for square, kind in _marked(position):
        x, y = centre_of(square)
        radius = 3 if kind == "move" else DISC_RADIUS
        fill = "white" if kind == "white" else "black"
        parts.append(
            f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{fill}" stroke="black">'
            f"<title>{square_text(square).lower()}</title></circle>"
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _marked(position: Position) -> Iterator[tuple[int, str]]:
    """Yield each square that has a mark: a ``black`` or ``white`` disc, or a legal ``move``."""
    for square in range(64):
        if position.black >> square & 1:
            yield square, "black"
        elif position.white >> square & 1:
            yield square, "white"
        elif position.moves >> square & 1:
            yield square, "move"


# Encapsulated PostScript, in points

_EPS_CELL = 40
_EPS_MARGIN = 30
_EPS_SIZE = 8 * _EPS_CELL + 2 * _EPS_MARGIN


def eps_text(position: Position) -> str:
    """Return a board as an EPS file, A1 top left, with legal moves marked."""
    parts = ["%!PS-Adobe-3.0 EPSF-3.0", f"%%BoundingBox: 0 0 {_EPS_SIZE} {_EPS_SIZE}", "%%EndComments"]
    parts += ["/Helvetica findfont 14 scalefont setfont", "/disc { newpath 0 360 arc gsave setgray fill grestore"]
    parts += ["0 setgray stroke } def", "/letter { moveto dup stringwidth pop 2 div neg -5 rmoveto show } def"]
    first, last = _EPS_MARGIN, _EPS_SIZE - _EPS_MARGIN
    for place in range(first, last + 1, _EPS_CELL):
        parts.append(
            f"newpath {first} {place} moveto {last} {place} lineto {place} {first} moveto {place} {last} lineto stroke"
        )
    for place in range(8):
        middle = _EPS_MARGIN + place * _EPS_CELL + _EPS_CELL // 2
        parts.append(f"({'ABCDEFGH'[place]}) {middle} {_EPS_SIZE - _EPS_MARGIN // 2} letter")
        parts.append(f"({place + 1}) {_EPS_MARGIN // 2} {_EPS_SIZE - middle} letter")
    for square, kind in _marked(position):
        x, y = (_EPS_MARGIN + place * _EPS_CELL + _EPS_CELL // 2 for place in (square & 7, square >> 3))
        radius = 3 if kind == "move" else 2 * _EPS_CELL // 5
        parts.append(f"{int(kind == 'white')} {x} {_EPS_SIZE - y} {radius} disc")
    return "\n".join([*parts, "%%EOF"]) + "\n"
