"""How a GUI's protocol is asked for by its first line."""

from __future__ import annotations

import pytest
from live import converse

FIRST = {
    "gtp": (b"protocol_version\nname\nquit\n", b"= 2\n\n= desdaemon\n\n= \n\n"),
    "nboard": (b"nboard 2\nping 3\nquit\n", b"set myname desdaemon\npong 3\n"),
    "xboard": (b"xboard\nping 3\nquit\n", b"pong 3\n"),
    "cassio": (b"ENGINE-PROTOCOL init\nENGINE-PROTOCOL quit\n", b"ready.\nbye bye.\n"),
}


@pytest.mark.parametrize("protocol", FIRST)
def test_the_first_line_chooses_the_protocol(protocol: str) -> None:
    lines, answers = FIRST[protocol]
    whole = converse(lines, f"-{protocol}")
    assert whole.stdout.replace(b"= \n", b"=\n") == answers.replace(b"= \n", b"=\n")
    assert (whole.stderr, whole.returncode) == (b"", 0)
    found = converse(lines, "-q")
    assert (found.stdout, found.stderr, found.returncode) == (b">\n" + whole.stdout, b"", 0)


@pytest.mark.parametrize("line", ["protocol_version now", "nboard 9", "ping 3"])
def test_other_lines_stay_in_the_text_protocol(line: str) -> None:
    answer = converse(f"{line}\nmoves\n".encode(), "-q")
    assert answer.stderr.count(b"\n") == 1
    assert b"D3 C4 F5 E6" in answer.stdout
