"""The pane of what people played: beside the hints where the daemon has an index of games, hidden elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from browser import BrowserTab
from chrome import Chrome
from served import serving
from web_gateway import Web

from desdaemon.book.explorer import cli as games

Visit = Callable[..., None]

ROWS = """[...document.querySelectorAll("#played-rows .led")].map(row =>
    [...row.children, row.nextSibling.firstChild].map(cell => cell.textContent))"""
"""Each row of moves with the one below it."""
LISTED = ROWS.replace("rows", "games")
HIDDEN = "document.getElementById('tab-played').hidden"
GAMES = """[Black "Ann"]
[White "Bob <b>"]
[Date "1997"]
[Event "Rome"]
[Result "40-24"]

1. f5 d6 2. c3 40-24

[Black "Bob <b>"]
[White "Ann"]
[Date "2001"]

1. d3 c3 2. c4 *

[Black "Cid"]
[White "Ann"]
[Result "30-34"]

1. f5 f6 30-34
"""


def test_what_people_played_is_shown_filtered_and_played(tmp_path: Path, chrome: Chrome) -> None:
    (tmp_path / "games.pgn").write_text(GAMES)
    index = tmp_path / "games.index"
    assert games.main(["index", str(tmp_path / "games.pgn"), "--out", str(index)]) == 0

    async def talk(web: Web) -> None:
        tab = await chrome.page(web, "#m=f5", hints=False)
        await tab.until(f"!{HIDDEN}")
        await tab.click("#tab-played")
        await tab.until(f"{ROWS}.length === 2")
        rows = [
            ["f6", "2", "100\u00a0%", "0\u00a0%", "0\u00a0%", "+4", "2001", "Most often by Ann 2"],
            ["d6", "1", "0\u00a0%", "0\u00a0%", "100\u00a0%", "\u221216", "1997", "Most often by Bob <b> 1"],
        ]
        assert await tab.evaluate(ROWS) == rows
        assert await tab.evaluate(LISTED) == [
            ["Bob <b> \u2013 Ann", "?", "f6", "2001 · games.pgn"],
            ["Ann \u2013 Bob <b>", "40\u201324", "d6", "1997 · Rome · games.pgn"],
            ["Cid \u2013 Ann", "30\u201334", "f6", "games.pgn"],
        ]
        await tab.evaluate("document.querySelector('#played-filter [name=to_year]').value = 2000")
        await tab.click("#played-filter button")
        await tab.until(f"{ROWS}.length === 1")
        assert await tab.evaluate(ROWS) == rows[1:]
        # A move of the table is played, and the pane follows the board, with the filter.
        await tab.evaluate("document.querySelector('#played-rows button').focus()")
        await tab.press("Enter")
        await tab.until(f"desdaemon.game.moves() === 'f5d6' && {ROWS}[0]?.[0] === 'c3'")
        # The focus goes on to the next move, and where there is none to the tab.
        assert await tab.evaluate("document.activeElement.textContent") == "c3"
        await tab.press("Enter")
        await tab.until("!document.getElementById('played-none').hidden")
        assert await tab.evaluate("document.activeElement.id") == "tab-played"
        await tab.press("Backspace")
        await tab.until(f"{ROWS}[0]?.[0] === 'c3'")
        await tab.evaluate("desdaemon.game.step(1), desdaemon.moves.play('c4')")
        await tab.until("!document.getElementById('played-none').hidden")
        for width in (360, 390, 800, 1280):
            await tab.resize(width, 800)
            assert await tab.evaluate("document.documentElement.scrollWidth") <= width
        nodes = await tab.accessibility()
        assert [node["name"] for node in nodes if node["role"] == "tab"].count("Explorer") == 1
        # The arrow keys reach its tab.
        await tab.evaluate("document.getElementById('tab-book').focus()")
        await tab.press("ArrowRight")
        assert await tab.evaluate("document.activeElement.id") == "tab-played"
        assert tab.complaints == []
        await tab.close()

    with serving(tmp_path / "daemon", "-games-file", str(index)) as served, Web(tmp_path, served.ipc) as web:
        chrome.run(talk(web))
        assert web.end() == 0


def test_a_game_of_the_list_opens_with_one_press(tmp_path: Path, chrome: Chrome) -> None:
    """Two games of the same players in one tournament are told apart by what was played."""
    about = '[Black "Ann"]\n[White "Bob"]\n[Date "1997"]\n[Event "Rome"]\n'
    lines = ["1. f5 d6 2. c3 d3 3. c4 f4 *", "1. f5 d6 2. c3 g5 3. d7 e3 *"]
    (tmp_path / "games.pgn").write_text("\n".join(f"{about}\n{line}\n" for line in lines))
    index = tmp_path / "games.index"
    assert games.main(["index", str(tmp_path / "games.pgn"), "--out", str(index)]) == 0

    async def talk(web: Web) -> None:
        tab = await chrome.page(web, "#m=f5d6c3", hints=False)
        await tab.until(f"!{HIDDEN}")
        await tab.click("#tab-played")
        await tab.until(f"{LISTED}.length === 2")
        row = ["Ann \u2013 Bob", "?", "1997 · Rome · games.pgn"]
        assert sorted(await tab.evaluate(LISTED)) == [[*row[:2], move, row[2]] for move in ("d3", "g5")]
        for move, whole in (("g5", "f5d6c3g5d7e3"), ("d3", "f5d6c3d3c4f4")):
            await tab.until(f"{LISTED}.length === 2")
            at = [one[2] for one in await tab.evaluate(LISTED)].index(move)
            await tab.evaluate(f"document.querySelectorAll('#played-games .open')[{at}].click()")
            await tab.until(f"desdaemon.game.moves(desdaemon.game.line().at(-1)) === {whole!r}")
            # It is looked at where it was found, and the game before is in the list of games.
            assert await tab.evaluate("desdaemon.game.moves()") == "f5d6c3"
            assert await tab.evaluate("desdaemon.game.about") == {
                "black": "Ann", "white": "Bob", "event": "Rome", "date": "1997",
            }  # fmt: skip
        kept = await tab.evaluate("desdaemon.panes.library.games.map(one => one.moves)")
        assert kept == ["f5d6c3g5d7e3", "f5d6c3"]
        assert tab.complaints == []
        await tab.close()

    with serving(tmp_path / "daemon", "-games-file", str(index)) as served, Web(tmp_path, served.ipc) as web:
        chrome.run(talk(web))
        assert web.end() == 0


def test_without_an_index_there_is_no_tab(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        # As if it had been there when the page was last open.
        await tab.evaluate("desdaemon.tabs.show('played'), desdaemon.panes.played.greet({ ops: ['games.get'] })")
        await tab.until("!document.getElementById('pane-game').hidden")
        assert await tab.evaluate(HIDDEN)
        await tab.evaluate("document.getElementById('tab-book').focus()")
        await tab.press("ArrowRight")
        assert await tab.evaluate("document.activeElement.id") == "tab-library"

    visit(talk, hints=False)
