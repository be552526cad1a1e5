"""Reports on games: the scores against exact ones by the referee, the page by a parser of its own."""

from __future__ import annotations

import functools
import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import referee
from programs import programs
from random_games import random_game, with_pass
from test_xot import LINES, listed

from desdaemon.clients.analysis import analyze as command
from desdaemon.clients.analysis.game import GameAnalysis, analyze_game, as_json
from desdaemon.clients.analysis.page import page
from desdaemon.clients.analysis.reports import table
from desdaemon.clients.analysis.source import RemoteDaemon
from desdaemon.clients.results import Analysed, AnalysedMove, Hello
from desdaemon.protocol.games.bases import FileGame, write_games
from desdaemon.protocol.games.formats import parse_game
from desdaemon.protocol.games.judgement import JudgedMove, SearchedMove
from desdaemon.protocol.games.records import GameRecord
from desdaemon.protocol.othello.notation import (
    START,
    Position,
    board_text,
    move_text,
    parse_board,
    parse_moves,
    squares_text,
)
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity

NASTY = '</script><script>alert("x")</script>&'


class ExactJudge:
    """Judges by the referee's own search, exactly."""

    engine = "referee 1"

    def judge(self, record: GameRecord, effort: Mapping[str, Any]) -> Iterator[JudgedMove]:
        position = record.initial
        for ply, played in enumerate(record.moves, 1):
            if played.move != PASS:
                yield self.one(ply, position, played.move)
            position = position.after(played.move)

    def one(self, ply: int, position: Position, move: int) -> JudgedMove:
        scores = referee.solve_moves(referee.from_bits(position.player, position.opponent))
        best = max(scores, key=lambda move: scores[move])
        searched = {one: exact(one, scores[one], position.empties) for one in (best, move)}
        return JudgedMove(ply, position, searched[move], searched[best] if best != move else None)


def exact(move: int, score: int, empties: int) -> SearchedMove:
    return SearchedMove(move, MoverScore(score), empties, Selectivity.FULL, True, True, (move,))


@functools.cache
def late_game(seed: int) -> FileGame:
    """The last moves of a random game, as a game of its own."""
    whole = random_game(seed, 99)
    position = START
    moves = list(whole.moves)
    while moves and (position.empties > 6 or position.must_pass):
        position = position.after(moves.pop(0).move)
    return FileGame(GameRecord(position, tuple(moves), f"Ann {seed}", NASTY), 3, "Cup", "1999")


@functools.cache
def analysed(game: FileGame) -> GameAnalysis:
    """By the referee; many tests look at the same games."""
    return analyze_game(game, ExactJudge(), {"level": 60, "book": "ignore"}, lambda done, total: None)


def games() -> Iterator[FileGame]:
    found = [late_game(seed) for seed in range(40)]
    return (game for game in found if len(game.record.moves) > 3)


def test_scores_are_the_referee_s() -> None:
    """A move is worth what the position after it is to the other side; the graph ends with the result."""
    mistakes = passes = 0
    for game in games():
        analysis = analysed(game)
        assert [step.move for step in analysis.steps] == [played.move for played in game.record.moves]
        for step in analysis.steps:
            if step.move == PASS:
                passes += 1
                continue
            scores = referee.solve_moves(referee.from_bits(step.position.player, step.position.opponent))
            assert (step.best.score, step.played.score) == (max(scores.values()), scores[step.move])
            assert scores[step.best.move] == step.best.score
            assert step.loss == step.best.score - step.played.score
            assert step.sure == "exact"
            mistakes += step.loss > 0
        for before, after in zip(analysis.steps, analysis.steps[1:], strict=False):
            assert before.played.score == -after.best.score
        final = game.record.final
        cells = referee.from_bits(final.player, final.opponent)
        assert analysis.result == (1 if final.black_to_move else -1) * referee.final_score(cells)
        assert analysis.scores()[-1] == analysis.result
        assert len(analysis.scores()) == len(analysis.steps) + 1
        lost = {True: 0, False: 0}
        for step in analysis.steps:
            lost[step.position.black_to_move] += step.loss
        assert {black: analysis.summary(black).lost for black in lost} == lost
    assert mistakes > 10
    assert passes > 3


def test_progress_counts_the_moves_that_are_judged() -> None:
    game = next(games())
    told = []
    analyze_game(game, ExactJudge(), {"depth": 9}, lambda done, total: told.append((done, total)))
    moves = sum(played.move != PASS for played in game.record.moves)
    assert told == [(done, moves) for done in range(1, moves + 1)]


