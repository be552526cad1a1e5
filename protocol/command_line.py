"""Parsers of sub-commands' arguments: errors of one line with a suggestion, checked numbers, help.

This imports argparse, so the prompt must not import it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import NoReturn

from desdaemon.protocol.commands.options import whole_number

from .errors import quoted
from .spelling import did_you_mean

_UNKNOWN = re.compile(r"unrecognized arguments: (\S+)")
_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)")


class HelpFormatter(argparse.HelpFormatter):
    """Fills paragraphs to the terminal's width; leaves indented ones as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = [part.strip("\n") for part in re.split(r"\n\s*\n", text)]
        return "\n\n".join(
            part if part.startswith(" ") else super(HelpFormatter, self)._fill_text(part, width, indent)
            for part in paragraphs
        )


class Parser(argparse.ArgumentParser):
    """Reports an error in one line with a suggestion, and exits with status 2. Options cannot be abbreviated."""

    def __init__(self, *positional: object, **named: object) -> None:
        named.setdefault("allow_abbrev", False)
        named.setdefault("formatter_class", HelpFormatter)
        super().__init__(*positional, **named)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        text = (
            message if re.search(": (expected|did you mean) ", message) else f"{message}: {self._suggestion(message)}"
        )
        self.exit(2, f"{self.prog}: {text}\n")

    def _suggestion(self, message: str) -> str:
        expected = f"what {self.prog} --help shows"
        unknown = _UNKNOWN.search(message)
        if unknown:
            names = [name for action in self._actions for name in action.option_strings]
            return did_you_mean(unknown[1].partition("=")[0], names, expected)
        choice = _CHOICE.search(message)
        return (
            did_you_mean(choice[1], re.findall(r"[\w.-]+", choice[2]), expected) if choice else f"expected {expected}"
        )


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
