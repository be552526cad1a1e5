"""Books in the dialogues of GUIs."""

import time
from pathlib import Path

import pytest
import referee
from test_book_daemon import Daemon, new_book
from test_shipped_book import plays_from_it

from desdaemon.book.record import START
from desdaemon.book.storage.store import open_store
from desdaemon.book.table import BookTable


def test_gtp_and_nboard_play_from_the_book(tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    new_book(path, "book depth 6", "book edit d3 7", "book edit f5 7", "book edit c4 7", "book edit e6 7", "play d3")
    daemon = Daemon()
    daemon.say(f"book load {path}", "play d3", "book edit c5 9", "book edit c3 -9", "book edit e3 -9")
    assert daemon.end() == 0, daemon.errors
    for protocol, lines, answer in (
        ("-gtp", ("play b d3", "genmove w"), rb"= C5"),
        (
            "-nboard",
            (
                "nboard 2",
                "set depth 60",
                "set game (;GM[Othello]PB[a]PW[b]TY[8]BO[8 " + "-" * 27 + "O*------*O" + "-" * 27 + " *]B[D3];)",
                "go",
            ),
            rb"=== C5",
        ),
    ):
        daemon = Daemon(protocol, "-level", "60", "-book-file", str(path))
        daemon.say(*lines)
        daemon.until(answer)
        assert daemon.end() == 0


@pytest.mark.parametrize(
    ("protocol", "line"), [("-gtp", "play {side} {move}"), ("-xboard", "usermove {move}"), ("-nboard", "move {move}")]
)
def test_finished_games_are_stored_in_other_protocols_too(protocol: str, line: str, tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    new_book(path, "book depth 4")
    moves = [move for move in referee.random_moves(3, 60) if move < 64]
    first = {"-gtp": "name", "-xboard": "xboard\nprotover 2\nvariant reversi\nforce", "-nboard": "nboard 1"}[protocol]
    daemon = Daemon(protocol, "-book-file", str(path), "-auto-store", "on", "-level", "1")
    daemon.say(*first.split("\n"))
    table = BookTable()
    mover, position = True, START
    for move in moves:
        if not table.moves(*position):
            mover, position = not mover, (position[1], position[0])
            if protocol == "-nboard":
                daemon.say("move PA")
        daemon.say(line.format(side="black" if mover else "white", move=referee.name(move)))
        mover, position = not mover, table.play(*position, move)
    journal = path.with_name("b.book.journal")
    before, until = journal.stat().st_size, time.monotonic() + 60
    # Its end waits for it, but not for ever.
    while journal.stat().st_size < before + 5 * 80 and time.monotonic() < until:
        time.sleep(0.1)
    assert daemon.end() == 0, daemon.errors
    with open_store(path) as store:
        assert sum(store.book.table.results(store.book.table.find(*START))) == 1, (daemon.seen, daemon.errors)


@pytest.mark.parametrize(
    ("protocol", "line"), [("-gtp", "genmove b"), ("-xboard", "new\ngo"), ("-nboard", "nboard 2\ngo")]
)
def test_every_gui_can_have_the_book_that_ships(protocol: str, line: str) -> None:
    plays_from_it(protocol, line)
