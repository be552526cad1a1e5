"""Completions of a line of the text protocol, for prompts."""

from __future__ import annotations

from .book import BOOK_COMMANDS
from .options import OPTIONS
from .text import BASE_COMMANDS, COMMANDS


def candidates(line: str, word: str) -> list[str]:
    """Return the completions of ``word``, the end of ``line``, sorted. They are names of commands and options at the
    beginning of a line of the text protocol, and after `set`, `book`, `base` and `help`; [] elsewhere.
    """
    options = [option.name for option in OPTIONS if not option.idle]
    commands = [command.name for command in COMMANDS]
    words = {
        "": [*commands, *options, "set"],
        "set": options,
        "book": [command.name for command in BOOK_COMMANDS],
        "base": [command.name for command in BASE_COMMANDS],
        "help": ["commands", "options", "book", "base", "test", *commands],
    }
    head = " ".join(line[: len(line) - len(word)].split())
    return sorted(name for name in words.get(head, ()) if name.startswith(word.lower()))
