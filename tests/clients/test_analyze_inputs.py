"""What can be analysed, how it is interrupted, and what is written besides the table and the page."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from checkout import IMPORT, ROOT, SUPPORT
from processes import alive, gone
from random_games import random_game, with_pass
from test_analyze import NASTY, ExactSource, Page, analysed, base, games, late_game, pretending  # noqa: F401

from desdaemon.clients.analysis import analyze as command
from desdaemon.clients.analysis.collection import Collection
from desdaemon.clients.analysis.game import AnalyzedPly, analyze_game, as_json
from desdaemon.clients.analysis.notes import with_notes
from desdaemon.clients.analysis.page import page
from desdaemon.clients.analysis.table import table
from desdaemon.clients.errors import NoDaemon
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.bases import FileGame, parse_games, read_games
from desdaemon.protocol.games.records import GameRecord
from desdaemon.protocol.othello.notation import START, move_text, moves_text, parse_moves
from desdaemon.protocol.othello.rules import PASS

# Input


@pytest.mark.usefixtures("pretending")
@pytest.mark.parametrize("words", [["f5d6c3"], ["F5", "d6", "C3"], ["f5 d6 c3"]])
def test_moves_as_an_argument(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([*words, "--depth", "3", "--json", "-"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["moves"] == "f5d6c3"
    assert err == ""


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["f5z9"], '"z9" is not a move'),
        (["f5f5"], "F5 (move 2) is illegal"),
        (["game.txt"], '"game.txt": No such file or directory'),
        (["/no/such"], '"/no/such": No such file or directory'),
        (["pa"], "illegal"),
        ([""], "no such file, and as moves"),
    ],
)
def test_words_that_are_neither(words: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(words) == 1
    err = capsys.readouterr().err
    assert line in err
    assert err.count("\n") == 1


def child(*arguments: str, **how: Any) -> subprocess.Popen[bytes]:
    """The command in a process of its own, with a daemon that pretends."""
    code = (
        IMPORT + "from desdaemon.clients.match import engine_process\n"
        f"engine_process.OWN_COMMAND = [sys.executable, {str(SUPPORT / 'fake_daemon.py')!r}]\n"
        "from desdaemon.clients.analysis import analyze; sys.exit(analyze.main(sys.argv[1:]))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **how,
    )


def test_standard_input() -> None:
    process = child("-", "--depth", "2", "--json", "-", stdin=subprocess.PIPE)
    out, err = process.communicate(b"(;GM[Othello]PB[Ann]PW[Bob]TY[8]B[f5]W[d6];)\n", timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert (json.loads(out)["black"], json.loads(out)["moves"]) == ("Ann", "f5d6")


def test_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = child(str(pipe), "--depth", "2", "--json", "-")
    pipe.write_text("f5d6c3\n")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert json.loads(out)["moves"] == "f5d6c3"


# Interruptions


class StoppingSource(ExactSource):
    """Ends after so many requests, as a daemon that is killed."""

    def __init__(self, requests: int) -> None:
        super().__init__()
        self.left = requests

    def analyze(
        self, requests: Sequence[Mapping[str, Any]], on_partial: Callable[[Mapping[str, Any]], None]
    ) -> list[Mapping[str, Any]]:
        self.left -= 1
        if self.left < 0:
            raise NoDaemon("gone")
        return super().analyze(requests, on_partial)


def test_an_interrupted_analysis_is_of_the_first_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    from desdaemon.clients.analysis import game as module

    monkeypatch.setattr(module, "_CHUNK", 2)
    game = next(game for game in games() if sum(played.move != PASS for played in game.record.moves) > 5)
    whole = analysed(game)
    seen = set()
    for requests in range(7):
        part = analyze_game(game, StoppingSource(requests), "x", {"level": 9}, lambda done, total: None, lambda: True)
        assert part.steps == whole.steps[: len(part.steps)]
        assert part.complete == (len(part.steps) == len(whole.steps))
        seen.add(len(part.steps))
        if part.steps:
            assert Page(page(part)).open == []
            if not part.complete:
                assert f"interrupted: the first {len(part.steps)} of {len(whole.steps)} moves" in table(part)
                assert as_json(part)["complete"] is False
            assert as_json(part)["moves"] == moves_text([played.move for played in game.record.moves])
    assert len(seen) > 3
    with pytest.raises(NoDaemon):
        analyze_game(game, StoppingSource(1), "x", {"level": 9}, lambda done, total: None, lambda: False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_prints_what_was_found(number: signal.Signals, tmp_path: Path) -> None:
    """The daemon that pretends never ends the search of the second chunk."""
    moves = moves_text([played.move for played in random_game(2, 20).moves])
    out = tmp_path / "game.json"
    reached = tmp_path / "reached"
    process = child(moves, "--depth", "3", "--json", str(out), env={**os.environ, "ENDLESS": f"18:{reached}"})
    while not reached.exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    shown, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert b"Traceback" not in err
    found = json.loads(out.read_text())
    assert found["complete"] is False
    assert 0 < len(found["steps"]) < 20
    assert f"interrupted: the first {len(found['steps'])} of 20 moves" in shown.decode()


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")
def test_a_killed_analysis_leaves_no_daemon_behind(tmp_path: Path) -> None:
    mark, reached = f"desdaemon-analysis-{os.getpid()}", tmp_path / "reached"
    process = child("f5d6c3", "--depth", "3", env={**os.environ, "ENDLESS": f"1:{reached}", "MARK": mark})
    while not reached.exists():
        assert process.poll() is None
        time.sleep(0.02)
    assert len(alive(mark)) > 1
    process.kill()
    process.communicate()
    assert gone(mark)


# What is thought of moves


def test_moves_that_are_the_same_are_no_mistakes() -> None:
    """The four first moves, and mirrored ones later, are equal whatever a search says of each."""

    class Partial(ExactSource):
        def _position(self, position: Any, allowed: list[int] | None) -> Mapping[str, Any]:
            best = "d3c5" if position == START else "f6"
            assert allowed is None or position != START
            line = {"move": best[:2], "score": 3 if allowed is None else -9, "depth": 8, "selectivity": 73}
            return {"moves": [{**line, "exact": False, "source": "search", "pv": best}]}

    for first, reply in (("f5", "d6"), ("c4", "e3"), ("e6", "f4"), ("d3", "c5")):
        record = GameRecord(START, tuple(next(iter(parse_games(first.encode(), "a", None))).record.moves))
        analysis = analyze_game(FileGame(record), Partial(), "x", {"level": 9}, lambda done, total: None)
        (step,) = analysis.steps
        assert (step.lost, step.grade, step.played) == (0, "", 3)
        assert step.line == step.followed == first + reply


def test_accuracy() -> None:
    """100 % for best moves, half of it for four discs, a quarter for eight."""
    step = AnalyzedPly(1, START, 37, 37, 6, 6, "8", "f5", "f5")
    assert [step._replace(played=6 - lost).accuracy for lost in (0, 4, 8)] == [100, 50, 25]
    assert step._replace(played=9).accuracy == 100
    for analysis in map(analysed, games()):
        for black in (True, False):
            chosen = [
                step
                for step in analysis.steps
                if step.position.black_to_move == black and step.position.moves.bit_count() > 1
            ]
            mean = sum(100 * 2 ** (-step.lost / 4) for step in chosen) / len(chosen) if chosen else 100
            assert analysis.summary(black).accuracy == pytest.approx(mean)


def test_players_without_names() -> None:
    game = late_game(3)
    nameless = game._replace(record=game.record._replace(black="", white=""), event="", date="")
    assert table(analysed(nameless)).startswith("Black - White: ")
    half = game._replace(record=game.record._replace(black="", white="Bob"), event="", date="")
    assert table(analysed(half)).startswith("Black - Bob (White): ")


def test_a_table_for_a_narrow_terminal() -> None:
    for analysis in map(analysed, games()):
        lines = table(analysis, 80).splitlines()
        assert max(len(line) for line in lines[3 : 4 + len(analysis.steps)]) <= 80
        assert not any("|" in line for line in lines[3:])


# The page


def test_the_page_begins_at_the_first_mistake_and_orders_by_cost() -> None:
    tried = 0
    for analysis in map(analysed, games()):
        text = page(analysis)
        graded = [step for step in analysis.steps if step.grade]
        start = graded[0].number - 1 if graded else len(analysis.steps)
        assert re.search(rf'id="ply" min="0" max="{len(analysis.steps)}" value="{start}"', text)
        costs = [int(number) for number in re.findall(r"<figcaption><strong>(\d+)\.", text)]
        wanted = sorted(graded, key=lambda step: (-step.lost, step.number))
        assert costs == [step.number for step in wanted][:8]
        moves = moves_text([played.move for played in analysis.game.record.moves])
        assert f'<code id="transcript">{moves}</code>' in text
        tried += len(costs) > 1
    assert tried > 3


def test_the_page_links_to_a_board_when_there_is_one() -> None:
    analysis = analysed(next(games()))
    assert "This position on a board" not in page(analysis)
    text = page(analysis, "http://127.0.0.1:8080/?b={board}&m={moves}")
    places = json.loads(Page(text).scripts[0])
    moves = [step.move for step in analysis.steps]
    for at, place in enumerate(places):
        assert place["link"].endswith(f"&m={moves_text(moves[:at])}")
        assert re.search(r"\?b=[-XO]{64}%20[XO]&", place["link"])
    assert re.search(r'<a id="link" href="http://127\.0\.0\.1:8080/\?b=[^"]*">', text)


# Comments


@pytest.mark.parametrize("format", ["sgf", "ggf", "pgn"])
def test_comments_are_written_into_games(format: str) -> None:
    """What is read back is the game as it was; every move that lost something has what was better."""
    passes = 0
    for game in games():
        named = game._replace(record=game.record._replace(black="Ann ]", white="Bob }"))
        analysis = analysed(named)
        text = with_notes(analysis, format)
        (again,) = parse_games(text.encode(), f"x.{format}")
        assert [played.move for played in again.record.moves] == [played.move for played in game.record.moves]
        assert again.record.initial == game.record.initial
        flat = " ".join(text.split())
        assert f"referee 1, level 60; {'Ann ' if format == 'ggf' else 'Ann ]'}" in flat.replace("\\", "")
        for step in analysis.steps:
            passes += step.move == PASS
            if step.move == PASS or not step.choice:
                continue
            if format == "ggf":
                assert f"[{move_text(step.move)}/{step.played:.2f}]" in text
            elif step.lost:
                assert f"loses {step.lost}" in flat
                assert f"best {move_text(step.best)} {step.score:+}" in flat
    assert passes > 3


@pytest.mark.usefixtures("pretending")
def test_comments_by_the_command(base: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    saved = tmp_path / "games.pgn"
    assert command.main([base, "--all", "--depth", "3", "--save", str(saved)]) == 0
    again = list(read_games(str(saved)))
    assert [game.record.black for game in again] == ["Ann", "Cid"]
    assert [game.record.moves for game in again][1] == with_pass().moves
    assert command.main([base, "--save", str(tmp_path / "game.txt")]) == 1
    assert "expected a file name that ends in .sgf, .ggf, .pgn" in capsys.readouterr().err


# Whole bases


@pytest.mark.usefixtures("pretending")
def test_a_whole_base(base: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    lines, figures, pages = tmp_path / "games.jsonl", tmp_path / "games.csv", tmp_path / "pages"
    outputs = ["--json", str(lines), "--csv", str(figures), "--html", str(pages)]
    assert command.main([base, "--all", "--depth", "3", *outputs]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    found = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [one["game"] for one in found] == [1, 2]
    rows = list(csv.DictReader(io.StringIO(figures.read_text())))
    for one, row in zip(found, rows, strict=True):
        assert (int(row["game"]), row["black"], row["moves"]) == (one["game"], one["black"], one["moves"])
        for side in ("black", "white"):
            for column in ("choices", "best", "lost", "worst"):
                assert int(row[f"{side}_{column}"]) == one["summary"][side][column]
            assert float(row[f"{side}_accuracy"]) == one["summary"][side]["accuracy"]
            assert int(row[f"{side}_inaccuracies"]) == one["summary"][side]["grades"]["inaccuracy"]
    assert sorted(path.name for path in pages.iterdir()) == ["game-1.html", "game-2.html", "index.html"]
    for path in pages.iterdir():
        text = path.read_text()
        parsed = Page(text)
        assert parsed.open == []
        for _, attributes in parsed.elements:
            target = str(attributes.get("href", "#")).partition("#")[0]
            assert not target or (pages / target).exists()
    index = (pages / "index.html").read_text()
    assert index.index("Ann") < index.index("Dora")
    assert len(out.splitlines()) == 3


@pytest.mark.usefixtures("pretending")
def test_a_base_on_standard_output(base: str, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    for output in ("--json", "--csv"):
        assert command.main([base, "--all", "--depth", "2", output, "-"]) == 0
        out = capsys.readouterr().out
        assert len(out.splitlines()) == (2 if output == "--json" else 3)
    assert command.main([base, "--all", "--player", "dora", "--depth", "2", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["white"] == "Dora"
    assert command.main([base, "--all", "--player", "zed"]) == 1
    assert "no game with moves: --list shows" in capsys.readouterr().err


def test_an_interrupted_base_keeps_its_games(tmp_path: Path) -> None:
    """Pages, index and lines of the games that were finished."""
    folder = tmp_path / "pages"
    lines = tmp_path / "games.jsonl"
    with Collection(str(lines), "", "", "", str(folder), "") as found:
        for game in list(games())[:2]:
            found.add(analysed(game._replace(number=found.count + 1)))
            assert len(lines.read_text().splitlines()) == found.count
    index = (folder / "index.html").read_text()
    assert 'href="game-2.html"' in index
    assert NASTY not in index
    with pytest.raises(BadInput):
        Collection(str(tmp_path / "no" / "x.json"), "", "", "", "", "")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["f5", "--all", "--html", "-"], "expected a folder for the pages"),
        (["f5", "--all", "--game", "2"], "--all and --game: expected one of them"),
        (["f5", "--json", "-", "--csv", "-"], "expected one of them on standard output"),
    ],
)
def test_command_lines_that_do_not_go_together(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert line in capsys.readouterr().err


def test_the_json_is_what_the_document_describes() -> None:
    """All keys there are, and no others."""
    text = (ROOT / "docs" / "analyze.md").read_text(encoding="utf-8")
    part = text[text.index("## As JSON") :]
    found = as_json(analysed(next(games())))
    head = set(re.findall(r"`(\w+)`", part[: part.index("```")]))
    assert set(found) | set(found["summary"]["black"]) <= head
    shown = json.loads(re.findall(r"```json\n(.*?)```", part, re.DOTALL)[0])
    assert list(shown) == list(found["steps"][0])
    assert parse_moves(shown["line"])
