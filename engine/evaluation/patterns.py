"""The patterns of the evaluation: squares, classes and the symmetric packing of their configurations.

A configuration of a pattern of n squares is a base-3 number, the first square most significant, with digit 0 = side to
move, 1 = opponent, 2 = empty. Patterns of one class share weights, and a configuration shares its weight with its
mirror image if it has one. Packed numbers are counted by first appearance as configurations run from 0 to 3**n - 1.

The first twelve classes are Edax's, and the weights of a ply begin as in its eval.dat: the packed tables of these
classes one after the other, then the constant. The tables of the wide classes follow. Some of Edax's patterns lie
within a wide one and supply weights for configurations that the fit saw too seldom in the wide one. Their weights are
added to those of the wide pattern beforehand, which is exact since they are integers: `TABLES` has the sums.

Nothing but the standard library is imported: kernels read these tables when they are compiled.
"""

from __future__ import annotations

from array import array
from functools import cache
from typing import NamedTuple

OWN, OPPONENT, EMPTY = 0, 1, 2

_LAYOUT = """
A1 B1 A2 B2 C1 A3 C2 B3 C3|H1 G1 H2 G2 F1 H3 F2 G3 F3|A8 A7 B8 B7 A6 C8 B6 C7 C6|H8 H7 G8 G7 H6 F8 G6 F7 F6
A5 A4 A3 A2 A1 B2 B1 C1 D1 E1|H5 H4 H3 H2 H1 G2 G1 F1 E1 D1|A4 A5 A6 A7 A8 B7 B8 C8 D8 E8|H4 H5 H6 H7 H8 G7 G8 F8 E8 D8
B2 A1 B1 C1 D1 E1 F1 G1 H1 G2|B7 A8 B8 C8 D8 E8 F8 G8 H8 G7|B2 A1 A2 A3 A4 A5 A6 A7 A8 B7|G2 H1 H2 H3 H4 H5 H6 H7 H8 G7
A1 C1 D1 C2 D2 E2 F2 E1 F1 H1|A8 C8 D8 C7 D7 E7 F7 E8 F8 H8|A1 A3 A4 B3 B4 B5 B6 A5 A6 A8|H1 H3 H4 G3 G4 G5 G6 H5 H6 H8
A2 B2 C2 D2 E2 F2 G2 H2|A7 B7 C7 D7 E7 F7 G7 H7|B1 B2 B3 B4 B5 B6 B7 B8|G1 G2 G3 G4 G5 G6 G7 G8
A3 B3 C3 D3 E3 F3 G3 H3|A6 B6 C6 D6 E6 F6 G6 H6|C1 C2 C3 C4 C5 C6 C7 C8|F1 F2 F3 F4 F5 F6 F7 F8
A4 B4 C4 D4 E4 F4 G4 H4|A5 B5 C5 D5 E5 F5 G5 H5|D1 D2 D3 D4 D5 D6 D7 D8|E1 E2 E3 E4 E5 E6 E7 E8
A1 B2 C3 D4 E5 F6 G7 H8|A8 B7 C6 D5 E4 F3 G2 H1
B1 C2 D3 E4 F5 G6 H7|H2 G3 F4 E5 D6 C7 B8|A2 B3 C4 D5 E6 F7 G8|G1 F2 E3 D4 C5 B6 A7
C1 D2 E3 F4 G5 H6|A3 B4 C5 D6 E7 F8|F1 E2 D3 C4 B5 A6|H3 G4 F5 E6 D7 C8
D1 E2 F3 G4 H5|A4 B5 C6 D7 E8|E1 D2 C3 B4 A5|H4 G5 F6 E7 D8
D1 C2 B3 A4|A5 B6 C7 D8|E1 F2 G3 H4|H5 G6 F7 E8
"""

_WIDE = """
A2 B2 C2 D2 E2 F2 G2 H2 B1 G1
C1 D2 E3 F4 G5 H6 F2 G3 G2 H1
D1 E2 F3 G4 H5 E1 F2 G3 H4 G2
A1 B1 C1 D1 E1 F1 G1 H1 C2 F2
"""
"""The first instance of each wide class; the others are its images."""


class PatternClass(NamedTuple):
    """Patterns that are mirror images of one another and share one table of weights."""

    instances: tuple[tuple[int, ...], ...]
    """The squares (0 = A1 .. 63 = H8) of each pattern, most significant digit first."""
    mirror: tuple[int, ...]
    """Digit j of a configuration's mirror image is digit `mirror[j]` of the configuration.

    The places are 0, 1, 2 ... if only the identity maps the pattern onto itself.
    """
    packed_offset: int
    """The index of the class's first weight among the weights of a ply."""
    packed_size: int
    """The number of the class's weights in a ply."""
    table_offset: int
    """The index of the class's first entry if the full tables of 3**n configurations are laid end to end."""

    @property
    def length(self) -> int:
        """The number of squares of a pattern."""
        return len(self.instances[0])

    @property
    def table_size(self) -> int:
        """The number of configurations, 3**length."""
        return int(3**self.length)


class PatternTable(NamedTuple):
    """A table of the evaluation: it has the patterns of one class and, for each of their configurations, the sum of the
    weights of that class and of the narrower classes that lie within it.
    """

    instances: tuple[tuple[int, ...], ...]
    """The squares of each pattern, most significant digit first."""
    parts: tuple[tuple[int, tuple[int, ...]], ...]
    """The classes of the table: for each its number and the places of its digits, where digit j of a class is digit
    `places[j]` of the table.
    """

    @property
    def length(self) -> int:
        """The number of squares of a pattern."""
        return len(self.instances[0])


