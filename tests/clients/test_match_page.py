"""The pages of a match: what they show, while it runs and after, and how they look in a browser."""

from __future__ import annotations

import asyncio
import html
import itertools
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import referee
from browser import Browser, BrowserTab, find_chromium
from checkout import IMPORT
from pretended_players import fake
from programs import programs

from desdaemon.clients.match import match as command
from desdaemon.clients.match.page import MatchPage, elo_graph, evaluation_graph, game_page
from desdaemon.clients.match.referee import Finished, MatchTerms, RunningGame, play_game
from desdaemon.clients.match.results.journal import entry_game, game_entry
from desdaemon.clients.match.schedule import Schedule
from desdaemon.clients.programs.engine_process import command_of
from desdaemon.clients.programs.engine_protocols import PLAYERS, start_player
from desdaemon.clients.programs.time_control import TimeControl
from desdaemon.protocol.games.records import GameRecord
from desdaemon.protocol.othello.notation import START
from desdaemon.protocol.othello.rules import PASS

SAID = {"gtp": -3.5, "nboard": 1.5, "text": 7.0}
"""What the players that pretend say of each of their moves."""


def played(black: str, white: str, *, wanted: bool = True, seen: list[RunningGame] | None = None) -> Finished:
    """A game of players in these protocols."""
    players = [start_player(command_of(fake(protocol, "scores")), protocol) for protocol in (black, white)]
    try:
        for player in players:
            player.wants_scores = wanted
        control = TimeControl(main=60_000)
        tell = seen.append if seen is not None else lambda game: None
        return play_game((players[0], players[1]), GameRecord(START, ()), (control, control), MatchTerms(), tell)
    finally:
        for player in players:
            player.process.kill()


@pytest.mark.parametrize("black", list(PLAYERS))
def test_evaluations_of_programs_are_shown(black: str) -> None:
    """It is noted from Black's side, goes into the journal and out of it."""
    white = {"gtp": "nboard", "nboard": "text", "text": "gtp"}[black]
    seen: list[RunningGame] = []
    game = played(black, white, seen=seen)
    assert game.ending == "played"
    position = START
    for (move, _), score in zip(game.record.moves, game.scores, strict=True):
        said = SAID[black] if position.black_to_move else -SAID[white]
        assert score == (None if move == PASS else said)
        position = position.after(move)
    assert entry_game(json.loads(json.dumps(game_entry(game)))).scores == game.scores
    graph = evaluation_graph(game)
    assert [graph.count(f'class="{kind}"') for kind in ("score", "score second")] == [1, 1]
    assert [len(one.scores) for one in seen] == [at for at, one in enumerate(game.record.moves) if one.move != PASS]
    assert all(0 < left <= 60_000 for one in seen for left in one.left)


def test_gtp_is_asked_for_scores_only_where_they_are_wanted() -> None:
    assert played("gtp", "gtp", wanted=False).scores == ()


def data(page: str) -> list[dict[str, object]]:
    """The positions that a game's page steps through."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    places: list[dict[str, object]] = json.loads(found[1])
    return places


def run(folder: Path, *arguments: object, games: int = 4) -> str:
    """Play a match with pages; the first of them."""
    sides = [fake("nboard", "first"), fake("nboard", "last")]
    given = [*sides, "--names", "A,<b>", "--games", str(games), "--page", str(folder), *map(str, arguments)]
    assert command.main(given) == 0
    return (folder / "index.html").read_text()


def test_a_match_writes_its_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They stand by themselves, lead to each other, and have the games as the journal has them."""
    folder, journal = tmp_path / "pages" / "of a match", tmp_path / "journal"
    index = run(folder, "--journal", journal)
    elo = re.search(r"^Elo of A: (.*)$", capsys.readouterr().out, re.MULTILINE)
    assert elo
    assert html.escape(elo[1]) in index
    assert "4 of 4 games</strong>, finished." in index
    assert "location.reload" not in index
    # Two programs have one difference in Elo, below the table.
    assert '<th scope="col">Elo</th>' not in index
    assert "<b>" not in index.replace("<b></b>", "")
    assert "&lt;b&gt;" in index
    pages = re.findall(r'<a href="(game-\d+\.html)">', index)
    assert pages == [f"game-{number:04}.html" for number in (4, 3, 2, 1)]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*pages, "index.html"])
    for line in journal.read_text().splitlines()[1:]:
        entry = json.loads(line)
        page = (folder / f"game-{entry['game'] + 1:04}.html").read_text()
        assert not re.search(r"(?:src|href)=\"?(?!data:,)(?:[a-z]+:|/)|url\((?!#)|@import", page + index)
        places = data(page)
        assert len(places) == len(entry["ms"]) + 1
        cells, black = referee.start(), True
        for place in places[:-1]:
            discs = [sum(1 << at for at, one in enumerate(str(place["board"])) if one == side) for side in "XO"]
            assert tuple(discs if black else discs[::-1]) == referee.to_bits(cells)
            assert place["side"] == ("X" if black else "O")
            move = int(str(place["played"]))
            cells = referee.passed(cells) if move == PASS else referee.play(cells, move)
            black = not black
        result = f"{'Black' if entry['score'] > 0 else 'White'} +{abs(entry['score'])}" if entry["score"] else "draw"
        assert str(places[-1]["told"]).startswith(f"The end: {result}, ")


