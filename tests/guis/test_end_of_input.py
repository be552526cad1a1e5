"""The end of the input: a script gets its answers, a GUI that has gone leaves no search behind."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from fake_engine import ENDLESS_DEPTH
from live import Live, converse
from test_cassio import START
from test_gtp import Talk

from desdaemon.core.search.loader import Abandoned

LATE_S = 50
"""Before the end of a search of these tests, a minute, and long after the end of a grace on a busy machine."""

ENDLESS = ["-depth", str(ENDLESS_DEPTH)]
DIALOGUES = {
    "gtp": b"genmove b\n",
    "nboard": b"nboard 2\ngo\n",
    "xboard": b"new\nP@f5\n",
    "cassio": f"ENGINE-PROTOCOL midgame-search {START} -64 64 {ENDLESS_DEPTH} 73\n".encode(),
}


@pytest.mark.parametrize("protocol", DIALOGUES)
def test_a_search_does_not_outlive_the_gui(protocol: str) -> None:
    begun = time.monotonic()
    done = converse(DIALOGUES[protocol], f"-{protocol}", *ENDLESS, GRACE_S="0.1")
    assert done.returncode == 0
    assert done.stderr == b""
    assert time.monotonic() - begun < LATE_S


@pytest.mark.parametrize("protocol", DIALOGUES)
def test_the_wait_for_an_engine_does_not_outlive_the_gui(protocol: str) -> None:
    begun = time.monotonic()
    assert converse(DIALOGUES[protocol], f"-{protocol}", DELAY="60", GRACE_S="0.1").returncode == 0
    assert time.monotonic() - begun < LATE_S


def test_lines_after_the_grace_get_no_unsearched_move() -> None:
    talk = Talk()
    talk.session.interrupt.stop_all()
    assert talk.fails("genmove b") == "interrupted"
    with pytest.raises(Abandoned):
        talk.session.search(talk.session.game.position, talk.session.limits(talk.session.game.position))


def test_a_book_that_is_being_opened_is_waited_for_by_bk(tmp_path: Path) -> None:
    """Whatever comes behind it; ``quit`` ends searches, and this is none."""
    book = tmp_path / "own.desbook"
    assert converse(f"book new 1 4\nbook save {book}\nplay f5\nbook store\n".encode(), "-q").returncode == 0
    done = converse(b"bk\nquit\n", "-xboard", "-book-file", str(book))
    assert b"\tBook:  P@" in done.stdout


def test_a_hint_and_a_move_to_look_at_come_from_the_book(tmp_path: Path) -> None:
    """Of all moves that the book holds for equal, the pretended engine knows one only."""
    book = tmp_path / "own.desbook"
    assert converse(f"book new 1 4\nbook save {book}\nplay f5\nbook store\n".encode(), "-q").returncode == 0
    options = ("-book-file", str(book), "-book-seed", "5")
    with Live("-xboard", *options) as live:
        live.send(b"force\nf5\nbk\nhint\n")
        known = dict(word.split(b":") for word in live.until(b"\n\n").split()[1:])
        hint = live.until(b"\n").split()[1]
        assert known[hint] == max(known.values(), key=int)
        live.send(b"quit\n")
        assert live.end()[2] == 0
    done = converse(b"play b f5\nreg_genmove w\nquit\n", "-gtp", *options)
    assert done.stdout.split(b"\n\n")[1] == b"= " + hint[2:].upper()
