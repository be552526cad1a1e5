"""`base ...`: files of games converted, compared, checked, corrected and completed; other files of a game."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import referee
from dialogue import Dialogue
from full_disk import room_for

from desdaemon.clients.gamefiles import bases
from desdaemon.protocol.games.bases import FileGame, read_games
from desdaemon.protocol.games.records import Complain
from desdaemon.protocol.othello.notation import moves_text, parse_board
from desdaemon.protocol.othello.rules import PASS


def game_text(seed: int, plies: int = 60) -> str:
    """A game of seeded random play, passes left out."""
    cells, moves = referee.start(), ""
    while not referee.game_over(cells) and len(moves) < 2 * plies:
        legal = referee.legal_moves(cells)
        if not legal:
            cells = referee.passed(cells)
            continue
        seed = (seed * 1103515245 + 12345) % 2**31
        move = legal[seed % len(legal)]
        moves += referee.name(move)
        cells = referee.play(cells, move)
    return moves


def moves_of(path: Path) -> list[str]:
    """The games of a file without passes."""
    return [
        moves_text([played.move for played in game.record.moves if played.move != PASS])
        for game in read_games(str(path))
    ]


@pytest.fixture
def three(tmp_path: Path) -> Path:
    path = tmp_path / "three.txt"
    path.write_text("".join(f"{game_text(seed)}\n" for seed in (1, 2, 3)))
    return path


@pytest.mark.parametrize("format", ["ggf", "sgf", "pgn", "edx", "wtb"])
def test_conversions_keep_every_move(three: Path, tmp_path: Path, format: str) -> None:
    other, back = tmp_path / f"other.{format}", tmp_path / "back.txt"
    dialogue = Dialogue()
    assert dialogue.say(f"base convert {three} {other}") == f"3 games written to {other}\n"
    dialogue.say(f"base convert {other} {back}")
    assert moves_of(back) == moves_of(three)
    dialogue.say(f"base convert {other} {back}")
    assert len(moves_of(back)) == 6


def test_unique_counts_mirror_images_once(tmp_path: Path) -> None:
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("f5d6c3\nf5d6c3\nc4e3f6\nf5f6e6\n")
    assert Dialogue().say(f"base unique {source} {target}") == f"2 different games written to {target}\n"


def test_positions_of_a_base_are_written(three: Path, tmp_path: Path) -> None:
    problems, fen = tmp_path / "out.obf", tmp_path / "out.fen"
    dialogue = Dialogue()
    dialogue.say(f"base problem {three} 20 {problems}")
    dialogue.say(f"base tofen {three} 20 {fen}")
    boards = [parse_board(line) for line in problems.read_text().splitlines()]
    assert [parse_board(line) for line in fen.read_text().splitlines()] == boards
    assert 2 <= len(boards) <= 3
    assert all(board.empties == 20 for board in boards)


@pytest.mark.posix
def test_positions_that_cannot_be_appended_leave_the_old_file(three: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_text("old\n")
    for command in ("problem", "tofen"):
        with room_for(60):
            assert "File too large" in Dialogue().refused(f"base {command} {three} 20 {target}")
        assert target.read_text() == "old\n"


@pytest.mark.parametrize("command", ["convert {0} {0}", "unique {0} {0}", "problem {0} 20 {0}", "tofen {0} 20 {0}"])
def test_a_base_is_not_added_to_itself(three: Path, command: str) -> None:
    before = three.read_bytes()
    assert "expected another file than those that are read" in Dialogue().refused(f"base {command.format(three)}")
    assert three.read_bytes() == before


def test_two_bases_are_compared(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("f5d6\nf5f6\n")
    second.write_text("f5d6\nf5f4\nf5f6e6\n")
    answer = Dialogue().say(f"base compare {first} {second}")
    assert answer == f"1 only in {first}, 2 only in {second}\n1 in both\n"


def test_a_stopped_comparison_counts_nothing(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dialogue = Dialogue()

    def stopped(path: str, complain: Complain) -> Iterator[FileGame]:
        for game in read_games(path, complain):
            yield game
            dialogue.session.interrupt.stop(99)

    monkeypatch.setattr(bases, "read_games", stopped)
    assert "base compare: stopped" in dialogue.refused(f"base compare {three} {three}")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("base", "convert, unique"),
        ("base foo a b", "convert, unique"),
        ("base convert a.txt", "in out"),
        ("base check a.txt many", "from 1 to 30"),
        ("base convert /nowhere.txt out.txt", "No such file or directory"),
        ("base complete /nowhere.txt", "No such file or directory"),
    ],
)
def test_bad_lines_are_refused(line: str, expected: str) -> None:
    assert expected in Dialogue().refused(line)


def test_a_bad_game_is_named_and_never_lost(tmp_path: Path) -> None:
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("f5d6\nf5f5\nf5f6\n")
    out, err = Dialogue().both(f"base convert {source} {target}")
    assert out == f"2 games written to {target}\n"
    assert err.count("\n") == 1
    before = source.read_bytes()
    Dialogue().refused(f"base complete {source}")
    assert source.read_bytes() == before


def test_files_of_one_game_are_bases(tmp_path: Path) -> None:
    dialogue = Dialogue()
    dialogue.say("play f5d6c3d3")
    board = dialogue.board
    for name in ("game.edx", "game.ggf"):
        dialogue.say(f"save {tmp_path / name}")
        other = Dialogue()
        other.say(f"open {tmp_path / name}")
        assert other.board == board
    assert "expected" in dialogue.refused(f"save {tmp_path / 'game.xyz'}")
    assert "expected" in dialogue.refused(f"load {tmp_path / 'game.xyz'}")


def test_games_are_written_as_pictures(tmp_path: Path) -> None:
    dialogue = Dialogue()
    dialogue.say("play f5")
    dialogue.say(f"s {tmp_path / 'board.svg'}")
    dialogue.say(f"save {tmp_path / 'board.eps'}")
    circles = ElementTree.parse(tmp_path / "board.svg").getroot().findall("{http://www.w3.org/2000/svg}circle")
    found = ["move" if circle.get("r") == "3" else circle.get("fill") for circle in circles]
    assert [found.count(kind) for kind in ("black", "white", "move")] == [4, 1, 3]
    assert len(found) == 8
    eps = (tmp_path / "board.eps").read_text()
    assert eps.startswith("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 380 380\n")
    assert eps.count(" disc\n") == 8


def test_games_are_corrected_by_exact_scores_whatever_window_the_options_ask_for(three: Path) -> None:
    before = moves_of(three)
    dialogue = Dialogue(alpha=0, beta=1)
    assert " corrected in " in dialogue.say(f"base correct {three} 10")
    assert moves_of(three) != before
    assert {(options["alpha"], options["beta"]) for *_, options in dialogue.searcher.calls} == {(-64, 64)}


@pytest.mark.slow
def test_ends_of_games_are_checked_corrected_and_completed(three: Path, tmp_path: Path) -> None:
    from collected import Collected

    from desdaemon.core.search.loader import EngineSource, build_engine
    from desdaemon.core.settings import SessionSettings
    from desdaemon.dialogue.dialects.text import TextDialect
    from desdaemon.dialogue.session import Session

    settings = SessionSettings()
    settings.level = 4
    output = Collected()
    text = TextDialect(Session(settings, EngineSource(build_engine)), output)

    def say(line: str) -> str:
        text.execute(line)
        out, err = output.take()
        assert err == ""
        return out

    assert "3 games, 3 with mistakes" in say(f"base check {three} 10")
    assert say(f"base correct {three} 10") == f"3 games corrected in {three}\n"
    assert "3 games, 0 with mistakes" in say(f"base check {three} 10")
    short = tmp_path / "short.txt"
    short.write_text(f"{game_text(4, 20)}\n")
    assert say(f"base complete {short}") == f"1 game completed in {short}\n"
    assert next(read_games(str(short))).record.final.over
