"""Tests that fail on Windows or under Wine through no fault of the program, and why."""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase

OWN_WORDS = "Windows, and Wine, say in other words what is wrong with a file"
DELETED = "Wine keeps the name of a deleted file until the last who has it open closes it"
CASE = "Wine gives a file no new name that differs in upper and lower case alone"

FAILURES = {
    "tests/engine/test_weights_loading.py::test_unreadable_files_are_refused": OWN_WORDS,
    "tests/book/edax/test_book_edax.py::test_bad_headers_are_refused": OWN_WORDS,
    "tests/book/storage/test_book_store.py::test_a_journal_that_somebody_removed_takes_no_changes_*": DELETED,
    "tests/dialogue/test_bad_input.py::test_bad_input_gets_one_line_and_changes_nothing[solve /dev-*": OWN_WORDS,
    "tests/clients/gamefiles/test_base_commands.py::test_bad_lines_are_refused[base convert /nowhere.txt *": OWN_WORDS,
    "tests/clients/gamefiles/test_base_commands.py::test_bad_lines_are_refused[base complete /nowhere.txt-*": OWN_WORDS,
    "tests/dialogue/test_driving_programs.py::*[a script written for Edax's own start and end]": OWN_WORDS,
    "tests/clients/gamefiles/test_problem_commands.py::test_a_missing_base_is_told": OWN_WORDS,
    "tests/clients/gamefiles/test_game_bases.py::test_unreadable_and_unwritable_files_are_named": OWN_WORDS,
    "tests/clients/gamefiles/test_game_bases.py::test_the_names_of_a_base_are_its_own": CASE,
    "tests/clients/gamefiles/test_games.py::test_unusable_files_are_named[* /nowhere/*": OWN_WORDS,
}
"""Patterns of the names that pytest gives tests. Under Wine a test that passes all the same is a failure too."""

WITHOUT_MAXRT = """

_set_option = Socket.setsockopt
Socket.setsockopt = lambda self, option, value: None if option == TCP_MAXRT else _set_option(self, option, value)
"""
"""Appended to pyzmq where it runs under Wine, which knows no TCP_MAXRT: libzmq then drops every connection."""


def reason(name: str) -> str | None:
    """Return why a test may fail; None if it should pass."""
    return next((why for pattern, why in FAILURES.items() if fnmatchcase(name, pattern.replace("[", "[[]"))), None)


def under_wine() -> bool:
    if sys.platform != "win32":
        return False
    from ctypes import WinDLL

    return hasattr(WinDLL("ntdll"), "wine_get_version")
