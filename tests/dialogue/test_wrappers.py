"""Dialogues as third-party programs hold them: what they write, and how they find what they need in the answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
import referee
from live import Live

from desdaemon.protocol.othello.notation import parse_board

BOTTOM = b"  A B C D E F G H            WHITE            A  B  C  D  E  F  G  H\n\n"
OPENING = "---------------------------OX------XO--------------------------- X"
PROBLEMS = [
    "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X",
    "-XXXXXX---XOOOO--XOXXOOX-OOOOOOOOOOOXXOOOOOXXOOX--XXOO----XXXXX- X",
]


class Wrapper:
    """Starts the engine as such programs do, and knows the prompt and `plays`."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.live.until(b">")

    def ask(self, line: str) -> str:
        """Write a line, read to the next prompt: a `>` with nothing behind it."""
        self.live.send(f"{line}\n".encode())
        return self.live.until(b">").decode()

    def quit(self) -> None:
        self.live.send(b"quit\n")
        out, err, status = self.live.end()
        assert (out, err, status) == (b"\n", b"", 0)


@pytest.fixture
def live() -> Iterator[Callable[..., Live]]:
    running: list[Live] = []

    def start(*arguments: str) -> Live:
        running.append(Live(*arguments))
        return running[-1]

    yield start
    for dialogue in running:
        dialogue.close()


def played(answer: str) -> str:
    """The move, cut out of columns 11 and 12 as wrappers do."""
    line = next(line for line in answer.split("\n") if line.startswith("Edax plays"))
    return line[11:13]


def test_a_game_of_two_engines_over_a_referee(live: Callable[..., Live]) -> None:
    options = ("-q", "-l", "1", "-n", "1", "-h", "18", "-book-usage", "off", "-auto-start", "off")
    players = [Wrapper(live(*options)), Wrapper(live("--level", "1", "--book-usage", "off", "-q"))]
    for player in players:
        player.ask("init")
    cells, turn, passes = referee.start(), 0, 0
    while passes < 2:
        if referee.game_over(cells):
            break
        move = played(players[turn].ask("go"))
        if move in ("PA", "PS"):
            assert not referee.legal_moves(cells)
            cells = referee.passed(cells)
            passes += 1
            players[1 - turn].ask("ps")
        else:
            cells = referee.play(cells, referee.square(move))
            passes = 0
            answer = players[1 - turn].ask(move.lower())
            assert f"You play {move}" in answer
        turn = 1 - turn
    assert referee.game_over(cells)
    for player in players:
        assert "*** Game Over ***" in player.ask("go")
        player.quit()


def test_positions_by_setboard_and_a_pass(live: Callable[..., Live]) -> None:
    options = "-q -level 2 -n-tasks 1 -hash-table-size 16 -verbose 0 -mode 3"
    wrapper = Wrapper(live(*options.split()))
    wrapper.ask("mode 3")
    wrapper.ask("set level 5")
    wrapper.ask("book-usage off")
    wrapper.ask(f"setboard {OPENING}")
    wrapper.ask("play F5D6")
    assert played(wrapper.ask("go")) == "C3"
    wrapper.ask(f"setboard {'X' * 62}O- O")
    assert played(wrapper.ask("go")) in ("PA", "PS")
    wrapper.quit()


def test_waiting_for_the_bottom_of_the_board(live: Callable[..., Live]) -> None:
    engine = live("-level", "4", "-n", "1")
    engine.until(BOTTOM)
    for line, seen in (("play f5", b"White's turn"), ("go", b"Black's turn"), ("undo", b"White's turn")):
        engine.send(f"{line}\n".encode())
        shown = engine.until(BOTTOM)
        assert seen in shown
    engine.send(b"mode 0\n")
    engine.until(BOTTOM)
    assert b"\nEdax plays " in engine.until(BOTTOM)
    engine.send(b"quit\n")
    assert engine.end()[2] == 0


def test_scores_by_words_and_by_columns(live: Callable[..., Live]) -> None:
    wrapper = Wrapper(live("-q", "-l", "16"))
    answer = wrapper.ask("hint 3")
    lines = [line for line in answer.split("\n") if re.match(r" *\d+(@\d\d%)? ", line)]
    assert len(lines) == 3
    for line in lines:
        depth, score, clock, nodes, speed, first, *_ = line.split()
        assert depth == "16@73%"
        assert int(score.strip("<>")) == int(line[7:12].strip("<> "))
        assert line[:6] == "16@73%"
        assert line[13:27].strip() == clock
        assert line[28:41].strip() == nodes
        assert line[42:52].strip() == speed
        assert line[53:55] == first
    wrapper.quit()


def test_streamed_problems_between_separators(live: Callable[..., Live]) -> None:
    engine = live("-solve", "/dev/stdin", "-verbose", "3", "-level", "4", "-n", "1")
    for problem in PROBLEMS:
        engine.send(f"{problem}\n".encode())
        block: list[str] = []
        separators = 0
        while separators < 2:
            line = engine.until(b"\n").decode().rstrip("\n")
            block.append(line)
            separators += line.startswith("------+-----+") and line.count("+") == 5
        result = block[-3]
        move = result[53:].split()[0]
        assert parse_board(problem).moves >> referee.square(move) & 1
        assert int(result[7:12].strip(" <>")) == 10
    assert engine.process.stdin is not None
    engine.process.stdin.close()
    engine.process.stdin = None
    assert engine.end()[2] == 0


def test_self_play_until_the_game_is_over(live: Callable[..., Live]) -> None:
    engine = live("-l", "1", "-auto-quit", "on")
    engine.until(b">")
    engine.send(b"mode 2\n")
    out, err, status = engine.end()
    assert (err, status) == (b"", 0)
    assert b"*** Game Over ***" in out
    assert re.search(rb"(Black|White) won|draw", out)


def test_a_script_that_quits_at_its_end(live: Callable[..., Live]) -> None:
    engine = live("-q", "-l", "3")
    out, err = engine.process.communicate(b"init\nplay f5d6c3\ngo\nhint 2\nquit\n", timeout=60)
    assert err == b""
    assert out.count(b"Edax plays") == 1
    assert len([line for line in out.split(b"\n") if line.startswith(b"    3 ")]) == 2
