"""What can be analysed, how it is interrupted, and what is written besides the table and the page."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from checkout import IMPORT, ROOT
from live import converse
from random_games import random_game, with_pass
from test_analyze import NASTY, ExactJudge, Page, analysed, base, games, late_game  # noqa: F401

from desdaemon.clients.analysis import analyze as command
from desdaemon.clients.analysis.game import analyze_game, as_json
from desdaemon.clients.analysis.page import page
from desdaemon.clients.analysis.reports import Collection, table, with_notes
from desdaemon.clients.analysis.source import OwnEngine, own_engine
from desdaemon.clients.errors import NoDaemon
from desdaemon.protocol.errors import MOST_COMPLAINTS, BadInput
from desdaemon.protocol.games.bases import FileGame, parse_games, read_games, write_games
from desdaemon.protocol.games.judgement import JudgedMove, SearchedMove, as_played, equivalents
from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.othello.notation import START, move_text, moves_text, parse_move, parse_moves
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.system import logs, terminal

# Input


@pytest.mark.parametrize("words", [["f5d6c3"], ["F5", "d6", "C3"], ["f5 d6 c3"]])
def test_moves_are_an_argument(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
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
        ([""], "is not a file, and not a game"),
    ],
)
def test_words_that_are_neither_file_nor_moves_are_refused(
    words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(words) == 1
    err = capsys.readouterr().err
    assert line in err
    assert err.count("\n") == 1


def child(*arguments: str, **how: Any) -> subprocess.Popen[bytes]:
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", f"{IMPORT}from desdaemon.cli.main import main; sys.exit(main())", "analyze", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **how,
    )


@pytest.mark.posix
@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_a_game_is_read_from_a_pipe(name: str) -> None:
    process = child(name, "--depth", "2", "--json", "-", stdin=subprocess.PIPE)
    out, err = process.communicate(b"(;GM[Othello]PB[Ann]PW[Bob]TY[8]B[f5]W[d6];)\n", timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert (json.loads(out)["black"], json.loads(out)["moves"]) == ("Ann", "f5d6")


# Interruptions


class StoppingJudge(ExactJudge):
    """Ends after a number of moves, as a daemon that is killed."""

    def __init__(self, moves: int) -> None:
        self.moves = moves

    def judge(self, record: GameRecord, effort: Mapping[str, Any]) -> Iterator[JudgedMove]:
        yield from islice(super().judge(record, effort), self.moves)
        raise NoDaemon("gone")


def test_an_interrupted_analysis_is_of_the_first_moves() -> None:
    game = next(game for game in games() if sum(played.move != PASS for played in game.record.moves) > 5)
    whole = analysed(game)
    seen = set()
    for moves in range(7):
        part = analyze_game(game, StoppingJudge(moves), {"level": 9}, lambda done, total: None, lambda: True)
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
        analyze_game(game, StoppingJudge(1), {"level": 9}, lambda done, total: None, lambda: False)


def test_a_pass_before_the_first_move_that_is_not_judged_is_left_out() -> None:
    for game in games():
        moves = [played.move for played in game.record.moves]
        for ply in (ply for ply, move in enumerate(moves) if move == PASS and ply + 1 < len(moves)):
            before = sum(move != PASS for move in moves[:ply])
            part = analyze_game(game, StoppingJudge(before), {"level": 9}, lambda done, total: None, lambda: True)
            assert len(part.steps) == len(part.game.record.moves) == ply


@pytest.mark.posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_prints_what_was_found(number: signal.Signals, tmp_path: Path) -> None:
    """The last moves of a game are solved at once, the first ones of the next not while a test runs."""
    out, file = tmp_path / "games.jsonl", tmp_path / "games.sgf"
    write_games(str(file), [next(games()), FileGame(random_game(2, 20))])
    process = child(str(file), "--all", "--level", "60", "--json", str(out))
    assert process.stdout
    assert [len(process.stdout.readline()) > 1 for _ in range(2)] == [True, True]
    process.send_signal(number)
    shown, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert (shown, err) == (b"", b"")
    (found,) = map(json.loads, out.read_text().splitlines())
    assert found["complete"] is True


def test_an_interrupted_engine_judges_the_first_moves() -> None:
    """Stopped after some moves, as by a signal, while the next ones are searched."""
    moves = [played.move for played in random_game(2, 20).moves]
    told = []

    def interrupt(done: int, total: int) -> None:
        told.append((done, total))
        if done == 5:
            engine.stop()

    game = FileGame(random_game(2, 20))
    with closing(OwnEngine(own_engine(2, "", book=False))) as engine:
        whole = analyze_game(game, engine, {"depth": 3, "book": "ignore"}, lambda done, total: None)
        part = analyze_game(game, engine, {"depth": 3, "book": "ignore"}, interrupt, lambda: True)
        with pytest.raises(BadInput, match="closed"):
            analyze_game(game, engine, {"depth": 3, "book": "ignore"}, interrupt, lambda: False)
    assert told == [(done, 20) for done in range(1, 6)]
    assert [step.move for step in part.steps] == moves[:5]
    assert [step.move for step in whole.steps] == moves
    assert (part.complete, whole.complete) == (False, True)


# What is thought of moves


def test_equally_good_moves_are_no_mistakes() -> None:
    """The four first moves, and mirrored ones later, are equal whatever a search says of each."""
    for best, reply in (("d3", "c5"), ("f5", "d6")):
        searched = SearchedMove(parse_move(best), MoverScore(3), 8, Selectivity.PERCENT_73, line=(0,))
        searched = searched._replace(line=tuple(parse_moves(best + reply)))
        for first, second in (("f5", "d6"), ("c4", "e3"), ("e6", "f4"), ("d3", "c5")):
            played = as_played(START, searched, parse_move(first))
            assert played is not None
            assert played == searched._replace(move=parse_move(first), line=tuple(parse_moves(first + second)))
            assert equivalents(START, parse_move(first)) == START.moves
    after = START.after(parse_move("f5"))
    best = SearchedMove(parse_move("d6"), MoverScore(3), 8, Selectivity.FULL, line=(parse_move("d6"),))
    assert as_played(after, best, parse_move("f6")) is None
    assert equivalents(after, parse_move("d6")) == 1 << parse_move("d6")


def test_an_engine_judges_mirrored_first_moves_alike() -> None:
    with closing(OwnEngine(own_engine(1, "", book=False))) as engine:
        for first in ("f5", "c4", "e6", "d3"):
            game = FileGame(GameRecord(START, (PlayedMove(parse_move(first), 0.0),)))
            (step,) = analyze_game(game, engine, {"level": 4, "book": "ignore"}, lambda done, total: None).steps
            assert (step.loss, step.grade, step.best.line[0]) == (0, "", parse_move(first))


def test_accuracy_is_that_of_the_documented_formula() -> None:
    """100 % for best moves, half of it for four discs, a quarter for eight."""
    best, *others = (SearchedMove(37, MoverScore(score), 8, Selectivity.FULL) for score in (6, 6, 2, -2, 9))
    assert [JudgedMove(1, START, played, best).accuracy for played in others] == [100, 50, 25, 100]
    for analysis in map(analysed, games()):
        for black in (True, False):
            chosen = [
                step
                for step in analysis.steps
                if step.position.black_to_move == black and step.position.moves.bit_count() > 1
            ]
            mean = sum(100 * 2 ** (-step.loss / 4) for step in chosen) / len(chosen) if chosen else 100
            assert analysis.summary(black).accuracy == pytest.approx(mean)


def test_players_without_names_are_black_and_white() -> None:
    game = late_game(3)
    nameless = game._replace(record=game.record._replace(black="", white=""), event="", date="")
    assert table(analysed(nameless)).startswith("Black - White: ")
    half = game._replace(record=game.record._replace(black="", white="Bob"), event="", date="")
    assert table(analysed(half)).startswith("Black - Bob (White): ")


def test_a_table_fits_a_narrow_terminal() -> None:
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
        start = graded[0].ply - 1 if graded else len(analysis.steps)
        assert re.search(rf'id="ply" min="0" max="{len(analysis.steps)}" value="{start}"', text)
        costs = [int(number) for number in re.findall(r"<figcaption><strong>(\d+)\.", text)]
        wanted = sorted(graded, key=lambda step: (-step.loss, step.ply))
        assert costs == [step.ply for step in wanted][:8]
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
            if step.move == PASS or step.choices < 2:
                continue
            if format == "ggf":
                assert f"[{move_text(step.move)}/{step.played.score:.2f}]" in text
            elif step.loss:
                assert f"loses {step.loss}" in flat
                assert f"best {move_text(step.best.move)} {step.best.score:+}" in flat
    assert passes > 3


def test_the_command_writes_comments(base: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    saved = tmp_path / "games.pgn"
    assert command.main([base, "--all", "--depth", "3", "--save", str(saved)]) == 0
    again = list(read_games(str(saved)))
    assert [game.record.black for game in again] == ["Ann", "Cid"]
    assert [game.record.moves for game in again][1] == with_pass().moves
    assert command.main([base, "--save", str(tmp_path / "game.txt")]) == 1
    assert "expected a file name that ends in .sgf, .ggf, .pgn" in capsys.readouterr().err


def test_no_report_takes_the_place_of_its_games(
    base: str,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nor of another one: a link to the file and another spelling of its name are the file as well."""
    (tmp_path / "link").hardlink_to(base)
    kept = Path(base).read_bytes()
    for name in (base, str(tmp_path / "link"), str(Path(base).parent / "." / Path(base).name)):
        for option in ("--json", "--csv", "--html"):
            assert command.main([base, option, name]) == 1
            assert "expected another file than those that are read" in capsys.readouterr().err
    assert Path(base).read_bytes() == kept
    new = str(tmp_path / "new.json")
    assert command.main([base, "--json", new, "--csv", f"{tmp_path}/./new.json"]) == 1
    assert "expected another file than that of --json" in capsys.readouterr().err
    assert not Path(new).exists()


