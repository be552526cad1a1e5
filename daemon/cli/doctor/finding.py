"""The finding of a check of `desdaemon doctor`."""

from __future__ import annotations

import os
from typing import NamedTuple

OK, WARNING, FAULT = "ok", "warning", "fault"
"""As it should be; works, but worse than it could; does not work."""


class Finding(NamedTuple):
    """One line of the report: what was looked at, its state, what was found, and what mends it (empty where ok)."""

    check: str
    state: str
    text: str
    mend: str = ""


def shown(text: str) -> str:
    """A text without the name of the home folder, which is nobody's business in a report of a fault."""
    home = os.path.expanduser("~")  # noqa: PTH111
    return text.replace(home, "~") if len(home) > 1 else text