class PretendedClient:
    """A daemon's client: what is asked is answered at once, by the referee, the plies of a game backwards."""

    hello = Hello("referee", "1", 1, "reader", (), (), {})

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...], int]] = []

    def analyze_game(self, moves: str, board: str, plies: list[int], **limits: Any) -> PretendedHandle:
        positions = [parse_board(board)]
        for move in parse_moves(moves):
            positions.append(positions[-1].after(move))
        found = [self._analysed(positions[ply], None, ply) for ply in plies]
        return PretendedHandle([*reversed(found), found[0]], found)

    def analyze(self, board: str, *, allow: list[str], **limits: Any) -> PretendedHandle:
        self.asked.append((board, tuple(allow), limits["depth"]))
        return PretendedHandle([], self._analysed(parse_board(board), allow, None))

    def _analysed(self, position: Position, allow: list[str] | None, ply: int | None) -> Analysed:
        scores = referee.solve_moves(referee.from_bits(position.player, position.opponent))
        best = max(map(referee.square, allow) if allow else scores, key=lambda move: scores[move])
        name, score = referee.name(best).lower(), scores[best]
        move = AnalysedMove(name, score, score, score, position.empties, 100, True, "search", name, 1)
        return Analysed(board_text(position), (move,), 1, 1.0, board_text(position), ply=ply)


class PretendedHandle(NamedTuple):
    partials: list[Analysed]
    final: Any
    done: bool = True

    def __iter__(self) -> Iterator[Any]:
        return iter(self.partials)

    def result(self) -> Any:
        return self.final


def test_a_daemon_is_asked_again_about_moves_that_were_not_best() -> None:
    again = 0
    for game in games():
        client = PretendedClient()
        analysis = analyze_game(game, RemoteDaemon(client), {"depth": 9, "book": "ignore"}, lambda done, total: None)
        exact = analysed(game)
        assert [step.loss for step in analysis.steps] == [step.loss for step in exact.steps]
        others = [step for step in analysis.steps if step.other]
        assert client.asked == [
            (board_text(step.position), (move_text(step.move).lower(),), 9)
            for step in sorted(others, key=lambda step: -step.ply)
        ]
        again += len(others)
    assert again > 10


def test_a_table_is_printed_at_a_terminal() -> None:
    analysis = analysed(next(games()))
    text = table(analysis)
    rows = re.findall(r"^ +(\d+)  ([XO]) ([A-H][1-8]|PA)", text, re.MULTILINE)
    assert [(int(number), name) for number, _, name in rows] == [
        (step.ply, move_text(step.move)) for step in analysis.steps
    ]
    assert f"Cup, 1999: {'Black' if (analysis.result or 0) > 0 else 'White' if analysis.result else 'a draw'}" in text
    assert all(step.sure in text for step in analysis.steps)


class BookJudge(ExactJudge):
    """Says of the best moves before some ply, and of the played ones before another, that a book has them."""

    def __init__(self, best: int, played: int) -> None:
        self.known = best, played

    def one(self, ply: int, position: Position, move: int) -> JudgedMove:
        judged = super().one(ply, position, move)
        best, played = (ply < known for known in self.known)
        other = judged.other and judged.other._replace(of_book=best)
        return judged._replace(played=judged.played._replace(of_book=played), other=other)


def test_a_report_tells_where_the_game_left_the_book() -> None:
    game = next(game for game in games() if analysed(game).steps[1].loss)
    second = analysed(game).steps[1]
    lefts = {}
    for best, played in ((3, 2), (2, 2), (1, 1), (99, 99)):
        judge = BookJudge(best, played)
        analysis = analyze_game(game, judge, {"level": 60, "book": "use"}, lambda done, total: None)
        told = re.findall("left the book.*", table(analysis))
        lefts[best, played] = as_json(analysis)["left_book"], told
        links = re.findall('The game <a href="#board" data-ply="2">(.*)</a>[.]', page(analysis))
        assert links == told, (best, played)
    name, had = move_text(second.move), f"{move_text(second.best.move)} {second.best.score:+}"
    known = {"book": move_text(second.best.move).lower(), "score": second.best.score}
    assert lefts == {
        (3, 2): ({"ply": 2, **known}, [f"left the book with 2. {name}; the book had {had}"]),
        (2, 2): ({"ply": 2, "book": None, "score": None}, [f"left the book with 2. {name}"]),
        (1, 1): (None, []),
        (99, 99): (None, []),
    }


def test_programs_get_json() -> None:
    analysis = analysed(next(games()))
    found = json.loads(json.dumps(as_json(analysis)))
    assert found["black_scores"] == analysis.scores()
    assert [step["lost"] for step in found["steps"]] == [step.loss for step in analysis.steps]
    assert parse_board(found["steps"][0]["board"]) == analysis.game.record.initial
    assert found["summary"]["black"]["lost"] == analysis.summary(True).lost