def test_reading_up_to_a_game_is_told_at_a_terminal(
    base: str,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(terminal, "watched", lambda: True)
    monkeypatch.setattr(terminal.platform, "escapes", lambda descriptor: True)
    monkeypatch.setattr(command, "_SHOWN_EVERY", 1)
    for option, passed_over in (["--game", "2"], ["1"]), (["--player", "Cid"], ["1", "3"]):
        assert command.main([base, *option, "--list"]) == 0
        out, err = capsys.readouterr()
        assert out.split()[0] == "2"
        assert [line.split()[-1] for line in err.split(logs.WIPED) if "reading " in line] == passed_over
        assert err.endswith(logs.WIPED)


# Whole bases


def test_a_whole_base_is_analysed(base: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
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


def test_a_base_is_reported_on_standard_output(base: str, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    for output in ("--json", "--csv"):
        assert command.main([base, "--all", "--depth", "2", output, "-"]) == 0
        out = capsys.readouterr().out
        assert len(out.splitlines()) == (2 if output == "--json" else 3)
    assert command.main([base, "--all", "--player", "dora", "--depth", "2", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["white"] == "Dora"
    assert command.main([base, "--all", "--player", "zed"]) == 1
    assert 'no game with moves of "zed": --list shows' in capsys.readouterr().err


def test_an_interrupted_base_keeps_its_games(tmp_path: Path) -> None:
    """Pages, index and lines of the games that were finished."""
    folder = tmp_path / "pages"
    lines = tmp_path / "games.jsonl"
    with Collection(str(lines), "", "", "", str(folder), "") as found:
        for number, game in enumerate(list(games())[:2], 1):
            found.add(analysed(game._replace(number=number)))
    assert len(lines.read_text().splitlines()) == 2
    index = (folder / "index.html").read_text()
    assert 'href="game-2.html"' in index
    assert NASTY not in index
    with pytest.raises(BadInput):
        Collection(str(tmp_path / "no" / "x.json"), "", "", "", "", "")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["f5", "--all", "--html", "-"], "a folder of pages"),
        (["f5", "--all", "--game", "2"], "--all and --game exclude each other"),
        (["f5", "--json", "-", "--csv", "-"], "only one of them"),
    ],
)
def test_options_that_exclude_each_other_are_refused(
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


@pytest.mark.parametrize("content", ["", "A1A2\n", "junk\n"])
@pytest.mark.parametrize("option", ["--list", "--all", "--game=1"])
def test_a_file_without_games_is_a_failure(
    content: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.txt"
    path.write_text(content)
    assert command.main([str(path), option]) == 1
    assert capsys.readouterr().out == ""


def test_what_the_output_cannot_show_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "x.pgn"
    path.write_text('[Black "\u864e"]\n[White "Zo\u00eb"]\n\n1. F5 *\n', encoding="utf-8")
    done = converse(b"", "analyze", str(path), "--list", PYTHONIOENCODING="latin-1")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u864e - Zo\xeb" in done.stdout
    done = converse(b"", "analyze", b"\xff\xfe.pgn".decode("utf-8", "surrogateescape"))
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


def test_analyze_counts_complaints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "games.txt"
    wrong.write_text("f5d6c3\n" + "f5f5\n" * 1234)
    assert command.main([str(wrong), "--list"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == MOST_COMPLAINTS + 1
    assert lines[-1].endswith(f"and {1234 - MOST_COMPLAINTS:,} more")
