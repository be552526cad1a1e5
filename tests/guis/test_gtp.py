"""GTP: its grammar, its commands, passes in every manner, clocks, and the lines of real clients."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import referee
from fake_engine import FakeSearcher
from gtp_dialogue import ANSWER, Talk
from live import Live, converse
from transcripts import gtp_pairs

from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Line, Result
from desdaemon.protocol.othello.notation import move_text, parse_move
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.version import __version__

SHORT_GAME = "E6F4E3F6G5D6E7F5C5"  # Black leaves White no disc with its fifth move


class Scripted(FakeSearcher):
    """Plays the moves it was given, in their order."""

    def __init__(self, moves: list[str]) -> None:
        super().__init__()
        self.moves = [parse_move(move) for move in moves]

    def search(self, player: int, opponent: int, limits: Limits, **options: Any) -> Result:
        self.calls.append((player, opponent, limits, options))
        move = self.moves.pop(0)
        return Result((Line(move, 0, 0, 0, 1, Selectivity(100), (move,), 1, 1.0, 60),), 1, 1.0, True)


def finished() -> Talk:
    """A game that is over after nine moves, White without a disc."""
    talk = Talk()
    talk.play(SHORT_GAME)
    return talk


def passing() -> Talk:
    """A position in which the side to move has to pass, found by the rules alone."""
    talk = Talk(level=1)
    while not talk.session.game.position.must_pass:
        talk.session.play_move(max(squares(talk)))
    return talk


def squares(talk: Talk) -> list[int]:
    moves = talk.session.game.position.moves
    return [at for at in range(64) if moves >> at & 1]


def test_the_handshake_names_program_and_protocol() -> None:
    talk = Talk()
    assert talk.say("protocol_version") == "2"
    assert talk.say("name") == "desdaemon"
    assert talk.say("version") == __version__
    assert talk.say("list_games") == "Othello"
    assert talk.say("set_game Othello") == ""
    assert "unsupported game" in talk.fails("set_game Go")
    assert talk.say("boardsize 8") == ""
    assert "unacceptable size" in talk.fails("boardsize 19")
    assert talk.say("komi 6.5") == ""
    assert talk.fails("komi much").startswith("syntax error")
    assert re.fullmatch(r"\d+\.\d+", talk.say("cputime"))


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("7 protocol_version", "=7 2\n\n"),
        ("0007 komi 0", "=0007\n\n"),
        ("7 nonsense", '?7 unknown command "nonsense"\n\n'),
        ("12", "?12 unknown command\n\n"),
        ("  3\t boardsize  8  # remark", "=3\n\n"),
        ("# remark", ""),
        ("", ""),
        ("   ", ""),
        ("quit # for today", "=\n\n"),
        ("PLAY Black f5", "=\n\n"),
        ("play b d3", "=\n\n"),
        ("play B C4", "=\n\n"),
        ("-3 name", '? unknown command "-3"\n\n'),
    ],
)
def test_lines_and_answers_have_the_form_of_gtp(line: str, answer: str) -> None:
    assert Talk().raw(line) == answer


def test_moves_are_played_and_taken_back() -> None:
    talk = Talk()
    start = talk.board
    talk.say("play black F5")
    after = talk.board
    talk.say("play white d6")
    assert talk.say("gogui-rules_side_to_move") == "black"
    talk.say("undo")
    assert talk.board == after
    talk.say("undo")
    assert talk.board == start
    assert talk.fails("undo").startswith("cannot undo")
    talk.say("gogui-play_sequence b F5 w D6 b C3")
    assert talk.fails("gg-undo 4").startswith("cannot undo")
    talk.say("gg-undo 3")
    assert talk.board == start
    talk.say("play b f5")
    talk.say("clear_board")
    assert talk.board == start


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("play black A1", "illegal move"),
        ("play black pass", "illegal move"),
        ("play white F4", "illegal move: wrong colour"),
        ("genmove white", "illegal move: wrong colour"),
        ("reg_genmove white", "illegal move: wrong colour"),
        ("play red F5", "syntax error"),
        ("play black", "syntax error"),
        ("play black F9", "syntax error"),
        ("play black F5 D6", "syntax error"),
        ("play", "syntax error"),
        ("genmove", "syntax error"),
        ("gogui-play_sequence b F5 w", "syntax error"),
        ("gogui-play_sequence b F5 w A1", "illegal move"),
        ("time_settings 1 2", "syntax error"),
        ("time_settings a b c", "syntax error"),
        ("time_settings 1e3 0 0", "syntax error"),
        ("time_settings -1 0 0", "syntax error"),
        ("time_settings 1 -1 1", "syntax error"),
        ("time_left black ten 0", "syntax error"),
        ("time_left black 10", "syntax error"),
        ("final_score", "cannot score"),
        ("gg-undo -1", "syntax error"),
        ("known_command", "syntax error"),
        ("boardsize", "syntax error"),
        ("desdaemon-hint 0", "syntax error"),
    ],
)
def test_failures_change_nothing(line: str, message: str) -> None:
    talk = Talk()
    talk.say("time_settings 300 30 5")
    assert talk.fails(line).startswith(message)


def test_a_move_is_generated_and_played() -> None:
    talk = Talk()
    move = talk.say("genmove black")
    assert move == "D3"
    assert [move_text(made) for made in talk.session.game.moves] == [move]
    before = talk.state
    assert talk.say("reg_genmove white") in ("C3", "E3", "C5")
    assert talk.state == before


def test_a_forced_pass_may_be_left_out() -> None:
    talk = passing()
    other = "black" if not talk.session.game.position.black_to_move else "white"
    before = talk.state
    talk.say(f"reg_genmove {other}")
    assert talk.state == before
    answer = talk.say(f"genmove {other}")
    assert re.fullmatch("[A-H][1-8]", answer)
    assert talk.session.game.moves[-2] == PASS
    talk.say("undo")
    assert talk.state == before
    talk.say(f"play {other} {answer}")
    assert talk.session.game.moves[-2] == PASS
    talk.say("undo")
    assert talk.state == before


def test_a_pass_can_be_played() -> None:
    talk = passing()
    side = talk.say("gogui-rules_side_to_move")
    assert talk.say("gogui-rules_legal_moves") == "pass"
    before = talk.state
    assert talk.say(f"genmove {side}") == "pass"
    assert talk.session.game.moves[-1] == PASS
    talk.say("undo")
    assert talk.state == before
    talk.say(f"play {side} PASS")
    assert talk.session.game.moves[-1] == PASS
    talk.say("undo")
    assert talk.state == before


def test_a_finished_game_is_passed_and_scored() -> None:
    talk = finished()
    before = talk.state
    assert talk.say("genmove white") == "pass"
    assert talk.say("genmove black") == "pass"
    assert talk.say("reg_genmove black") == "pass"
    assert talk.say("play white pass") == ""
    assert talk.say("play black pass") == ""
    assert talk.state == before
    assert talk.say("gogui-rules_legal_moves") == ""
    assert talk.say("final_score") == "B+64"
    assert talk.say("gogui-rules_final_result") == "Black wins by 64"
    assert talk.say("desdaemon-hint") == ""
    assert talk.say("desdaemon-hint_gfx") == "TEXT Black wins by 64"
    assert talk.fails("play white A1").startswith("illegal move")


def test_gogui_is_told_the_rules() -> None:
    talk = Talk()
    assert talk.say("gogui-rules_game_id") == "Othello"
    assert talk.say("gogui-rules_board_size") == "8"
    assert talk.say("gogui-rules_side_to_move") == "black"
    assert set(talk.say("gogui-rules_legal_moves").split()) == {"D3", "C4", "F5", "E6"}
    assert talk.say("gogui-rules_final_result") == ""
    talk.say("play b D3")
    rows = talk.say("gogui-rules_board").split("\n")
    assert rows[5] == ". . . X . . . ."  # rank 3, the sixth from the top of a board that begins with rank 8
    assert rows[4] == ". . . X X . . ."
    assert talk.say("gogui-analyze_commands").split("\n")[0].endswith("/desdaemon-hint_gfx")
    assert talk.say("gogui-interrupt") == ""


def test_showboard_draws_the_board() -> None:
    talk = Talk()
    talk.say("play b F5")
    rows = talk.raw("showboard").split("\n")
    assert rows[0] == "="
    assert rows[6] == "5 . . . X X X . . 5"
    assert rows[11] == "X black 4, O white 1, white to move"


def test_hints_are_listed() -> None:
    talk = Talk(level=4)
    assert talk.say("desdaemon-hint") == "D3 +10 4@100% d3"
    assert len(talk.say("desdaemon-hint 3").split("\n")) == 3
    label, text = talk.say("desdaemon-hint_gfx").split("\n")
    assert label == "LABEL D3 +10 C4 +8 F5 +6 E6 +4"
    assert text.startswith("TEXT D3 +10")


# Clocks


@pytest.mark.parametrize("line", ["time_settings 0 0 0", "time_settings 0 1 0", "time_settings 600 30 0"])
def test_a_game_without_a_clock_has_no_limit(line: str) -> None:
    talk = Talk()
    talk.say("time_settings 1 0 0")
    talk.say(line)
    talk.say("genmove b")
    assert talk.searcher.calls[0][2].time_ms == 0


@pytest.mark.parametrize(
    ("lines", "most"),
    [
        (["time_settings 0 3 1"], 3000),
        (["time_settings 0 10 5"], 2000),
        (["time_settings 60 0 0"], 30_000),
        (["time_settings 600 0 0", "time_left b 2 0"], 1000),
        (["time_settings 600 30 10", "time_left b 6 3"], 2000),
        (["time_left b 0.5 0"], 250),
        (["time_settings 600 0 0", "time_left b -1 0"], 1),
    ],
)
def test_time_settings_limit_a_move(lines: list[str], most: int) -> None:
    talk = Talk()
    for line in lines:
        talk.say(line)
    talk.say("genmove b")
    limits = talk.searcher.calls[0][2]
    assert 1 <= limits.time_ms <= most
    assert limits.depth == 60


def test_an_only_move_takes_no_time_of_a_clock() -> None:
    talk = Talk()
    talk.say("time_settings 60 0 0")
    talk.say("gogui-setup b a1 b h8 w b1 w g8")
    assert talk.say("genmove b").upper() in ("C1", "F8")
    talk.say("gogui-setup b a1 w b1")
    assert talk.say("genmove b").upper() == "C1"
    assert [limits.depth for _, _, limits, _ in talk.searcher.calls] == [60, 1]


def test_one_side_s_clock_is_not_the_other_s() -> None:
    talk = Talk()
    talk.say("time_left white 1 0")
    talk.say("genmove b")
    assert talk.searcher.calls[0][2].time_ms == 0
    talk.say("genmove w")
    assert 0 < talk.searcher.calls[1][2].time_ms < 1000


def test_the_clock_runs_without_being_told() -> None:
    talk = Talk()
    talk.say("time_settings 60 0 0")
    talk.session.clocks[True].spend(59_000)
    talk.say("genmove b")
    assert talk.searcher.calls[0][2].time_ms < 1000
    talk.say("clear_board")
    assert talk.session.clocks[True].left == 60_000


# Real clients


GTP_TRANSCRIPTS = [
    "quarry_register.txt",
    "quarry_human_vs_engine.txt",
    "quarry_game_white_3s_per_move.txt",
    "gogui_start_and_first_moves.txt",
]


@pytest.mark.parametrize("name", GTP_TRANSCRIPTS)
def test_recorded_dialogues_are_answered_as_recorded(name: str, shared_data: Path) -> None:
    path = shared_data / "transcripts" / name
    if not path.is_file():
        pytest.skip("the recorded dialogue is not here")
    pairs = gtp_pairs(path)
    assert len(pairs) >= 6
    own = [answer[0][2:] for command, answer in pairs if command.startswith("genmove")]
    talk = Talk(Scripted(own))
    for command, answer in pairs:
        got = talk.raw(command)
        assert ANSWER.fullmatch(got), (command, got)
        assert got.startswith("="), (command, got)
        word = command.split()[0]
        if word == "list_commands":
            assert set(got[2:].split()) >= {line.removeprefix("= ") for line in answer} - OWN_COMMANDS
        elif word == "gogui-rules_legal_moves":
            assert set(got[2:].split()) == set(answer[0][2:].split())
        elif word not in ("name", "version", "gogui-title", "gogui-analyze_commands"):
            assert got.rstrip("\n") == "\n".join(answer).rstrip(), command
    if "game" in name or "human" in name:
        played = [command.split()[2] for command, _ in pairs if command.startswith("play")]
        assert refereed(talk) == len(played) + len(own) >= 60 - talk.session.game.position.empties
        assert all(call[2].time_ms <= (3000 if "3s" in name else 0) for call in talk.searcher.calls)


def refereed(talk: Talk) -> int:
    """The number of discs played in a game that the referee finds legal and that leads to the board shown."""
    cells = referee.start()
    discs = 0
    for move in talk.session.game.moves:
        if move == PASS:
            assert not referee.legal_moves(cells)
            cells = referee.passed(cells)
        else:
            cells = referee.play(cells, move)
            discs += 1
    assert referee.to_bits(cells) == talk.session.game.position[:2]
    assert referee.game_over(cells) == talk.session.game.position.over
    return discs


OWN_COMMANDS = {"hint_gfx", "evals", "ownerboard"}
"""What the recorded engine calls its own analysis."""


# Pipes


def test_the_program_speaks_gtp() -> None:
    done = converse(b"1 name\r\ngenmove b\n\nundo\nquit\nname\n", "-gtp")
    assert (done.stdout, done.stderr, done.returncode) == (b"=1 desdaemon\n\n= D3\n\n=\n\n=\n\n", b"", 0)


def test_gogui_s_interrupt_ends_a_search() -> None:
    with Live("-gtp", "-l", "60") as live:
        live.send(b"genmove b\n")
        live.send(b"# interrupt\n")
        assert live.until(b"\n\n") == b"= D3\n\n"
        live.send(b"quit\n")
        assert live.end()[2] == 0


def test_boards_are_set_up_as_gogui_does() -> None:
    talk = Talk()
    assert talk.say("gogui-setup b c3 w d3 w e3") == ""
    assert talk.say("gogui-rules_side_to_move") == "black"
    assert talk.say("gogui-rules_legal_moves") == "F3"
    assert talk.say("gogui-rules_board_gfx") == "CIRCLE F3\nTEXT Black 1, White 2"
    assert talk.say("gogui-setup_player w") == ""
    assert talk.say("gogui-rules_legal_moves") == "B3"
    for line in ("gogui-setup b", "gogui-setup b pass", "gogui-setup_player green"):
        assert talk.raw(line).startswith("? syntax error")
    assert talk.say("gogui-rules_captured_count") == "0 0"


def test_book_commands_have_answers_without_empty_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Talk()
    assert talk.raw("desdaemon-book show").startswith("? ")

    def carry_out(kept: Any, argument: str) -> None:
        kept.say(f"{argument}\n\nlast")
        kept.warn("odd")

    monkeypatch.setattr("desdaemon.dialogue.commands.book.run", carry_out)
    assert talk.say("desdaemon-book Show x") == "Show x\nlast\nwarning: odd"
