"""XBoard's protocol: what the real program says, word for word, and what it says at odd moments."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from fake_engine import ENDLESS_DEPTH, FakeSearcher
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import InProcess
from live import Live, converse
from transcripts import read

from desdaemon.engine.limits import Limits, hash_bits_within
from desdaemon.engine.result import Result
from desdaemon.guis.codecs.xboard import SETUP, drop_text, parse_drop, parse_level
from desdaemon.guis.xboard import XBoardDialect
from desdaemon.protocol.othello.notation import START as START_POSITION
from desdaemon.protocol.othello.notation import Position, board_text, parse_chess_fen
from desdaemon.protocol.othello.rules import PASS, squares

ENTRY_BYTES = 16
MAX_HASH_BITS = 32
MIN_HASH_BITS = 10

START = "---------------------------OX------XO--------------------------- X"
DROP = r"(?:P@[a-h][1-8]|@@@@)"
LINES = re.compile(
    rf"feature .+|pong .*|setup .+|move {DROP}|Hint: {DROP}|\t.*||stat01: \d+ \d+ \d+ 0 0"
    rf"|(?:1-0|0-1|1/2-1/2) \{{.+\}}|Error \(.+\): \S+|Illegal move \(.+\): .+|tellusererror .+"
    rf"| *\d+ +-?\d+ +\d+ +\d+(?: {DROP})*"
)


class Talk(InProcess):
    def __init__(self, searcher: FakeSearcher | None = None) -> None:
        super().__init__(searcher, level=4, level_chosen=True)
        self.xboard = XBoardDialect(self.session, self.output)

    def say(self, *lines: str) -> list[str]:
        """The lines of the answers, each of them one that XBoard understands."""
        for line in lines:
            self.xboard.execute(line)
        answers = self.written().splitlines()
        assert all(LINES.fullmatch(answer) for answer in answers), answers
        return answers


def test_the_greeting_waits_for_the_engine_under_done_0() -> None:
    talk = Talk()
    first, features, last = talk.say("xboard", "protover 2")
    assert (first, last) == ("feature done=0", "feature done=1")
    for feature in ("setboard=1", "ping=1", "analyze=1", 'variants="othello,reversi"', "colors=0", "memory=1", "smp=1"):
        assert feature in features
    assert "done" not in features


def test_a_slow_engine_keeps_the_greeting_open() -> None:
    with Live("-xboard", DELAY="0.5") as live:
        live.send(b"xboard\nprotover 2\n")
        assert live.until(b"done=0\n").startswith(b"feature")
        assert live.until(b"done=1\n").startswith(b"feature myname=")
        live.send(b"quit\n")
        assert live.end() == (b"", b"", 0)


def test_lines_that_come_early_do_not_shorten_the_wait_for_the_engine() -> None:
    with Live("-xboard", "-level", "4", DELAY="0.7") as live:
        live.send(b"xboard\nprotover 2\nnew\nvariant othello\nlevel 0 0:01 0\npost\nP@f5\n")
        live.until(b"done=1\n")
        # The engine's own choice and not the stopgap's: it has thought.
        assert b" P@f4\nmove P@f4\n" in live.until(b"move P@f4\n")
        live.send(b"quit\n")
        assert live.end()[2] == 0


def test_nobody_waits_for_the_engine_after_a_quit() -> None:
    assert converse(b"protover 2\nquit\n", "-xboard", DELAY="40").returncode == 0


@pytest.mark.parametrize("variant", ["othello", "reversi"])
def test_the_variant_is_set_up(variant: str) -> None:
    talk = Talk()
    assert talk.say(f"variant {variant}") == [SETUP]
    assert "[" + 32 * "P" + 32 * "p" + "] w" in SETUP
    assert board_text(parse_chess_fen(SETUP.split("crazyhouse ")[1])) == START
    assert talk.say("variant crazyhouse")[0].startswith("Error (unsupported variant")


def test_the_engine_moves_second_after_new_and_first_after_go() -> None:
    talk = Talk()
    assert talk.say("new", "variant othello", "P@f5") == [SETUP, "move P@f4"]
    assert talk.say("new", "go") == ["move P@d3"]
    assert talk.say("P@c3") == ["move P@b3"]
    assert talk.say("new", "force", "playother", "usermove f5") == ["move P@f4"]


@pytest.mark.parametrize("spelling", ["P@f5", "p@F5", "f5", "F5", "usermove P@f5", "usermove f5"])
def test_moves_are_read_in_several_forms(spelling: str) -> None:
    talk = Talk()
    assert talk.say("force", spelling) == []
    assert talk.board == "---------------------------OX------XXX-------------------------- O"


def test_illegal_moves_change_nothing() -> None:
    talk = Talk()
    for line in ("P@a1", "@@@@", "usermove d4", "usermove nonsense"):
        assert talk.say(line)[0].startswith("Illegal move ("), line
        assert talk.board == START
    assert talk.say("nonsense")[0] == "Error (unknown command): nonsense"


@pytest.mark.parametrize("explicit", [True, False])
def test_passes_may_be_said_or_left_out(explicit: bool) -> None:
    talk = Talk()
    assert talk.say("force", "setboard 8/8/8/8/8/8/8/pP6 w - - 0 1") == []
    assert talk.board == "OX" + 62 * "-" + " X"
    assert talk.say(*(["@@@@"] if explicit else []), "P@c1") == []
    assert talk.board == "OOO" + 61 * "-" + " X"


def test_the_engine_passes_and_claims_the_result() -> None:
    talk = Talk()
    assert talk.say("setboard 8/8/8/8/8/8/8/pP6 w - - 0 1", "go") == ["move @@@@"]
    assert talk.say("P@c1") == ["0-1 {Black wins 3-0}"]
    assert talk.say("force", "setboard 8/8/8/8/8/8/8/Pp6 w - - 0 1", "go") == ["move P@c1", "1-0 {White wins 3-0}"]


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_a_pass_of_the_other_engine_comes_as_a_board_on_which_no_disc_was_turned(seed: int) -> None:
    """As XBoard 4.9.1 tells it, which otherwise waits for ever for the answer."""
    chance = random.Random(seed)
    talk = Talk()
    drops = {"P": START_POSITION.black, "p": START_POSITION.white}
    talk.say("new", "force")
    position = START_POSITION
    while not position.must_pass:
        if position.over:
            return
        move = chance.choice(squares(position.moves))
        drops["P" if position.black_to_move else "p"] |= 1 << move
        assert talk.say(drop_text(move)) == []
        position = position.after(move)
    ranks = [
        "".join(next((kind for kind in "Pp" if drops[kind] >> 8 * rank + file & 1), "1") for file in range(8))
        for rank in range(7, -1, -1)
    ]
    talk.say("playother")
    after = position.after(PASS)
    moved, *_ = talk.say(f"setboard {'/'.join(ranks)}[PPpp] {'w' if after.black_to_move else 'b'} - - 0 30")
    move = parse_drop(moved.removeprefix("move "))
    assert move is not None
    assert talk.session.game.moves[-2:] == [PASS, move]
    assert talk.session.game.position == after.after(move)


def test_a_board_that_is_set_up_while_the_engine_plays_is_played_on() -> None:
    talk = Talk()
    assert talk.say("new", "setboard 8/8/8/8/8/8/8/pP6 b - - 0 1") == ["move P@c1", "0-1 {Black wins 3-0}"]
    assert talk.say("force", "setboard 8/8/8/8/8/8/8/pP6 b - - 0 1") == []


def test_clocks_are_followed() -> None:
    talk = Talk()
    talk.say("level 0 0:04 0", "time 400", "otim 399")
    assert {black: clock.left for black, clock in talk.session.clocks.items()} == {True: 4000, False: 3990}
    talk.say("level 40 5 2.5")
    clock = talk.session.clocks[True]
    assert (clock.left, clock.left_stones, clock.increment) == (300_000, 40, 2500)
    talk.say("st 1.5")
    assert (talk.session.settings.move_time, talk.session.clocks) == (1500, {})
    talk.say("level 0 1 0", "sd 6", "go")
    assert talk.session.settings.move_time == 0
    limits = talk.searcher.calls[-1][2]
    assert limits.depth == 6
    assert 0 < limits.time_ms < 30_000
    talk.say("new")
    assert talk.session.settings.depth == -1
    for line in ("level 1 2", "level a 5 0", "st 0", "st -1", "sd 99", "time x", "level 0 5:x 0"):
        assert talk.say(line)[0].startswith("Error (")


@pytest.mark.parametrize(
    ("text", "terms"),
    [("0 5 0", (0, 300_000, 0)), ("40 0:30 .5", (40, 30_000, 500)), ("0 1:05 12", (0, 65_000, 12_000))],
)
def test_level_sets_the_clock(text: str, terms: tuple[int, float, float]) -> None:
    assert parse_level(text) == terms


def test_memory_and_cores_choose_the_engine() -> None:
    talk = Talk()
    talk.say("memory 68", "cores 2")
    assert (talk.session.settings.hash_table_size, talk.session.settings.n_tasks) == (22, 2)
    talk.say("memory 1")
    assert talk.session.settings.hash_table_size == 16


@given(st.integers(1, 2**22))
def test_the_table_is_as_large_as_memory_lets_it_be(megabytes: int) -> None:
    bits = hash_bits_within(megabytes * 2**20)
    assert MIN_HASH_BITS <= bits <= MAX_HASH_BITS
    taken = 2**bits * ENTRY_BYTES
    assert taken <= megabytes * 2**20
    assert bits == MAX_HASH_BITS or 2 * taken > megabytes * 2**20


def test_thinking_is_shown_where_it_is_wanted() -> None:
    talk = Talk()
    *shown, move = talk.say("new", "post", "P@f5")
    assert move == "move P@f4"
    assert re.fullmatch(r" *4 +1000 +\d+ +6000 P@f4", shown[-1])
    assert len(talk.say("nopost", "undo", "undo", "P@f5")) == 1


def test_undo_and_remove_take_moves_back() -> None:
    talk = Talk()
    talk.say("force", "f5", "d6", "c3")
    talk.say("undo")
    assert len(talk.session.game.moves) == 2
    talk.say("remove")
    assert talk.board == START
    assert talk.say("undo") == ["Error (too few moves): undo"]


def test_hint_and_bk_answer() -> None:
    talk = Talk()
    assert talk.say("hint") == ["Hint: P@d3"]
    assert talk.board == START
    assert talk.say("bk") == ["\tno book moves", ""]


@given(st.lists(st.integers(0, 63), unique=True, max_size=60), st.integers(0, 2**64 - 1), st.booleans())
def test_fen_is_written_as_it_is_read(squares: list[int], colours: int, black_to_move: bool) -> None:
    black = sum(1 << square for square in squares if colours >> square & 1)
    white = sum(1 << square for square in squares if not colours >> square & 1)
    pair = (black, white) if black_to_move else (white, black)
    position = Position(*pair, black_to_move)
    letters = "".join("P" if black >> at & 1 else "p" if white >> at & 1 else "1" for at in range(64))
    placed = "/".join(letters[at : at + 8] for at in range(56, -1, -8))
    rest = f"{'w' if black_to_move else 'b'} - - 0 1"
    assert parse_chess_fen(f"{placed} {rest}") == position
    assert parse_chess_fen(f"{placed}[PPpp] {rest}") == position


@given(st.integers(0, 64))
def test_drops_are_written_as_they_are_read(move: int) -> None:
    assert parse_drop(drop_text(move)) == move


# Lines that come while a search runs


def test_move_now_ends_the_search() -> None:
    with Live("-xboard", "-level", str(ENDLESS_DEPTH)) as live:
        live.send(b"new\nP@f5\n")
        live.send(b"?\n")
        assert live.until(b"move P@f4\n") == b"move P@f4\n"
        live.send(b"quit\n")
        assert live.end() == (b"", b"", 0)


@pytest.mark.parametrize("line", ["force", "result 1-0 {Black resigns}", "new", "undo"])
def test_a_search_that_nobody_wants_ends_without_a_move(line: str) -> None:
    with Live("-xboard", "-level", str(ENDLESS_DEPTH)) as live:
        live.send(f"new\nP@f5\n{line}\nping 7\nquit\n".encode())
        out, err, status = live.end()
        assert (out, err, status) == (b"pong 7\n", b"", 0)


def test_the_engine_thinks_on_while_it_is_hard_and_stops_for_a_line() -> None:
    with Live("-xboard", "-level", "4") as live:
        live.send(b"new\nhard\nP@f5\n")
        live.until(b"move P@f4\n")
        live.send(b"ping 1\n")
        assert live.until(b"pong 1\n") == b"pong 1\n"
        live.send(b"quit\n")
        assert live.end()[2] == 0


class Quick(FakeSearcher):
    """Thinks that four plies are all there is."""

    def search(self, player: int, opponent: int, limits: Limits, **options: Any) -> Result:
        return super().search(player, opponent, limits._replace(depth=4), **options)


def test_analysis_follows_the_board_and_says_nothing_twice() -> None:
    talk = Talk(Quick())

    def shown() -> list[str]:
        talk.xboard.idle()
        return [line.split()[-1] for line in talk.say()]

    assert shown() == []
    assert talk.say("analyze") == []
    assert shown()[-1] == "P@d3"
    assert shown() == []
    assert talk.say("f5") == []
    assert shown()[-1] == "P@f4"
    assert talk.say("exit", "usermove f4") == []
    assert shown() == []


def test_analysis_goes_on_with_each_position_until_exit() -> None:
    with Live("-xboard") as live:
        live.send(b"new\nanalyze\n")
        live.send(b".\n")
        assert re.fullmatch(rb"(?:.*\n)*stat01: \d+ \d+ \d+ 0 0\n", live.until(b" 0 0\n"))
        live.send(b"f5\nexit\nping 3\n")
        live.until(b"pong 3\n")
        live.send(b"quit\n")
        assert live.end()[2] == 0


def test_commands_of_xboard_are_known(shared_data: Path) -> None:
    """The recorded side of the engine's opponent: each of its lines understood, each own move legal."""
    said, answered = read(shared_data / "transcripts" / "xboard_engine2.txt")
    recorded = [line.removeprefix("move ") for line in answered if line.startswith("move ")]
    talk = Talk()
    own = iter(recorded)
    for line in said:
        answers = talk.say(line)
        assert not [answer for answer in answers if answer.startswith(("Error", "Illegal"))], (line, answers)
        moves = [answer for answer in answers if answer.startswith("move ")]
        if moves:
            # The dialogue goes on with the move that the recorded engine made.
            talk.session.game.undo()
            move = parse_drop(next(own))
            assert move is not None
            talk.session.play_move(move)
    assert not list(own)
    assert len(recorded) > 30
