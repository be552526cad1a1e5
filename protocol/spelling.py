"""Suggestions for misspelt commands, options and names, for error messages."""

from __future__ import annotations

from collections.abc import Iterable

from .errors import quoted

_LETTERS_A_SLIP = 3
"""Letters for each permitted slip: a word of at most this many may differ by one slip, of twice as many by two, and so
on.
"""


def slips(word: str, other: str) -> int:
    """Return the edit distance of two words: letters inserted, deleted, replaced, or exchanged with their neighbour."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(word, 1):
        above, row = row, [at]
        for to, wanted in enumerate(other, 1):
            cost = min(above[to] + 1, row[to - 1] + 1, above[to - 1] + (letter != wanted))
            if before and to > 1 and letter == other[to - 2] and word[at - 2] == wanted:
                cost = min(cost, before[to - 2] + 1)
            row.append(cost)
        before = above
    return row[-1]


def nearest(word: str, names: Iterable[str]) -> str:
    """Return the name that ``word`` is most likely a misspelling of, or "" if none is near. Case does not count."""
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


def did_you_mean(word: str, names: Iterable[str], expected: str) -> str:
    """Return ``did you mean "hint"?`` for the end of a message, and what was expected if no name is near."""
    found = nearest(word, list(names))
    return f"did you mean {quoted(found)}?" if found and found.lower() != word.lower() else f"expected {expected}"
