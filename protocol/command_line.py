"""The argument parser of sub-commands, with errors of one line and suggestions, and types that check numbers.

It imports argparse, so the prompt must not import it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from desdaemon.protocol.commands.options import whole_number

from .errors import quoted
from .spelling import did_you_mean

_MISSING = re.compile(r"the following arguments are required: (.*)")
_UNKNOWN = re.compile(r"unrecognized arguments: (\S+)")
_CHOICE = re.compile(r"argument (.*): invalid choice: '([^']*)' \(choose from (.*)\)")


class HelpFormatter(argparse.HelpFormatter):
    """Wraps paragraphs at the terminal's width; leaves indented ones as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = [part.strip("\n") for part in re.split(r"\n\s*\n", text)]
        return "\n\n".join(
            part if part.startswith(" ") else super(HelpFormatter, self)._fill_text(part, width, indent)
            for part in paragraphs
        )


class Parser(argparse.ArgumentParser):
    """Reports an error in one line, with a suggestion, and exits with status 2. Options cannot be abbreviated."""

    def __init__(self, *positional: object, **named: object) -> None:
        named.setdefault("allow_abbrev", False)
        named.setdefault("formatter_class", HelpFormatter)
        super().__init__(*positional, **named)  # type: ignore[arg-type]

    def print_help(self, file: Any = None) -> None:
        """Write the help; unlike argparse this raises `OSError` if it cannot be written."""
        (file or sys.stdout).write(self.format_help())

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {self._plain(message)}\n")

    def _plain(self, message: str) -> str:
        """Return an error message of argparse in the words of this program, with a suggestion for an unknown name."""
        missing, unknown, choice = (known.search(message) for known in (_MISSING, _UNKNOWN, _CHOICE))
        if missing:
            return f"{missing[1]} is missing: see {self.prog} --help"
        if unknown:
            names = [name for action in self._actions for name in action.option_strings]
            meant = did_you_mean(unknown[1].partition("=")[0], names, f"an argument that {self.prog} --help lists")
            return f"{quoted(unknown[1])}: {meant}"
        if choice:
            names = re.findall(r"[\w.-]+", choice[3])
            meant = did_you_mean(choice[2], names, f"one of {' '.join(names)}")
            return f"{choice[1]}: {quoted(choice[2])}: {meant}"
        return message.removeprefix("argument ")


def whole(low: int, high: int) -> Callable[[str], int]:
    """Return a type for `add_argument`: a whole number from ``low`` to ``high``."""

    def parse(text: str) -> int:
        number = whole_number(text)
        if number is None or not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{quoted(text)}: expected a whole number from {low} to {high}")
        return number

    return parse


def real(low: float, high: float) -> Callable[[str], float]:
    """Return a type for `add_argument`: a number from ``low`` to ``high``."""

    def parse(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{quoted(text)}: expected a number from {low:g} to {high:g}")
        return number

    return parse
