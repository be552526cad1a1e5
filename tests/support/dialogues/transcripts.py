"""Reads recorded dialogues of real programs: ``time < line to the engine``, ``time > line of the engine``."""

from __future__ import annotations

import re
from pathlib import Path

_LINE = re.compile(r"^ *[0-9.]+ ([<>])(?: (.*))?$")


def read(path: Path) -> tuple[list[str], list[str]]:
    """What the client said and what its engine answered, in order."""
    said: list[str] = []
    answered: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        found = _LINE.match(line)
        if found:
            (said if found[1] == "<" else answered).append(found[2] or "")
    return said, answered


def gtp_pairs(path: Path) -> list[tuple[str, list[str]]]:
    """The commands of a GTP dialogue and the lines of their complete answers."""
    said, answered = read(path)
    answers: list[list[str]] = []
    lines: list[str] = []
    for line in answered:
        if line:
            lines.append(line)
        elif lines:
            answers.append(lines)
            lines = []
    return list(zip(said, answers, strict=False))
