"""Tests that fail on Windows or under Wine through no fault of the program, and why."""

from __future__ import annotations

from fnmatch import fnmatchcase

OWN_WORDS = "Windows, and Wine, say in other words what is wrong with a file"
CASE = "Wine gives a file no new name that differs in upper and lower case alone"

FAILURES = {
    "tests/protocol/test_game_bases.py::test_files_that_cannot_be_read_or_written": OWN_WORDS,
    "tests/protocol/test_game_bases.py::test_the_names_of_a_base_are_its_own": CASE,
    "tests/protocol/test_games.py::test_files_that_cannot_be_used[* /nowhere/*": OWN_WORDS,
}
"""Patterns of the names that pytest gives tests. A test that passes all the same is no failure."""

WITHOUT_MAXRT = """

_set_option = Socket.setsockopt
Socket.setsockopt = lambda self, option, value: None if option == TCP_MAXRT else _set_option(self, option, value)
"""
"""Appended to pyzmq where it runs under Wine, which knows no TCP_MAXRT: libzmq then drops every connection."""


def reason(name: str) -> str | None:
    """Return why a test may fail; None if it should pass."""
    return next((why for pattern, why in FAILURES.items() if fnmatchcase(name, pattern.replace("[", "[[]"))), None)
