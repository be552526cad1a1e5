"""Completions of a line of the text protocol, for prompts."""

from __future__ import annotations

from .book import BOOK_COMMANDS
from .options import OPTIONS
from .text import COMMANDS


def candidates(line: str, word: str) -> list[str]:
    """Return the completions of ``word``, the end of ``line``, sorted. They are names of commands and options at the
    beginning of a line of the text protocol, and after `set`, `book`, `help` and a command with parts; [] elsewhere.
    """
    options = [option.name for option in OPTIONS if not option.idle]
    commands = [command.name for command in COMMANDS]
    words = {
        **{command.name: [part.name for part in command.parts] for command in COMMANDS},
        "": [*commands, *options, "set"],
        "set": options,
        "book": [command.name for command in BOOK_COMMANDS],
        "help": ["commands", "options", "book", "test", *commands],
    }
    head = " ".join(line[: len(line) - len(word)].split())
    return sorted(name for name in words.get(head, ()) if name.startswith(word.lower()))
