"""Dialogues as third-party programs hold them: what they write, and how they find what they need in the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import referee
from live import Live


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
