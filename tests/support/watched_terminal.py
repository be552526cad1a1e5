"""A terminal that somebody watches, in place of the tests' standard error."""

from __future__ import annotations

import pytest

from desdaemon.protocol.system import terminal


def watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show every line of progress at once, however little time the work takes."""
    monkeypatch.setattr(terminal, "watched", lambda: True)
    monkeypatch.setattr(terminal.platform, "escapes", lambda descriptor: True)
    monkeypatch.setattr(terminal, "AFTER_S", 0.0)
    monkeypatch.setattr(terminal, "TERMINAL_S", 0.0)
