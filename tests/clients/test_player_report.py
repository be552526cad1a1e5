"""The report on one player: its figures are recounted from the JSON of the same games, its page by a parser."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from random_games import random_game
from test_analyze import NASTY, Page

from desdaemon.clients.analysis import analyze as command
from desdaemon.clients.analysis import player
from desdaemon.clients.analysis.player import find_player
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.bases import FileGame, read_games, write_games
from desdaemon.protocol.games.formats import parse_game
from desdaemon.protocol.games.judgement import JudgedMove, SearchedMove
from desdaemon.protocol.games.records import GameRecord
from desdaemon.protocol.othello.notation import Position, parse_board
from desdaemon.protocol.othello.rules import PASS, squares
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity

PLAYERS = ("Ann Archer", "Bob " + NASTY, "Cid Archer", "")
PAIRS = [(0, 1), (1, 0), (0, 2), (2, 0), (0, 3), (1, 2), (2, 1), (0, 1), (0, 1)]
"""Black and White of each game. Ann's are all but two; the last two games are the same."""


class Dice:
    """Judges by throwing dice, the same ones for the same move."""

    engine = "dice 1"

    def judge(self, record: GameRecord, effort: Mapping[str, Any]) -> Iterator[JudgedMove]:
        position = record.initial
        for ply, played in enumerate(record.moves, 1):
            if played.move != PASS:
                moves = [self._thrown(position, move) for move in squares(position.moves)]
                best = max(moves, key=lambda move: move.score)
                own = next(move for move in moves if move.move == played.move)
                yield JudgedMove(ply, position, own, None if own == best else best)
            position = position.after(played.move)

    def _thrown(self, position: Position, move: int) -> SearchedMove:
        score = random.Random(f"{position.player} {position.opponent} {move}").randint(-9, 9)
        return SearchedMove(move, MoverScore(score), 1, Selectivity.FULL, line=(move,))

    def stop(self) -> None:
        pass

    close = stop


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A base of games a year, out of order."""
    monkeypatch.setattr(command, "_judge", lambda options: Dice())
    games = []
    for number, (black, white) in enumerate(PAIRS):
        record = random_game(min(number, 7), 99)._replace(black=PLAYERS[black], white=PLAYERS[white])
        games.append(FileGame(record, date=f"{2000 + number // 2}", event="Cup"))
    base = tmp_path / "base"
    base.mkdir()
    write_games(str(base / "a.pgn"), games[4:])
    write_games(str(base / "b.ggf"), games[:4])
    return base


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert command.main([*arguments, "--summary"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def rows(text: str) -> dict[str, list[str]]:
    """The figures of each row of the tables, by its label."""
    found = re.findall(r"^  (\S.{17})  +(\d[\d. %]+)$", text, re.MULTILINE)
    return {label.strip(): figures.replace("%", "").split() for label, figures in found}


def recounted(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, list[str]], dict[str, list[int]]]:
    """The rows, and the losses of each repeated mistake, of Ann by loops over the JSON of her games."""
    games = []
    for name in ("b.ggf", "a.pgn"):
        assert command.main([str(folder / name), "--player", "ann", "--all", "--json", "-"]) == 0
        games += [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    tables: dict[str, Any] = defaultdict(lambda: {"games": set(), "points": {}, "own": [], "theirs": []})
    wrong = defaultdict(list)
    rating = dict.fromkeys(PLAYERS, 1500.0)
    bands = []
    results = {}
    for number, game in enumerate(games):
        black = game["black"].startswith("Ann")
        side = "black" if black else "white"
        score = game["result"] if black else -game["result"]
        results[number] = 100.0 if score > 0 else 0.0 if score < 0 else 50.0
        for step in game["steps"]:
            position = parse_board(step["board"])
            if position.moves.bit_count() < 2:
                continue
            own = step["side"] == side
            discs = 64 - step["board"][:64].count("-") - 3
            phase = f"moves {20 * ((discs - 1) // 20) + 1} to {20 * ((discs - 1) // 20) + 20}"
            for label in ("all", f"as {side.title()}", phase, game["date"]):
                table = tables[label]
                table["own" if own else "theirs"].append((step["lost"], step["accuracy"]))
                if own:
                    table["games"].add(number)
            if own and step["lost"] >= 4:
                text = f"{step['move'].upper()} instead of {step['best'].upper()}"
                wrong[least_image(step["board"], step["move"])].append((step["lost"], text))
    # Elo's ratings over all games, those of others too.
    for number, (black, white) in enumerate(PAIRS):
        if 3 in (black, white):
            continue
        game = next((game for game in games if game["date"] == str(2000 + number // 2)), None)
        names = PLAYERS[black], PLAYERS[white]
        if 0 in (black, white):
            bands.append(rating[names[black == 0]] - rating[PLAYERS[0]])
        cells = random_game(min(number, 7), 99).final
        result = (cells.player.bit_count() - cells.opponent.bit_count()) * (1 if cells.black_to_move else -1)
        points = 1 if result > 0 else 0 if result < 0 else 0.5
        gain = 32 * (points - 1 / (1 + 10 ** ((rating[names[1]] - rating[names[0]]) / 400)))
        rating[names[0]] += gain
        rating[names[1]] -= gain
    assert all(abs(gap) < 100 for gap in bands)
    found = {}
    for label, table in tables.items():
        own, theirs = table["own"], table["theirs"]
        points = [results[number] for number in table["games"]]
        grades = [sum(most > lost >= least for lost, _ in own) for least, most in ((10, 99), (4, 10), (2, 4))]
        found[label] = [
            str(len(table["games"])),
            f"{sum(points) / len(points):.1f}",
            f"{sum(accuracy for _, accuracy in own) / len(own):.1f}",
            f"{sum(lost for lost, _ in own) / len(table['games']):.1f}",
            *map(str, grades),
            f"{sum(accuracy for _, accuracy in theirs) / len(theirs):.1f}",
        ]
    found["equal"] = [str(len(bands))]
    found["rating"] = [f"{rating[PLAYERS[0]]:.0f}"]
    return found, {each[-1][1]: [lost for lost, _ in each] for each in wrong.values() if len(each) > 1}


def least_image(board: str, move: str) -> tuple[str, int]:
    """The first of the eight mirror images of a board and a move on it."""
    at = 8 * (int(move[1]) - 1) + "abcdefgh".index(move[0])
    images = []
    for turn in range(8):
        squares = []
        for square in range(64):
            row, column = divmod(square, 8)
            row, column = (7 - row if turn & 1 else row), (7 - column if turn & 2 else column)
            squares.append(8 * column + row if turn & 4 else 8 * row + column)
        images.append(("".join(board[square] for square in squares) + board[64:], squares.index(at)))
    return min(images)


def test_the_figures_are_those_of_the_games(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rounding in the JSON moves an accuracy by 0.1 at most."""
    text = told(capsys, str(folder), "--player", "ann")
    expected, repeated = recounted(folder, capsys)
    found = rows(text)
    assert text.startswith("Ann Archer\n7 games, 2000 to 2004; rating " + expected.pop("rating")[0])
    assert found["equal"][0] == expected.pop("equal")[0]
    assert set(expected) >= {"all", "as Black", "as White", "moves 1 to 20", "moves 21 to 40", "moves 41 to 60", "2004"}
    for label, figures in expected.items():
        assert [float(one) for one in found[label]] == pytest.approx([float(one) for one in figures], abs=0.101), label
    assert max(map(len, text.splitlines())) <= 80
    listed = re.findall(r"^ +(\d+) +(\d+) +\d+  (.. instead of ..)", text, re.MULTILINE)
    assert len(listed) == 8
    assert len(repeated) > 3
    for times, lost, mistake in listed[: len(repeated)]:
        assert (int(times), int(lost)) == (len(repeated[mistake]), sum(repeated[mistake]))


