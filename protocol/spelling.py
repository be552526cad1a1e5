"""Words as people write them: suggestions for misspelt ones, numbers of things, names that are looked for."""

from __future__ import annotations

from collections.abc import Callable, Collection

from .errors import quoted

_LETTERS_A_SLIP = 3
"""Letters of a word for each permitted slip, rounded up: a word of four to six letters may have two."""


def slips(word: str, other: str) -> int:
    """Return the edit distance of two words: letters inserted, deleted, replaced, or exchanged with their neighbour."""
    second_above: list[int] = []
    row = list(range(len(other) + 1))
    for row_number, letter in enumerate(word, 1):
        above, row = row, [row_number]
        for column, wanted in enumerate(other, 1):
            cost = min(above[column] + 1, row[column - 1] + 1, above[column - 1] + (letter != wanted))
            if second_above and column > 1 and letter == other[column - 2] and word[row_number - 2] == wanted:
                cost = min(cost, second_above[column - 2] + 1)
            row.append(cost)
        second_above = above
    return row[-1]


def nearest(word: str, names: Collection[str]) -> str:
    """Return the name that ``word`` most likely misspells, ignoring case. If there is none and ``word`` has three
    letters or more, return the shortest name that begins with it; otherwise "".
    """
    lower = word.lower()
    most = -(-len(lower) // _LETTERS_A_SLIP) if len(lower) > 1 else 0
    best, least = "", (most + 1, False)
    for name in names:
        if abs(len(name) - len(lower)) > most:
            continue
        # The first letter is rarely the wrong one.
        distance = slips(lower, name.lower()), name[:1].lower() != lower[:1]
        # A name of one or two letters is near to everything.
        if distance[0] < len(name) and distance < least:
            best, least = name, distance
    if not best and len(lower) >= _LETTERS_A_SLIP:
        best = min((name for name in names if name.lower().startswith(lower)), key=len, default="")
    return best


def plural(number: int, noun: str) -> str:
    """Return ``1 position``, ``2 positions``, from a number and a noun in the singular."""
    if number == 1:
        return f"1 {noun}"
    if noun == "leaf":
        return f"{number} leaves"
    if noun.endswith(("ch", "s", "x")):
        return f"{number} {noun}es"
    return f"{number} {noun[:-1]}ies" if noun.endswith("ly") else f"{number} {noun}s"


def did_you_mean(word: str, names: Collection[str], expected: str) -> str:
    """Return the end of a message: ``did you mean "hint"?``, or ``expected ...`` if no other name is near."""
    guess = nearest(word, names)
    return f"did you mean {quoted(guess)}?" if guess and guess.lower() != word.lower() else f"expected {expected}"


def name_test(wanted: str) -> Callable[[str], bool]:
    """Return a test of names: whether one contains ``wanted``, in any case; for ``=Ann`` whether it is exactly Ann."""
    if wanted.startswith("="):
        return wanted[1:].strip().__eq__
    part = wanted.casefold()
    return lambda name: part in name.casefold()