def _symmetries() -> list[tuple[int, ...]]:
    """Return the eight symmetries of the board as tuples: element s is the image of square s."""
    images = []
    for transpose in (False, True):
        for flip_rank in (0, 7):
            for flip_file in (0, 7):
                squares = (divmod(square, 8) for square in range(64))
                turned = ((file, rank) if transpose else (rank, file) for rank, file in squares)
                images.append(tuple((rank ^ flip_rank) * 8 + (file ^ flip_file) for rank, file in turned))
    return images


def _images(squares: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the pattern and its distinct mirror images, the squares of each in the pattern's order."""
    found: dict[frozenset[int], tuple[int, ...]] = {}
    for image in _symmetries():
        seen = tuple(image[square] for square in squares)
        found.setdefault(frozenset(seen), seen)
    return tuple(found.values())


def _mirror(squares: tuple[int, ...]) -> tuple[int, ...]:
    """Return the permutation by which a symmetry of the board maps the pattern to itself.

    Digit j of a mirrored configuration is digit ``result[j]`` of the original. Returns the identity if there is no
    other such symmetry.
    """
    for image in _symmetries():
        seen = tuple(image[square] for square in squares)
        if seen != squares and set(seen) == set(squares):
            return tuple(squares.index(square) for square in seen)
    return tuple(range(len(squares)))


def _squares(names: str) -> tuple[int, ...]:
    return tuple(ord(name[0]) - ord("A") + 8 * (int(name[1]) - 1) for name in names.split())


def _classes() -> tuple[PatternClass, ...]:
    edax = [tuple(map(_squares, line.split("|"))) for line in _LAYOUT.split("\n")[1:-1]]
    wide = [_images(_squares(line)) for line in _WIDE.split("\n")[1:-1]]
    classes: list[PatternClass] = []
    packed = table = 0
    for instances in edax + wide:
        if len(classes) == len(edax):
            packed += 1
        mirror = _mirror(instances[0])
        length = len(mirror)
        orbits = sum(1 for digit, image in enumerate(mirror) if image >= digit)
        size = (3**length + 3**orbits) // 2
        classes.append(PatternClass(instances, mirror, packed, size, table))
        packed += size
        table += 3**length
    return tuple(classes)


CLASSES = _classes()
"""Edax's twelve classes and the wide ones, in the order of their tables."""


def _places(part: PatternClass, whole: PatternClass) -> tuple[int, ...] | None:
    """Return the places of ``part``'s digits in ``whole``; None unless the classes have equally many patterns and each
    pattern of ``whole`` contains just one of ``part``.
    """
    if len(part.instances) != len(whole.instances):
        return None
    inside = [[small for small in part.instances if set(small) <= set(large)] for large in whole.instances]
    if any(len(contained) != 1 for contained in inside):
        return None
    return tuple(whole.instances[0].index(square) for square in inside[0][0])


def _tables() -> tuple[PatternTable, ...]:
    parts: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in CLASSES]
    for number, pattern in enumerate(CLASSES):
        hosts = ((host, _places(pattern, whole)) for host, whole in enumerate(CLASSES) if whole.length > pattern.length)
        host, places = next(((h, p) for h, p in hosts if p is not None), (number, tuple(range(pattern.length))))
        parts[host].append((number, places))
    return tuple(PatternTable(CLASSES[n].instances, tuple(own)) for n, own in enumerate(parts) if own)


EDAX_CLASSES = len(_LAYOUT.split("\n")) - 2
"""Number of Edax's classes."""

TABLES = _tables()
"""The tables of the evaluation. Each class belongs to one: its own, or that of a wider class that contains it."""

INSTANCES = tuple(instance for pattern in CLASSES for instance in pattern.instances)
"""The squares of all patterns, class by class."""

INSTANCE_CLASS = tuple(number for number, pattern in enumerate(CLASSES) for _ in pattern.instances)
"""The number of the class of each pattern, in the order of `INSTANCES`."""

EDAX_INSTANCES = INSTANCE_CLASS.index(EDAX_CLASSES)
"""Number of patterns in Edax's classes."""

TABLE_SIZE = CLASSES[-1].table_offset + CLASSES[-1].table_size
"""Number of entries of the classes' full tables, the constant not counted."""

CONSTANT = CLASSES[EDAX_CLASSES - 1].packed_offset + CLASSES[EDAX_CLASSES - 1].packed_size
"""The index of the constant among a ply's packed weights."""

EDAX_SIZE = CONSTANT + 1
"""Number of weights of a ply in Edax's layout; ours begin with them."""

PACKED_SIZE = CLASSES[-1].packed_offset + CLASSES[-1].packed_size
"""Number of weights of a ply."""

NAME = "wide46"
"""The name of this set of patterns in weights files. A changed set needs a new name."""


@cache
def packing() -> array[int]:
    """Return, for each of the TABLE_SIZE entries of the full tables, its index among a ply's PACKED_SIZE weights."""
    places = array("i", bytes(4 * TABLE_SIZE))
    for pattern in CLASSES:
        length = pattern.length
        # The mirror image of a number is that of its leading digits plus the value of its last digit at its new place.
        mirrored = [0]
        for digit in range(length):
            value = 3 ** (length - 1 - pattern.mirror.index(digit))
            mirrored = [head + own * value for head in mirrored for own in (0, 1, 2)]
        following = pattern.packed_offset
        for number, image in enumerate(mirrored):
            if image < number:
                places[pattern.table_offset + number] = places[pattern.table_offset + image]
            else:
                places[pattern.table_offset + number] = following
                following += 1
    return places