def test_an_opening_of_xot_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed(tmp_path, monkeypatch)
    for line, number in ((LINES[0], "XOT 1"), ("f5d6c3d3c4f4f6f3", "")):
        moves = parse_moves(line)
        position = START
        judged = []
        for ply, move in enumerate(moves, 1):
            judged.append(JudgedMove(ply, position, exact(move, 0, position.empties), None))
            position = position.after(move)
        game = FileGame(parse_game(line, "txt"), event="Cup")
        analysis = GameAnalysis(game, tuple(judged), None, "engine", "level 1", game)
        assert as_json(analysis)["xot"] == number
        assert f"Cup{f', {number}' if number else ''}: not finished" in table(analysis)
        assert ("Cup · XOT" in page(analysis)) == bool(number)


class Page(HTMLParser):
    """The elements of a page; every one that is opened has to be closed, in order."""

    VOID = ("meta", "input", "br", "link", "img")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)


def test_the_page_loads_nothing_from_elsewhere() -> None:
    """It is well formed, loads nothing, survives names that are markup, and has the data its script needs."""
    analysis = analysed(next(games()))
    text = page(analysis)
    found = Page(text)
    assert found.open == []
    assert text.count("<script") == 2
    assert NASTY not in text
    identities = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(identities) == len(set(identities))
    for tag, attributes in found.elements:
        assert tag not in ("link", "img", "iframe")
        assert "src" not in attributes
        assert str(attributes.get("href", "#")).startswith("#")
        if tag == "svg":
            assert attributes["role"] == "img"
            assert attributes["aria-label"]
    assert "http" not in text
    assert "url(" not in text.replace("url(#", "")
    places = json.loads(found.scripts[0])
    assert len(places) == len(analysis.steps) + 1
    assert all(len(place["board"]) == 64 for place in places)


def test_unfinished_games_are_analysed() -> None:
    whole = late_game(1)
    analysis = analysed(whole._replace(record=whole.record._replace(moves=whole.record.moves[:1]), result=None))
    assert len(analysis.scores()) == 1
    assert Page(page(analysis)).open == []
    assert ": not finished" in table(analysis)


# The command


@pytest.fixture
def base(tmp_path: Path) -> str:
    path = str(tmp_path / "base.wtb")
    whole = with_pass()
    short = GameRecord(START, random_game(2, 12).moves)
    games = [short._replace(black="Ann", white="Bob"), whole._replace(black="Cid", white="Dora")]
    write_games(path, [FileGame(game, 0, "Open", "1997") for game in [*games, games[0]._replace(moves=())]])
    return path


