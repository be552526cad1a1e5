"""Results of games in the words of any format."""

from __future__ import annotations

import re

from desdaemon.protocol.othello.notation import plain_moves
from desdaemon.protocol.othello.scores import BARE_WIN, BlackScore


def claimed_result(text: str) -> BlackScore | None:
    """Return the result that a game's data claim, in the words of any format: ``-12.00:t``, ``B+R``, ``33-31``,
    ``1/2-1/2``. None if it is none, or cannot be.
    """
    number = re.match(r"([+-]?\d{1,2})(?:\.0*)?(?:$|:(?!\s*\d))", text)
    return _possible(int(number[1])) if number else result_in_words(text)


def result_in_words(text: str) -> BlackScore | None:
    """Return the result of a text that is no number alone: after moves such a number may be anything."""
    words = "".join(plain_moves(text).lower().split()).strip("()")
    words = re.sub(r"(?<=\d):(?=\d)", "-", words.replace("0,5", "0.5"))
    both = re.fullmatch(r"(\d{1,2})-(\d{1,2})", words)
    if both and int(both[1]) + int(both[2]) == 64:
        return BlackScore(int(both[1]) - int(both[2]))
    won = _WON.fullmatch(words)
    if won:
        sign = 1 if won[1][0] == "b" else -1
        return _possible(sign * int(won[2])) if won[2] else BlackScore(sign * BARE_WIN)
    remark = re.fullmatch(r"([^()]+)\(([^()]+)", words)
    if remark:
        # The discs may stand behind the winner.
        discs = result_in_words(remark[2])
        return result_in_words(remark[1]) if discs is None else discs
    return _WORDS.get(words)


_WON = re.compile(
    r"(b|w|black|white)(?:\+:?|wins|won)(?:by)?"
    r"(?:(\d{1,2})(?:\.0*)?(?::[a-z]|discs?)?|r(?:esign(?:ation)?)?|t(?:ime)?|f(?:orfeit)?)?"
)
_WORDS = {"1-0": BARE_WIN, "0-1": BlackScore(-BARE_WIN)} | dict.fromkeys(
    ("1/2-1/2", "1/2", "0.5-0.5", "draw", "jigo"), BlackScore(0)
)
"""Results in words and halves of points."""


def _possible(score: int) -> BlackScore | None:
    return BlackScore(score) if abs(score) <= 64 else None
