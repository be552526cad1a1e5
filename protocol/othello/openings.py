"""The names of openings in English, French and Japanese, with their lines of play, and the lists that users have.

A name belongs to a position and its mirror images, whatever moves led there. The last named position names a game.
"""

from __future__ import annotations

import os
import random
import unicodedata
from typing import NamedTuple

from desdaemon.protocol import satellites
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.rows import load
from desdaemon.protocol.spelling import did_you_mean

from . import rules
from .notation import START, Position, parse_moves

LANGUAGES = ("english", "french", "japanese")

# A line of play from the opening position, then its English, French and Japanese names, the usual one first.
_TABLE = """
f5d6 | Perpendicular | Perpendiculaire | 縦取り, Tatedori
f5d6c3d3c4 | Tiger | Tigre | 虎, Tora
f5d6c3d3c4b3 | Aubrey
f5d6c3d3c4b3d2f4 | Aubrey Feldborg
f5d6c3d3c4f4c5b3c2 | Rose-Bill | | ローズビル
f5d6c3d3c4f4c5b3c2b4 | Central Rose-Bill, Dead Draw
f5d6c3d3c4f4c5b3c2e3 | Nicolet
f5d6c3d3c4f4c5b3c2e6 | Tamenori
f5d6c3d3c4f4c5b4 | Grand Central
f5d6c3d3c4f4c5b4b5c6f3e6e3 | Ishii
f5d6c3d3c4f4c5b4b5c6f3e6e3g6f6g5d7g3 | Mainline Tiger
f5d6c3d3c4f4e3 | Brightwell
f5d6c3d3c4f4e6 | Leader's Tiger
f5d6c3d3c4f4f6 | Stephenson
f5d6c3d3c4f4f6b4 | Kung
f5d6c3d3c4f4f6f3 | Comp'Oth | | コンポス
f5d6c3d3c4f4f6f3e3 | Lightning Bolt
f5d6c3d3c4f4f6f3e6e7 | Scorpion
f5d6c3d3c4f4f6f3e6e7d7 | New Scorpion
f5d6c3d3c4f4f6f3e6e7d7g6f8f7g5h6h4g4h3h5h7 | F.A.T. Draw
f5d6c3d3c4f4f6f3e6e7f7 | Classic Scorpion
f5d6c3d3c4f4f6g5 | No-Kung | | ノーカン
f5d6c3d3c4f4f6g5e3f3g4h3g3f2 | No-Kung Continuation
f5d6c3g5 | Bent Ganglion
f5d6c4d3c5 | Cat | Chat | 猫, Neko
f5d6c4d3c5f4e3f3c2b4b3 | Berner
f5d6c4d3c5f4e3f3c2c6 | Sakaguchi
f5d6c4d3e6 | Italian | Italienne | イタリアン
f5d6c4g5 | No-Cat, Ganglion | | ノーキャット
f5d6c4g5c6 | Swallow | Hirondelle | 燕, Tsubame
f5d6c4g5c6c5d7d3b4c3e3f3 | No-Cat Continuation
f5d6c5f4d3 | Horse | Cheval | 馬, Uma
f5d6c5f4e3 | Rabbit | Lapin | 兎, Usagi
f5d6c5f4e3c6d3f3 | Ralle
f5d6c5f4e3c6d3f6e6d7 | Rose | Rose | ローズ
f5d6c5f4e3c6d3f6e6d7e7 | Greenberg, Dawg | | 手塚システム
f5d6c5f4e3c6d3f6e6d7g3 | Sharp Rose | | シャープローズ
f5d6c5f4e3c6d3f6e6d7g3c4 | Rose-Birth
f5d6c5f4e3c6d3f6e6d7g3c4b4 | Rose-Birdie, Rose-Tamenori
f5d6c5f4e3c6d3f6e6d7g3c4b4c3 | Rose-Tamenori-Kling
f5d6c5f4e3c6d3f6e6d7g3c4g5c3b4e2 | Brightstein
f5d6c5f4e3c6d3f6e6d7g4 | Flat | | フラットローズ
f5d6c5f4e3c6d3f6e6d7g4c4 | Rotating Flat
f5d6c5f4e3c6d3f6e6d7g4c4g5c3f7d2e7f2 | Rotating Flat Kling
f5d6c5f4e3c6d3f6e6d7g4c4g6 | Murakami Variation
f5d6c5f4e3c6d7 | Bhagat
f5d6c5f4e3c6e6 | Inoue
f5d6c5f4e3c6e6f6 | Iago
f5d6c5f4e3c6f3 | Shaman, Danish
f5d6c5f4e3d3 | Mimura
f5f4 | Parallel | Parallèle | 並び取り, Narabidori
f5f4e3f6d3 | Mouse | | 鼠, Nezumi
f5f6 | Diagonal | Diagonale | 斜め取り, Nanamedori
f5f6c4f4 | Semi-Wing Variation
f5f6d3f4 | Wing Variation
f5f6e6f4 | Diagonal Cow | Vache | 牛, Ushi
f5f6e6f4c3 | Buffalo, Kenichi Variation | Buffle | バッファロー
f5f6e6f4c3c4 | Hokuriku Buffalo
f5f6e6f4c3d6f3c4c5b4 | Tanida Buffalo
f5f6e6f4c3d7f3 | Maruoka Buffalo
f5f6e6f4e3 | Cow
f5f6e6f4e3c5c4 | Rose-v-Toth
f5f6e6f4e3c5c4d3c3 | Landau
f5f6e6f4e3c5c4d3f3e2 | Maruoka
f5f6e6f4e3c5c4e7 | Tanida
f5f6e6f4e3c5c4e7b5e2 | Sailboat
f5f6e6f4e3c5c4e7g4 | Aircraft, Feldborg
f5f6e6f4e3c5g5 | Cow Bat, Bat, Cambridge
f5f6e6f4e3c5g5d6g6 | Bat Kling Alternative
f5f6e6f4e3c5g5f3g4g6g3d6f7h5h4h3e7 | Bat Kling
f5f6e6f4e3c5g5g3g4f3c4 | Melnikov, Bat Piau 1
f5f6e6f4e3c5g5g3g4f3g6 | Bat Piau 2
f5f6e6f4e3d6 | Chimney
f5f6e6f4g3 | Rocket
f5f6e6f4g3d6 | Lollipop
f5f6e6f4g3f3g4 | Hamilton
f5f6e6f4g4 | Raccoon Dog | | 狸, Tanuki
f5f6e6f4g5 | Heath, Jumping Out | | 飛び出し牛, Tobidashi
f5f6e6f4g5d6 | Heath-Chimney, Mass-Turning
f5f6e6f4g5e7d7 | Iwasaki Variation
f5f6e6f4g5e7e3 | Heath-Bat
f5f6e6f4g5e7f7 | Classic Heath
f5f6e6f4g5e7f7c5e3f3c4d3c2 | Mimura Variation II
f5f6e6f4g6 | Snake, Peasant | Serpent | 蛇, Hebi
f5f6e6f4g6c5g4g5f3e3c4 | Pyramid, Checkerboarding Peasant
f5f6e6f4g6c6 | Lysons
f5f6e6f4g7 | X-square
"""


