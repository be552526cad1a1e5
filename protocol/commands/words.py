"""The words of a command's line, and the names of files in it."""

from __future__ import annotations

import os


def split_words(text: str) -> list[str]:
    """Return the words of a line; double quotes keep blanks together."""
    words: list[str] = []
    for number, part in enumerate(text.split('"')):
        words += [part] if number % 2 else part.split()
    return words


def file_names(text: str) -> list[str]:
    """Return the names of files in a line, as `split_words` divides it; ``~`` is the home folder."""
    return [os.path.expanduser(word) for word in split_words(text)]  # noqa: PTH111  pathlib costs start-up time


def file_name(text: str) -> str:
    """Return the one name that a line is, its blanks in quotes or not; ``~`` is the home folder."""
    name = text.strip()
    if len(name) > 1 and name[0] == name[-1] == '"':
        name = name[1:-1]
    return os.path.expanduser(name)  # noqa: PTH111
