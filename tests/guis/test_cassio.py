"""Cassio's protocol: each command's answer, and questions and stops while a search runs."""

from __future__ import annotations

import re
from typing import Any

import pytest
import referee
from fake_engine import ENDLESS_DEPTH, FakeSearcher
from hypothesis import given
from hypothesis import strategies as st
from in_process import InProcess
from live import Live

from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Line, Result
from desdaemon.guis.cassio import CassioDialect
from desdaemon.protocol.othello.selectivity import Selectivity

START = "---------------------------OX------XO---------------------------X"
RESULT = re.compile(
    r"[XO-]{64}[XO], move (?:[A-H][1-8]|PA|--), depth \d+, @\d+%, [BW][+-]\d+\.\d\d <= v <= [BW][+-]\d+\.\d\d, "
    r"(?:[A-Ha-h][1-8]|PA|pa)*, node \d+, time \d+\.\d{3}"
)


class Talk(InProcess):
    """A dialogue whose searches are waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.cassio = CassioDialect(self.session, self.output)

    def say(self, line: str) -> list[str]:
        """The lines of the answer to a command."""
        self.cassio.execute(f"ENGINE-PROTOCOL {line}")
        self.cassio._wait()
        return self.written().splitlines()


def test_the_short_commands_are_answered() -> None:
    talk = Talk()
    assert talk.say("init") == ["ready."]
    assert re.fullmatch(r"version: desdaemon \S+", talk.say("get-version")[0])
    assert talk.say("new-position") == ["ready."]
    assert talk.say("get-search-infos") == ["ready."]
    assert talk.say("stop") == ["ready."]
    assert talk.say("empty-hash") == []
    assert talk.searcher.cleared == 1
    assert talk.say(f"feed-hash {START} -4 4 10 73 d3c5") == []
    assert talk.say("quit") == ["bye bye."]
    assert talk.cassio.leaving == 0


def test_searches_answer_in_cassio_s_form() -> None:
    talk = Talk()
    *results, ready = talk.say(f"midgame-search {START} -64 64 8 100")
    assert ready == "ready."
    assert all(RESULT.fullmatch(line) for line in results)
    assert results[-1].startswith(f"{START}, move D3, depth 8, @100%, B+10.00 <= v <= B+10.00, D3, node ")
    _, _, limits, options = talk.searcher.calls[-1]
    assert (limits.depth, limits.selectivity, limits.time_ms) == (8, 100, 0)
    assert (options["alpha"], options["beta"]) == (-64, 64)
    talk.say(f"midgame-search {START} -2 6 12 80")
    _, _, limits, options = talk.searcher.calls[-1]
    assert (limits.selectivity, options["alpha"], options["beta"]) == (87, -2, 6)


def test_a_search_has_one_result_and_more_if_asked_for() -> None:
    iterations = [Line(19, 4, 4, 4, depth, Selectivity(100), (19,), 5, 1.0, 20) for depth in (2, 4, 6)]
    for verbose, count in ((0, 1), (1, 1), (2, 4)):
        talk = Talk()
        talk.session.settings.verbose = verbose
        talk.searcher = Interrupted(*iterations)
        *results, ready = talk.say(f"midgame-search {START} -64 64 8 100")
        assert (len(results), ready) == (count, "ready.")
        assert ", depth 6, " in results[-1]


def test_a_finished_game_has_its_result() -> None:
    talk = Talk()
    board = "XO-" + "X" * 61
    *results, _ = talk.say(f"endgame-search {board}X -64 64 100")
    assert results[-1].startswith(f"{board}X, move C1, depth 1, @100%, B+10.00")
    assert talk.searcher.calls[-1][2].depth == 1
    # White has no move.
    *results, _ = talk.say(f"endgame-search {board}O -64 64 100")
    assert ", move PA, " in results[-1]
    assert "W+10.00 <= v" in results[-1]
    *results, ready = talk.say(f"endgame-search {'X' * 64}O -64 64 100")
    assert results == [f"{'X' * 64}O, move --, depth 0, @100%, W-64.00 <= v <= W-64.00, , node 0, time 0.000"]
    assert ready == "ready."


@pytest.mark.parametrize(
    "line",
    [
        "midgame-search",
        f"midgame-search {START} -64 64 8",
        f"midgame-search {START} 4 4 8 100",
        f"midgame-search {START} -64 64 99 100",
        f"midgame-search {START[:-2]} -64 64 8 100",
        f"endgame-search {START} -64 64 200",
        f"endgame-search {START} -65 64 100",
        f"endgame-search {START} --5 64 100",
        f"endgame-search {START} nan 64 100",
        "feed-hash nonsense",
        "dance",
        "",
    ],
)
def test_bad_lines_are_answered_and_who_waits_is_told_to_go_on(line: str) -> None:
    talk = Talk()
    answer, *ready = talk.say(line)
    assert answer.startswith("ERROR: ")
    assert ready == ([] if line.startswith("feed-hash") else ["ready."])
    assert talk.searcher.calls == []


@pytest.mark.parametrize(
    ("window", "searched"),
    [("-0.51 2.30", (-1, 3)), ("-2 +6.0", (-2, 6)), ("-64.00 64.00", (-64, 64)), ("0.1 0.9", (0, 1)), (".5 1", (0, 1))],
)
def test_windows_may_have_decimals(window: str, searched: tuple[int, int]) -> None:
    talk = Talk()
    assert talk.say(f"midgame-search {START} {window} 27 90")[-1] == "ready."
    _, _, limits, options = talk.searcher.calls[-1]
    assert (options["alpha"], options["beta"]) == searched
    assert (limits.depth, limits.selectivity) == (27, 95)


class Interrupted(FakeSearcher):
    """Is stopped in its last iteration, after as many others as it is told."""

    def __init__(self, *finished: Line) -> None:
        super().__init__()
        self.finished = finished

    def search(self, player: int, opponent: int, limits: Limits, **options: Any) -> Result:
        for line in self.finished:
            options["progress"](0, line)
        return Result((Line(19, 6, 6, 64, 20, Selectivity(100), (19,), 9, 1.0, 20),), 99, 5.0, False)


def test_an_interrupted_search_claims_no_more_than_its_last_iteration_found() -> None:
    board = f"{'XO' * 22}{'-' * 20}X"
    for finished, claim in (
        ([], "depth 0, @73%"),
        ([Line(19, 4, 4, 4, 20, Selectivity(87), (19,), 5, 1.0, 20)], "depth 20, @87%"),
    ):
        talk = Talk()
        talk.searcher = Interrupted(*finished)
        *_, last, ready = talk.say(f"endgame-search {board} -64 64 100")
        assert ready == "ready."
        assert f", move D3, {claim}, B+6.00 <= v <= B+64.00, " in last


def test_an_unknown_protocol_is_told() -> None:
    talk = Talk()
    talk.cassio.execute("foo")
    assert re.fullmatch(r'ERROR: Unknown protocol "foo".*\nready\.\n', talk.output.take()[0])
    talk.cassio.execute("")
    assert talk.output.take()[0] == "ready.\n"


def test_questions_are_answered_and_a_stop_heard_while_a_search_runs() -> None:
    with Live("-cassio") as live:
        live.send(b"ENGINE-PROTOCOL init\n")
        live.until(b"ready.\n")
        live.send(f"ENGINE-PROTOCOL midgame-search {START} -64 64 {ENDLESS_DEPTH} 73\n\n".encode())
        assert live.until(b"\n") == b"ok.\n"
        live.send(b"ENGINE-PROTOCOL get-search-infos\n")
        assert re.fullmatch(rb"node \d+, time \d+\.\d{3}\n", live.until(b"\n"))
        live.send(b"ENGINE-PROTOCOL stop\n")
        answer = live.until(b"ready.\nready.\n").decode().splitlines()
        assert all(RESULT.fullmatch(line) for line in answer[:-2])
        assert len(answer) > 2
        live.send(f"ENGINE-PROTOCOL midgame-search {START} -64 64 {ENDLESS_DEPTH} 73\n".encode())
        live.send(b"ENGINE-PROTOCOL quit\n")
        assert live.until(b"bye bye.\n").endswith(b"ready.\nbye bye.\n")
        assert live.end() == (b"", b"", 0)


@given(st.integers(0, 2**32), st.integers(0, 58))
def test_results_are_about_the_position_asked_for(seed: int, plies: int) -> None:
    player, opponent = referee.to_bits(referee.random_position(seed, plies))
    squares = "".join("X" if player >> at & 1 else "O" if opponent >> at & 1 else "-" for at in range(64))
    talk = Talk()
    *results, ready = talk.say(f"midgame-search {squares}X -64 64 4 73")
    assert ready == "ready."
    for line in results:
        assert RESULT.fullmatch(line)
        assert line.startswith(f"{squares}X, ")


@pytest.mark.parametrize(("word", "answer"), [("stop", b"ready.\nready.\n"), ("quit", b"bye bye.\n")])
def test_a_stop_reaches_the_search_that_another_one_waits_for(word: str, answer: bytes) -> None:
    search = f"ENGINE-PROTOCOL midgame-search {START} -64 64 {ENDLESS_DEPTH} 73\n"
    with Live("-cassio") as live:
        live.send(f"{search}{search}ENGINE-PROTOCOL {word}\n".encode())
        live.until(answer)
