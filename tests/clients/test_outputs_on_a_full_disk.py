"""Results that replace a file on a full disk: the old file stays."""

from __future__ import annotations

import resource
import signal
from pathlib import Path

import pytest

from desdaemon.clients.analysis import analyze
from desdaemon.protocol.errors import BadInput


def test_an_analysis_that_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    page.write_text("old" * 5000)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(BadInput, match="File too large"):
            analyze._write(str(page), "new" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert page.read_text() == "old" * 5000
    assert [file.name for file in tmp_path.iterdir()] == ["x.html"]
