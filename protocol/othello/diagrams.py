"""Pictures of a board, with its legal moves marked: SVG and Encapsulated PostScript."""

from __future__ import annotations

from collections.abc import Iterator

from .notation import Position

_CELL = 40
_MARGIN = 30
_SIZE = 8 * _CELL + 2 * _MARGIN


def svg_text(position: Position) -> str:
    """The board in SVG, A1 top left."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_SIZE}" height="{_SIZE}" viewBox="0 0 {_SIZE} {_SIZE}">',
        f'<rect x="{_MARGIN}" y="{_MARGIN}" width="{8 * _CELL}" height="{8 * _CELL}" fill="#2e7d32"/>',
        f'<path d="{_svg_grid()}" stroke="black" fill="none"/>',
    ]
    for at in range(8):
        middle = _MARGIN + at * _CELL + _CELL // 2
        parts.append(_svg_letter(middle, _MARGIN // 2, "ABCDEFGH"[at]))
        parts.append(_svg_letter(_MARGIN // 2, middle, str(at + 1)))
    for x, y, radius, colour in _circles(position):
        parts.append(f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{colour}" stroke="black"/>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _svg_grid() -> str:
    first, last = _MARGIN, _SIZE - _MARGIN
    lines = [f"M{first} {at}H{last}M{at} {first}V{last}" for at in range(first, last + 1, _CELL)]
    return "".join(lines)


def _svg_letter(x: int, y: int, letter: str) -> str:
    return (
        f'<text x="{x}" y="{y}" text-anchor="middle" dominant-baseline="central" font-family="sans-serif" '
        f'font-size="14">{letter}</text>'
    )


def _circles(position: Position) -> Iterator[tuple[int, int, int, str]]:
    """Discs and marks of legal moves: centre from the top left, radius, colour."""
    for square in range(64):
        x, y = (_MARGIN + at * _CELL + _CELL // 2 for at in (square & 7, square >> 3))
        if position.black >> square & 1:
            yield x, y, _CELL * 2 // 5, "black"
        elif position.white >> square & 1:
            yield x, y, _CELL * 2 // 5, "white"
        elif position.moves >> square & 1:
            yield x, y, 3, "black"


def eps_text(position: Position) -> str:
    """The board in Encapsulated PostScript, A1 top left."""
    parts = ["%!PS-Adobe-3.0 EPSF-3.0", f"%%BoundingBox: 0 0 {_SIZE} {_SIZE}", "%%EndComments"]
    parts += ["/Helvetica findfont 14 scalefont setfont", "/disc { newpath 0 360 arc gsave setgray fill grestore"]
    parts += ["0 setgray stroke } def", "/letter { moveto dup stringwidth pop 2 div neg -5 rmoveto show } def"]
    first, last = _MARGIN, _SIZE - _MARGIN
    for at in range(first, last + 1, _CELL):
        parts.append(f"newpath {first} {at} moveto {last} {at} lineto {at} {first} moveto {at} {last} lineto stroke")
    for at in range(8):
        middle = _MARGIN + at * _CELL + _CELL // 2
        parts.append(f"({'ABCDEFGH'[at]}) {middle} {_SIZE - _MARGIN // 2} letter")
        parts.append(f"({at + 1}) {_MARGIN // 2} {_SIZE - middle} letter")
    for x, y, radius, colour in _circles(position):
        parts.append(f"{int(colour == 'white')} {x} {_SIZE - y} {radius} disc")
    return "\n".join([*parts, "%%EOF"]) + "\n"