class Opening(NamedTuple):
    """A line of play from the opening position, and its names by language (possibly none), the usual one first."""

    moves: tuple[int, ...]
    names: dict[str, tuple[str, ...]]

    def name(self, language: str) -> str:
        """Return the usual name in a language, the English one if the language has none."""
        return (self.names[language] or self.names["english"])[0]


def openings() -> list[Opening]:
    all_openings = []
    for line in _TABLE.strip().splitlines():
        moves, *columns = (field.strip() for field in line.split("|"))
        columns += [""] * (len(LANGUAGES) - len(columns))
        names = {
            language: tuple(name.strip() for name in column.split(",") if name.strip())
            for language, column in zip(LANGUAGES, columns, strict=True)
        }
        all_openings.append(Opening(tuple(parse_moves(moves)), names))
    return all_openings


def _plain(name: str) -> str:
    """Return a name without case, accents, blanks and punctuation."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in letters if letter.isalnum())


def find_opening(name: str) -> Opening | None:
    """Return the opening of that name in any language; None if there is none. Case, accents, blanks and punctuation do
    not count.
    """
    wanted = _plain(name)
    for opening in openings():
        if any(_plain(alias) == wanted for names in opening.names.values() for alias in names):
            return opening
    return None


LISTS = {
    name: lists
    for satellite in satellites.present("opening_lists")
    for lists in satellite.opening_lists
    for name in lists.names
}
"""The lists of openings by name."""


def lines_of(name: str) -> tuple[tuple[int, ...], ...]:
    """Return the lines of play of the list ``name``, in order; raises `BadInput` if it cannot be read."""
    if name not in LISTS:
        raise BadInput(f"{name}: no such list of openings")
    found: tuple[tuple[int, ...], ...] = load(LISTS[name].lines)(name)
    return found


def line_of(name: str, number: str = "") -> tuple[int, ...]:
    """Return line ``number``, counted from 1, of the list ``name``, or a random one for "". Raises `BadInput` if
    the list has no such line, and as `lines_of` does.
    """
    listed = lines_of(name)
    if not number:
        return random.choice(listed)
    if not (number.isascii() and number.isdigit() and len(number) < 9 and 1 <= int(number) <= len(listed)):
        raise BadInput(f"{name} {quoted(number)}: expected a number from 1 to {len(listed)}")
    return listed[int(number) - 1]


def is_list(name: str) -> bool:
    """Return whether ``name`` stands for a list, and no file in the current folder has this name."""
    return name in LISTS and not os.path.exists(name)  # noqa: PTH110  pathlib costs start-up time


def numbered(positions: list[Position]) -> str:
    """Return list and number of the line that led to one of a game's positions, mirrored or not; "" if none did."""
    return next(filter(None, (load(place)(positions) for place in {lists.numbered for lists in LISTS.values()})), "")


def line_or_opening(text: str) -> list[int]:
    """Return the moves that ``text`` stands for: a line of play, the name of an opening, or a line of a list (its name
    and number, or its name for a random one). A line of play is not checked for illegal moves.

    Raises `BadInput` for any other text, and if the list cannot be read.
    """
    name, _, number = text.strip().lower().partition(" ")
    if name in LISTS:
        return list(line_of(name, number.strip()))
    try:
        return parse_moves(text)
    except BadInput:
        opening = find_opening(text)
        if opening is None and any(letter in "12345678" for letter in text):
            raise
        if opening is None:
            names = [name for known in openings() for aliases in known.names.values() for name in aliases]
            meant = did_you_mean(text.strip(), names, "moves such as f5d6c3, or an opening such as Tiger")
            raise BadInput(f"{quoted(text)}: {meant}") from None
        return list(opening.moves)


def opening_of(positions: list[Position]) -> Opening | None:
    """Return the opening of a game from its positions: that of the last position with a name; None if none has one."""
    by_position = {}
    for opening in openings():
        position = START
        for move in opening.moves:
            position = position.after(move)
        by_position[rules.canonical(position.player, position.opponent)] = opening
    for position in reversed(positions):
        opening_here = by_position.get(rules.canonical(position.player, position.opponent))
        if opening_here:
            return opening_here
    return None
