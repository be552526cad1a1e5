"""The dialogue with the real engine behind it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
import referee
from checkout import ROOT
from dialogue import Dialogue

from desdaemon.core.search.loader import EngineSource, build_engine
from desdaemon.dialogue.dialects.text import TextDialect
from desdaemon.dialogue.session import Session
from desdaemon.engine.evaluation.weights import SHIPPED
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, board_text, parse_move

pytestmark = pytest.mark.skipif(not SHIPPED.exists(), reason="the weights that come with the program are not here")


@pytest.fixture(scope="module")
def engines() -> EngineSource:
    return EngineSource(build_engine)


@pytest.fixture
def dialogue(engines: EngineSource) -> Dialogue:
    made = Dialogue(level=6)
    made.session = Session(made.session.settings, engines)
    made.text = TextDialect(made.session, made.output)
    return made


def test_a_whole_game_follows_the_referee(dialogue: Dialogue) -> None:
    dialogue.session.settings.level = 3
    cells = referee.start()
    while not referee.game_over(cells):
        move = dialogue.say("go").split("plays ")[1].strip()
        cells = referee.passed(cells) if move == "PA" else referee.play(cells, referee.square(move))
        assert dialogue.session.game.position[:2] == referee.to_bits(cells)
    assert dialogue.say("go") == "\n*** Game Over ***\n"


def test_hints_are_the_same_in_every_mirror_and_for_both_colours(dialogue: Dialogue) -> None:
    player, opponent = referee.to_bits(referee.random_position(7, 30))
    scores = set()
    evaluations = set()
    for symmetry in range(8):
        for black in (True, False):
            position = Position(rules.transform(player, symmetry), rules.transform(opponent, symmetry), black)
            dialogue.say(f"setboard {board_text(position)}")
            dialogue.session.engine().searcher.clear()
            scores.add(tuple(line[7:11] for line in dialogue.say("hint 60").splitlines()))
            evaluations.add(dialogue.say("eval"))
    assert len(scores) == 1
    assert len(evaluations) == 1


def test_the_first_moves_have_one_score_whatever_was_played_before(dialogue: Dialogue) -> None:
    for played in ("f5d6c3", "d3c5", "e6"):
        dialogue.say(f"play {played}")
        dialogue.say("go")
        for _ in range(len(played) // 2 + 1):
            dialogue.say("undo")
        lines = dialogue.say("hint 4").splitlines()
        assert sorted(line[53:55] for line in lines) == ["c4", "d3", "e6", "f5"]
        assert len({line[7:11] for line in lines}) == 1, played


def test_lines_of_play_are_legal(dialogue: Dialogue) -> None:
    for seed in range(8):
        cells = referee.random_position(seed, 50)
        if referee.game_over(cells):
            continue
        position = Position(*referee.to_bits(cells), True)
        dialogue.say(f"setboard {board_text(position)}")
        dialogue.session.settings.width = 250
        lines = dialogue.say("hint 3").splitlines()
        assert len(lines) == min(3, position.moves.bit_count())
        for line in lines:
            after = position
            for word in line[53:].split():
                assert word.islower() == after.black_to_move
                after = after.after(parse_move(word))
            assert after.over
            assert int(line[8:11]) == rules.final_score(*after[:2]) * (1 if after.black_to_move else -1)


def test_a_finished_game_is_judged_exactly(dialogue: Dialogue) -> None:
    moves = "".join(referee.name(square) for square in referee.random_moves(3, 60))
    dialogue.session.settings.level = 10
    dialogue.say(f"play {moves}")
    lines = dialogue.say("analyze 8").splitlines()
    assert all(" disagrees" not in line for line in lines)
    positions = dialogue.session.game.positions()
    for line in lines[4:-4]:
        ply, _, choices, move, score, *other = line.split()
        before = positions[int(ply) - 1]
        exact = referee.solve_moves(referee.from_bits(before.player, before.opponent))
        assert int(choices) == len(exact)
        assert int(score) == exact[parse_move(move)]
        if other:
            assert int(other[1]) == exact[parse_move(other[2])]
            assert int(other[1]) <= max(exact.values())


@pytest.mark.posix
@pytest.mark.compiled
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks the system in the way of Linux")
def test_stopped_searches_leave_no_thread_and_no_descriptor() -> None:
    """By all processors, as the options are without any, of several kinds."""

    def held() -> tuple[int, int]:
        """The least of half a second: a thread that has given its seat back takes a moment more to end."""
        folder = Path(f"/proc/{process.pid}")
        counts = []
        for _ in range(10):
            counts.append((len(list((folder / "task").iterdir())), len(list((folder / "fd").iterdir()))))
            time.sleep(0.05)
        return min(counts)

    def until_prompt() -> None:
        while (byte := process.stdout.read(1)) != b">":
            assert byte, "the output has ended"

    board = board_text(Position(*referee.to_bits(referee.random_position(6, 24)), True))
    command = [sys.executable, "-m", "daemon", "-q", "-l", "60", "-h", "16"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        until_prompt()
        found = []
        for _ in range(3):
            for search in ("hint 1", "hint 3", "go"):
                process.stdin.write(f"setboard {board}\n{search}\n".encode())
                until_prompt()
                time.sleep(0.3)
                process.stdin.write(b"stop\n")
                until_prompt()
                until_prompt()
            found.append(held())
        process.stdin.write(b"quit\n")
        # On a busy machine a search may be stopped before it has begun, and at first one thread compares the weights
        # with their checksums.
        assert all(counts[-1] <= max(counts[:-1]) for counts in zip(*found, strict=True)), found
        assert process.wait(60) == 0
