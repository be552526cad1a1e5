"""`desdaemon doctor`: checks of this machine. Each check gives a `Finding`: a state, and how to mend a fault."""

from __future__ import annotations

import os
from typing import NamedTuple

OK, WARNING, FAULT = "ok", "warning", "fault"
"""States of a finding: as it should be; works, but not well; does not work."""


class Finding(NamedTuple):
    """A line of the report: the check, its state, an explanation, and what the user can do ("" for nothing)."""

    check: str
    state: str
    text: str
    mend: str = ""


def shown(text: str) -> str:
    """Return a text with ``~`` in place of the home folder, whose name does not belong in a report."""
    home = os.path.expanduser("~")  # noqa: PTH111
    return text.replace(home, "~") if len(home) > 1 else text