def test_several_programs_get_a_cross_table(tmp_path: Path) -> None:
    sides = [fake("gtp", one) for one in ("first", "last", "first")]
    arguments = [*sides, "--names", "A,B,C", "--games", "2", "--page", str(tmp_path)]
    assert command.main(arguments) == 0
    index = (tmp_path / "index.html").read_text()
    cells = re.findall(r"<td>([\d.]+)/2</td>", index)
    assert len(cells) == 6
    assert sum(map(float, cells)) == 6
    assert len(re.findall("\u00b1", index)) == 3
    assert '<th scope="col">Elo</th>' in index


def test_the_page_says_which_hypothesis_was_accepted(tmp_path: Path) -> None:
    sides = [fake("gtp", "first"), fake("gtp", "first")]
    command.main([*sides, "--games", "4", "--sprt", "0,10", "--page", str(tmp_path)])
    assert re.search(r"SPRT \S+ between -2.94 and \+2.94: undecided</p>", (tmp_path / "index.html").read_text())


def test_a_running_game_has_its_clocks_and_evaluations(tmp_path: Path) -> None:
    page = MatchPage(
        tmp_path, Schedule(2, "round-robin", 4, 2), None, lambda games: (["A", "B"], "A against B"), [].append
    )
    seen: list[RunningGame] = []
    played("text", "nboard", seen=seen)
    running = seen[8]._replace(left=(59_000.0, 31_000.0), begun=time.perf_counter() - 10)
    assert running.record.final.black_to_move
    page.resume({})
    page._shown_at = 0.0
    page.show({}, {1: running})
    index = (tmp_path / "index.html").read_text()
    # The second game of a pair: the second program has Black.
    assert re.search(r"Game 2, .*<strong>.*B</strong>: 0:49\.0 left, \+7</div>.*A: 0:31\.0 left, \+1\.5</div>", index)
    assert "location.reload" in index
    page.show({}, {})
    assert (tmp_path / "index.html").read_text() == index, "once a second at most"


def test_a_fault_of_a_program_is_shown(tmp_path: Path) -> None:
    game = played("gtp", "gtp")._replace(ending="time", faulty=1, note="move 7 took 3 s", scores=())
    page = game_page(game, 0, "A", "B")
    assert "time: move 7 took 3 s</strong> of White" in page
    assert "Neither program said anything of its moves" in page


def test_the_graph_of_elo_is_drawn_with_infinite_ends() -> None:
    growth = {1: [(float("inf"), 10.0, float("inf"))], 2: [(0.0, -300.0, 300.0)], 400: [(12.0, 3.0, 20.0)]}
    picture = elo_graph(growth, ["A", "B"])
    assert not re.search(r"\b(?:inf|nan)\b", picture)
    assert picture.count('class="band"') == 1
    assert 'id="graph"' not in picture, "no script follows the pointer there"


def test_the_graph_of_several_programs_tells_who_is_below_zero() -> None:
    """Its values have signs, and the names of programs that are close stand apart."""
    growth = {1: [(0.0, 0.0, 0.0)] * 3, 2: [(101.0, 0.0, 0.0), (99.0, 0.0, 0.0), (-200.0, 0.0, 0.0)]}
    picture = elo_graph(growth, ["A", "B", "C"])
    values = re.findall(r'class="tick value[^>]*>([^<]+)<', picture)
    assert values == ["\u2212200", "\u2212150", "\u2212100", "\u221250", "0", "+50", "+100", "+150", "+200"]
    heights = sorted(float(y) for y in re.findall(r'class="side" x="[\d.]+" y="([\d.]+)"', picture))
    # The letters are 21 units high on a narrow screen.
    assert min(lower - upper for upper, lower in itertools.pairwise(heights)) >= 21


CODE = IMPORT + "from desdaemon.clients.match import match; sys.exit(match.main(sys.argv[1:]))"