def test_the_command_writes_its_reports(base: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    html, out = tmp_path / "game.html", tmp_path / "game.json"
    assert command.main([base, "--player", "dora", "--depth", "3", "--html", str(html), "--json", str(out)]) == 0
    text, err = capsys.readouterr()
    assert err == ""
    assert text.startswith("Cid (Black) - Dora (White), Open, 1997: ")
    found = json.loads(out.read_text())
    assert found["game"] == 2
    assert found["effort"] == "depth 3"
    assert parse_moves(found["moves"]) == [played.move for played in with_pass().moves]
    assert Page(html.read_text()).open == []


def test_one_game_of_several_is_chosen(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([base, "--depth", "3", "--json", "-"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["black"] == "Ann"
    assert err == "desdaemon analyze: game 1 of several; --all takes them all, --game N another, --list shows them\n"


def test_a_list_of_games_is_printed(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([base, "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:4] for line in lines[:2]] == [["1", "Ann", "-", "Bob"], ["2", "Cid", "-", "Dora"]]
    assert command.main([base, "--list", "--player", "DORA"]) == 0
    assert capsys.readouterr().out.splitlines() == lines[1:2]


def test_the_list_knows_results_that_the_file_does_not_tell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "games.txt"
    file.write_text("e6f4e3f6g5d6e7f5c5\nf5d6\n")
    assert command.main([str(file), "--list"]) == 0
    assert capsys.readouterr().out == f"{1:6}  {'? - ?':43}  Black +64\n{2:6}  ? - ?\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["/no/such.wtb"], '"/no/such.wtb": No such file or directory'),
        (["BASE", "--game", "9"], "game 9: --list shows what there is"),
        (["BASE", "--player", "zed"], 'no game of "zed": --list shows what there is'),
        (["BASE", "--game", "3"], "game 3 has no moves"),
        (["BASE", "--html", "/no/such/folder/x.html"], "--html"),
        (["BASE", "--json", "/no/such/folder/x.json"], "--json"),
    ],
)
def test_wrong_games_are_refused(
    arguments: list[str], line: str, base: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([argument.replace("BASE", base) for argument in arguments]) == 1
    err = capsys.readouterr().err
    assert line in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--game", "-1"], '"-1": expected a whole number from 1'),
        (["--level", "99"], '"99": expected a whole number from 0 to 60'),
        (["--depth", "61"], "expected a whole number from 0 to 60"),
        (["--time", "nan"], '"nan": expected a number from 0.001'),
        (["--time", "inf"], '"inf": expected a number from 0.001'),
        (["--threads", "0"], "expected a whole number from 1 to 256"),
        (["--html", "-", "--json", "-"], "only one of them"),
        (["--key", "mine.key"], "--key needs --server"),
        (["--server", "--threads", "2"], "--threads excludes --server"),
        (["--level", "3", "--depth", "3"], "not allowed with argument --level"),
    ],
)
def test_bad_command_lines_are_refused(
    arguments: list[str], line: str, base: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main([base, *arguments])
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert line in err
    assert err.count("\n") == 1


# A browser


def driven(html: Path, script: str, folder: Path) -> Any:
    """What a script leaves in the page's element ``found`` when it has run in a browser."""
    (chromium,) = programs("chromium")
    driven_page = folder / "driven.html"
    text = html.read_text(encoding="utf-8").replace(
        "</body>", f'<pre id="found"></pre><script>{script}</script></body>'
    )
    driven_page.write_text(text, encoding="utf-8")
    shown = subprocess.run(
        [
            chromium,
            "--headless",
            "--no-sandbox",
            f"--user-data-dir={folder / 'profile'}",
            "--dump-dom",
            driven_page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    found = re.search(r'<pre id="found">(.*?)</pre>', shown.stdout, re.DOTALL)
    assert found, shown.stderr
    return json.loads(found[1])


@pytest.mark.slow
def test_lines_are_played_through_in_a_browser(tmp_path: Path) -> None:
    """Every line of a game with passes, move by move, by the referee's rules."""
    analysis = next(found for found in map(analysed, games()) if any(step.move == PASS for step in found.steps[1:]))
    html = tmp_path / "game.html"
    html.write_text(page(analysis), encoding="utf-8")
    found = driven(
        html,
        """
const found=[],read=()=>[...document.querySelectorAll("#board .disc")].map(one=>
  one.getAttribute("class").includes("black")?"X":one.getAttribute("class").includes("white")?"O":"-").join("");
const slider=document.getElementById("ply"),begun=+slider.value;
for(let ply=0;ply<=+slider.max;ply++){
  slider.value=ply;slider.dispatchEvent(new Event("input"));
  const boards=[read()];
  for(const button of [...document.querySelectorAll("#plays button")].filter(one=>one.dataset.name==="Best")){
    button.click();boards.push(read());
  }
  found.push(boards);
}
document.getElementById("found").textContent=JSON.stringify([begun,found]);
""",
        tmp_path,
    )
    begun, boards = found
    assert begun == next(step.ply - 1 for step in analysis.steps if step.grade)
    for step, shown in zip(analysis.steps, boards, strict=False):
        position = step.position
        assert shown[0] == squares_text(position)
        moves = list(step.best.line) if step.move != PASS else []
        assert len(shown) == 1 + min(14, len(moves))
        for move, after in zip(moves, shown[1:], strict=False):
            position = position.after(move)
            assert after == squares_text(position)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1100, 390])
def test_the_page_fits_narrow_windows(width: int, tmp_path: Path) -> None:
    """Nothing is wider than the window, tables that scroll by themselves excepted, and the first two do not scroll."""
    html, frame = tmp_path / "game.html", tmp_path / "frame.html"
    analysis = analysed(next(games()))
    record = analysis.game.record._replace(black="Somebody with a long name", white="Wwwwwwwwwwwwwwwww")
    whole = analysis.game._replace(record=record)
    text = page(analysis._replace(game=whole, whole=whole), "http://board/{moves}")
    measure = """addEventListener("load",()=>{
const all=document.documentElement,wide=document.querySelector(".summary");
parent.postMessage([all.scrollWidth,innerWidth,wide.scrollWidth-wide.clientWidth],"*")})"""
    html.write_text(text.replace("</body>", f"<script>{measure}</script></body>"), encoding="utf-8")
    frame.write_text(
        f'<body><script>addEventListener("message",event=>{{document.getElementById("found").textContent='
        f'JSON.stringify(event.data)}})</script><iframe src="game.html" style="width:{width}px;height:900px;border:0">'
        "</iframe></body>",
        encoding="utf-8",
    )
    content, window, hidden = driven(frame, "", tmp_path)
    assert window == width
    assert content <= width
    assert hidden <= 0