def test_openings_of_a_player_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each game has one opening."""
    openings = told(capsys, str(folder), "--player", "ann").partition("Openings\n")[2].partition("Years\n")[0]
    assert sum(int(figures[0]) for figures in rows(openings).values()) == 7


def test_the_page_loads_nothing_from_elsewhere(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    html = tmp_path / "ann.html"
    told(capsys, str(folder), "--player", "ann", "--html", str(html), "--board", "http://board/{moves}")
    text = html.read_text("utf-8")
    page = Page(text)
    assert page.open == []
    assert not page.scripts
    assert NASTY not in text
    assert not [attributes for _, attributes in page.elements if "id" in attributes]
    pictures = [attributes for tag, attributes in page.elements if tag == "svg"]
    assert len(pictures) == 2 + 8
    assert all(picture["aria-label"] for picture in pictures)
    links = [str(attributes["href"]) for tag, attributes in page.elements if tag == "a"]
    assert len(links) == 8
    assert all(re.fullmatch(r"http://board/([a-h][1-8]|pa)*", link) for link in links)
    assert command.main([str(folder), "--player", "ann", "--summary", "--html", "-"]) == 0
    assert capsys.readouterr().out.startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("archer", '"archer" is a part of 2 names: Ann Archer, Cid Archer'),
        ("acrher", 'no player "acrher": did you mean "Archer"?'),
        ("zzzzzz", 'no player "zzzzzz": expected a name in these games'),
    ],
)
def test_ambiguous_and_unknown_names_are_refused(
    name: str, line: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([str(folder), "--player", name, "--summary"]) == 1
    assert capsys.readouterr().err == f"desdaemon analyze: {line}\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--summary"], "--summary needs --player"),
        (["--summary", "--player", "ann", "--json", "-"], "--summary and --json exclude each other"),
    ],
)
def test_bad_command_lines_are_refused(
    arguments: list[str], line: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main([str(folder), *arguments])
    assert ended.value.code == 2
    assert line in capsys.readouterr().err


def test_the_exact_spelling_of_a_name_wins() -> None:
    record = parse_game("f5d6c3", "txt")
    pairs = (("Ann", "ann"), ("Anna", "ann"), ("Ann", "Bob"), ("Bob", "Bobby"))
    games = [FileGame(record._replace(black=black, white=white)) for black, white in pairs]
    for name, found, count in (
        ("Ann", "Ann", 2),
        ("ann", "ann", 2),
        ("=ann", "ann", 2),
        ("anna", "Anna", 1),
        ("bob", "Bob", 2),
        ("=Bobby", "Bobby", 1),
    ):
        player = find_player(games, name)
        assert (player.name, len(player.games)) == (found, count)
    for name in ("ANN", "=Bo", "=anna"):
        with pytest.raises(BadInput):
            find_player(games, name)


def test_a_report_refuses_more_games_than_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "three.txt"
    path.write_text("f5d6c3\nf5f6e6\nf5f4e3\n")
    monkeypatch.setattr(player, "MOST_GAMES", 2)
    with pytest.raises(BadInput, match="expected at most 2 games"):
        find_player(read_games(str(path)), "ann")


def test_a_win_without_discs_counts_for_ratings(tmp_path: Path) -> None:
    base = tmp_path / "base.sgf"
    base.write_text("".join(f"(;GM[2]PB[Ann]PW[Bob]RE[{won}+R];B[fe];W[df])\n" for won in "BBW"))
    assert find_player(read_games(str(base)), "Ann").rating > 1500