def begun(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """A match of four games, slow from the second on, as a process of its own, when a game is over and one runs."""
    sides = [fake("nboard", "slow", 30), fake("nboard", "last")]
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, *sides, "--names", "A,B", "--games", "4", "--page", str(folder), *arguments],
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    index = folder / "index.html"
    while not (index.exists() and re.search("[123] of 4 games.*Now playing", index.read_text(), re.DOTALL)):
        assert process.poll() is None
        time.sleep(0.05)
    return process


def test_a_resumed_match_continues_its_page(tmp_path: Path) -> None:
    folder, journal = tmp_path / "page", tmp_path / "journal"
    assert "2 of 2 games" in run(folder, "--journal", journal, games=2)
    # Times of less than a tenth of a millisecond are lost in the journal.
    first = [place["board"] for place in data((folder / "game-0001.html").read_text())]
    (folder / "game-0001.html").unlink()
    assert "4 of 4 games</strong>, finished." in run(folder, "--journal", journal)
    assert [place["board"] for place in data((folder / "game-0001.html").read_text())] == first
    assert len(list(folder.iterdir())) == 5


def test_a_wrong_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert command.main([fake("gtp"), fake("gtp"), "--page", str(tmp_path / "file")]) == 1
    assert "--page" in capsys.readouterr().err


# A browser


WIDE = "document.documentElement.scrollWidth-innerWidth"
FOCUS = "document.activeElement.getAttribute('href')||document.activeElement.ariaLabel"


async def look(folder: Path, journal: Path) -> None:
    """The page of a match at two widths, dark, and by the keyboard, while it is killed and goes on."""
    async with Browser(find_chromium()) as browser:
        process = begun(folder, "--journal", str(journal))
        tab = await browser.tab((folder / "index.html").as_uri())
        await tab.prefer(prefers_color_scheme="dark")
        await tab.until("!!document.querySelector('figure svg.board')")
        for width in (390, 1280):
            await tab.resize(width, 900)
            assert await tab.until(f"document.body?.textContent.includes(' of 4')&&{WIDE}+1") == 1
        ink, page = await tab.evaluate(
            "[getComputedStyle(document.body).color,getComputedStyle(document.body).backgroundColor]"
        )
        assert brightness(ink) > 500 > 200 > brightness(page)
        # The focus stays where it was when the page loads itself again.
        await tab.evaluate("void (window.before=1)")
        await tab.press("Tab", "Tab", "Tab")
        assert await tab.evaluate(FOCUS) == "Standings"
        await tab.until("!window.before")
        await tab.until(f"({FOCUS})==='Standings'")
        process.kill()
        process.wait()
        process = begun(folder, "--journal", str(journal))
        await tab.until("document.body?.textContent.includes('4 of 4 games, finished')")
        assert process.wait() == 0
        await keys(tab)
        assert tab.complaints == []


async def keys(tab: BrowserTab) -> None:
    """Go to the newest game and through it."""
    await tab.evaluate("document.querySelector('a[href=\"game-0004.html\"]').focus()")
    await tab.press("Enter")
    await tab.until("location.href.endsWith('game-0004.html')&&document.getElementById('told')?.textContent")
    told = "document.getElementById('told').textContent"
    assert (await tab.evaluate(told)).startswith("The end: ")
    await tab.press("ArrowLeft")
    last = await tab.evaluate("document.getElementById('ply').max")
    assert (await tab.evaluate(told)).startswith(f"{last}. ")
    await tab.press("Home")
    assert (await tab.evaluate(told)).startswith("1. Black plays ")
    for width in (390, 1280):
        await tab.resize(width, 900)
        assert await tab.evaluate(WIDE) == 0
    # On a narrow screen the table of moves scrolls, and shows it.
    marked = "getComputedStyle(one).backgroundAttachment.includes('local')"
    await tab.resize(240, 900)
    scrolling = "[...document.querySelectorAll('.scroll')].filter(one=>one.scrollWidth>one.clientWidth)"
    assert set(await tab.evaluate(f"{scrolling}.map(one=>{marked})")) == {True}
    head, cell = await tab.evaluate(
        "['th','td'].map(one=>getComputedStyle(document.querySelector(`.moves ${one}:last-child`)).textAlign)"
    )
    assert head == cell


def brightness(colour: str) -> int:
    """The sum of a colour's parts."""
    return sum(map(int, re.findall(r"\d+", colour)[:3]))


@pytest.mark.slow
def test_a_browser_shows_the_page(tmp_path: Path) -> None:
    programs("chromium")
    asyncio.run(look(tmp_path / "page", tmp_path / "journal"))
