"""NBoard: what a hint says of how far it was searched, proofs of who wins, and games that are learned."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import referee
from collected import Collected
from live import Live
from test_nboard import Talk

from desdaemon.core.books.jobs import BookJobs
from desdaemon.core.books.service import Books
from desdaemon.core.search.loader import EngineSource, build_engine
from desdaemon.dialogue.commands.book import run
from desdaemon.dialogue.session import CommandContext
from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Line, Result
from desdaemon.protocol.othello.selectivity import Selectivity


def hints(answers: list[str]) -> list[tuple[str, float, str]]:
    """Move, value and depth of each line of a hint."""
    found = [re.fullmatch(r"search (\w\w)(?:-\w\w)* (\S+) 0 (\S+)", answer) for answer in answers]
    return [(match[1], float(match[2]), match[3]) for match in found if match]


def test_the_selectivity_is_shown_behind_the_depth() -> None:
    talk = Talk(level=12)
    assert hints(talk.say("hint 1")) == [("D3", 10.0, "10@73%"), ("D3", 10.0, "12@73%")]
    talk = Talk(level=8)
    assert [depth for _, _, depth in hints(talk.say("hint 1"))] == ["6", "8"]


@pytest.fixture(scope="module")
def solved() -> Talk:
    """A dialogue with the real search, which reads positions of 20 empty squares to the end."""
    talk = Talk(level=21)
    talk.session.engines = EngineSource(build_engine)
    return talk


@pytest.mark.parametrize("seed", range(4))
def test_who_wins_is_proved_before_the_value_is(seed: int, solved: Talk) -> None:
    cells = referee.random_position(seed, 44)
    player, opponent = referee.to_bits(cells)
    squares = "".join("*" if player >> at & 1 else "O" if opponent >> at & 1 else "-" for at in range(64))
    solved.say(f"set game (;GM[Othello]BO[8 {squares} *];)")
    wanted = min(2, len(referee.legal_moves(cells)))
    told = hints(solved.say(f"hint {wanted}"))
    depths = [depth for _, _, depth in told]
    final = {move: value for move, value, depth in told if depth == "100%"}
    proofs = {move: value for move, value, depth in told if depth == "100%W"}
    assert len(final) == wanted
    assert depths[-1] == "100%"
    assert proofs or 0 in final.values()
    for move, value in proofs.items():
        if move in final:
            assert (value > 0) == (final[move] > 0)
    # Nothing that is less sure comes after what is proved.
    first = min(depths.index(word) for word in ("100%", "100%W") if word in depths)
    assert set(depths[first:]) <= {"100%", "100%W"}


def test_the_compiler_is_heard_of_where_nboard_reads_it() -> None:
    with Live("-nboard", COMPILES="a kernel", DELAY="0.2") as live:
        live.send(b"nboard 2\nhint 1\n")
        assert b"\nstatus compiling a kernel\n" in live.until(b"search D3")
        live.send(b"quit\n")
        assert live.end()[1] == b""


class Stopped:
    """A search for the outcome that is ended before it has proved anything."""

    def __init__(self) -> None:
        self.cleared = 0

    def search(self, player: int, opponent: int, limits: Limits, **options: Any) -> Result:
        line = Line(19, 0, 0, 64, 20, Selectivity(100), (19,), 9, 1.0, 20)
        finished = options["window" if "window" in options else "alpha"] != -1
        return Result((line if not finished else line._replace(score=4, selectivity=73, lower=4),), 9, 1.0, finished)


def test_an_interrupted_proof_proves_nothing() -> None:
    talk = Talk(level=60)
    talk.searcher = Stopped()  # type: ignore[assignment]
    talk.say(f"set game (;GM[Othello]BO[8 {'-' * 20}{'*O' * 22} *];)")
    assert [depth for _, _, depth in hints(talk.say("hint 1"))] == ["20@73%"]


def book_command(talk: Talk, line: str) -> None:
    """Run a book command, whatever it answers."""
    run(CommandContext(talk.session, Collected()), line)


@pytest.fixture
def learner(tmp_path: Path) -> Iterator[Talk]:
    """A dialogue with a book of its own of level 1."""
    talk = Talk(level=1)
    talk.session.books = Books(BookJobs())
    book_command(talk, "new 1 8")
    book_command(talk, f"save {tmp_path / 'own.desbook'}")
    yield talk
    assert talk.session.books.jobs.close(60)
    talk.session.books.close(discard=True)


def learned(talk: Talk, *more: str) -> list[str]:
    """What is said after ``learn`` and some more lines, once it is done."""
    said = talk.say("learn")
    # The reader hears of a ping while the game is being learned.
    talk.session.interrupt.stop(10**6, abandon=True)
    for line in more:
        said += talk.say(line)
    assert talk.nboard._learning is not None
    assert talk.nboard._learning.wait(60)
    return said + talk.output.take()[0].splitlines()


def test_a_ping_that_follows_does_not_end_the_learning(learner: Talk) -> None:
    for move in ("F5", "D6", "C3", "D3"):
        learner.say(f"move {move}")
    said = learned(learner, "ping 3", "go")
    assert said[0] == "status desdaemon is learning"
    assert "pong 3" in said
    assert said.count("learned") == 1
    game = learner.session.game
    assert learner.session.books is not None
    for position in game.positions():
        assert learner.session.books.look_up(position.player, position.opponent) is not None
    # Once more: it is all there already.
    assert learned(learner)[-1] == "learned"


def test_nothing_is_called_learned_that_is_not_kept(learner: Talk, tmp_path: Path) -> None:
    assert learner.say("learn") == ["status there are no moves: nothing is learned"]
    assert learner.session.books is not None
    book = learner.session.books.book
    assert book is not None
    # A book without a file of its own: what it learns is gone with the program.
    book_command(learner, "new 1 8")
    learner.say("move F5")
    said = learned(learner)
    assert "learned" not in said
    assert said[-1].startswith("status learned until the end of the program")
