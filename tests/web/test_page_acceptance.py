"""The page through what an evening brings: the book from two tabs, ends of daemon and gateway, haste; how it fits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from browser import BrowserTab
from chrome import READY, Chrome
from served import Peer, Served, serving
from waits import until
from web_gateway import Web

pytestmark = pytest.mark.slow

LINE = "f5d6c3d3c4f4c5b3c2"
GAME = (
    "f5d6c3d3c4f4c5b4b3c6c2a2a3a4f3e3d2c1b5b6c7d1b7d7e7a8a5a6a7e6b2e2e1b8d8c8a1b1e8f2g3g2f1f8f7h3g4h5h4g8h6h7g1h1h2"
    "f6g5g6g7h8"
)
BOOK_TEXT = "document.getElementById('book-known').textContent"
ROWS = "[...document.querySelectorAll('#book-rows tr')].map(row=>[...row.cells].map(cell=>cell.textContent))"

Visit = Callable[..., None]


def test_the_book_is_walked_and_edited_while_a_job_runs_in_another_tab(tmp_path: Path, chrome: Chrome) -> None:
    with serving(tmp_path / "daemon") as served:
        with Peer(served.ipc) as peer:
            peer.final("book.new", {"level": 4, "depth": 40})
            peer.final("book.store", {"moves": LINE})
        web = Web(tmp_path, served.ipc)

        async def talk() -> None:
            first, second = await chrome.page(web, hints=False), await chrome.page(web, hints=False)
            for tab in (first, second):
                await tab.click("#tab-book")
                await tab.until(f"{ROWS}.length > 0")
                # A column of which the book has nothing is away: nothing here is solved, no game was counted.
                columns = "[...document.querySelectorAll('#book-table th')].filter(e => e.checkVisibility())"
                heads = await tab.evaluate(f"{columns}.map(e => e.textContent)")
                assert heads[:5] == ["Move", "Score", "Grade", "Lines", "Level"]
                assert "Source" in heads
                assert not {"Paths won, drawn, lost", "Games"} & set(heads)
                assert (await tab.evaluate("document.getElementById('version').textContent")).endswith(
                    "; you may change the book"
                )
            # Panes move while they fill, so that these buttons are pressed without the mouse.
            # A job that takes long, by the form.
            choose = "e => { e.value = 'learn'; e.dispatchEvent(new Event('change')) }"
            await first.evaluate(f"({choose})(document.getElementById('book-command'))")
            for name, value in {"depth": 40, "per-move": 64, "cumulative": 64, "leaf": 64, "level": 16}.items():
                await first.evaluate(f"document.getElementById('parameter-{name}').value = {value}")
            await first.evaluate("document.querySelector('#book-form button.primary').click()")
            await first.until("!document.getElementById('job-chip').hidden")
            await second.until("!document.getElementById('job-chip').hidden")
            # It tells how far it is, and can be stopped, where it was started.
            await first.until("document.querySelectorAll('#pane-book progress ~ button').length === 1")
            # Meanwhile the other walks: the move that the book knows is pressed in its table.
            press = "[...document.querySelectorAll('#book-rows button')].find(e => e.textContent === 'f5').click()"
            await second.evaluate(press)
            await second.until("desdaemon.game.now.ply === 1")
            await second.until(f"{BOOK_TEXT} !== ''")
            # Its own edit waits for the job, which is stopped from here.
            await second.click("#tab-server")
            await second.until("document.querySelectorAll('#jobs button').length")
            await second.evaluate("document.querySelector('#jobs button').click()")
            await first.until("document.getElementById('book-told').textContent.includes('stopped')")
            await second.click("#tab-book")
            await second.until("[...document.getElementById('edit-move').options].some(e => e.value === 'd6')")
            await second.evaluate("document.getElementById('edit-move').value = 'd6'")
            await second.evaluate("document.getElementById('edit-score').value = 7")
            await second.evaluate("document.querySelector('#book-edit button').click()")
            await second.until(
                f"{ROWS}.some(row => row[0] === 'd6' && row[1].startsWith('+7') && row.at(-1) === 'by hand')"
            )
            # The other sees it without having asked.
            await first.evaluate("desdaemon.moves.play('f5')")
            await first.until(f"{ROWS}.some(row => row[0] === 'd6' && row[1].startsWith('+7'))")
            await second.evaluate("document.querySelector('#book-unedit').click()")
            await first.until(f"{ROWS}.some(row => row[0] === 'd6' && !row[1].startsWith('+7'))")
            # What takes positions out asks before.
            remove = "document.getElementById('book-delete').click()"
            await second.evaluate("window.confirm = text => { window.asked = text; return window.yes; }")
            await second.evaluate(remove)
            assert "take it out of the book?" in await second.evaluate("asked")
            await first.until(f"{ROWS}.length > 0")
            await second.evaluate(f"window.yes = true; {remove}")
            await first.until("!document.getElementById('book-none').hidden")
            for tab in (first, second):
                assert tab.complaints == []
                await tab.close()

        chrome.run(talk())
        with Peer(served.ipc) as peer:
            assert peer.final("book.get", {})["found"]
        assert web.end() == 0


def test_changes_are_offered_where_the_book_takes_them(tmp_path: Path, chrome: Chrome) -> None:
    shown = "['book-edit', 'book-store', 'book-save'].map(id => document.getElementById(id).checkVisibility())"
    commands = "[...document.getElementById('book-command').options].map(e => e.value)"

    async def talk(web: Web) -> None:
        tab = await chrome.page(web, hints=False)
        await tab.click("#tab-book")
        await tab.until("document.getElementById('book-about').textContent.includes('read only')")
        assert await tab.evaluate(shown) == [False, False, True]
        offered = await tab.evaluate(commands)
        assert "deviate" not in offered
        assert "show" in offered
        # A copy is in use at once.
        await tab.click("#book-save")
        await tab.until(f"{commands}.includes('deviate')")
        assert await tab.evaluate(shown) == [True, True, False]
        (copy,) = served.data.glob("*.book")
        await tab.until(f"document.getElementById('book-about').textContent.startsWith('{copy.name} ·')")
        assert copy.name in await tab.evaluate("document.getElementById('book-told').textContent")
        await tab.close()

    with serving(tmp_path / "daemon") as served:
        with Peer(served.ipc) as peer:
            peer.final("book.load", {"file": "builtin"})
        web = Web(tmp_path, served.ipc)
        chrome.run(talk(web))
        assert web.end() == 0


def test_a_job_tells_how_much_of_the_whole_is_done(tmp_path: Path, chrome: Chrome) -> None:
    told = "document.querySelector('#book-jobs span').textContent"
    bar = "document.querySelector('#book-jobs progress').position"
    stop = "document.querySelector('#book-jobs button').getBoundingClientRect().bottom"

    async def talk(web: Web) -> None:
        tab = await chrome.page(web, hints=False)
        await tab.resize(1280, 800)
        await tab.click("#tab-book")
        await tab.until(f"{ROWS}.length > 0")
        for limit, part in ((None, False), (600, True)):
            choose = "e => { e.value = 'deviate'; e.dispatchEvent(new Event('change')) }"
            await tab.evaluate(f"({choose})(document.getElementById('book-command'))")
            for name, value in {"relative": 20, "absolute": 60, "time": limit}.items():
                await tab.evaluate(f"document.getElementById('parameter-{name}').value = {value or '``'}")
            await tab.evaluate("document.querySelector('#book-form button.primary').click()")
            # Nobody knows how many rounds it takes; a limit is a whole.
            await tab.until(rf"/· round \d+ · .*search \d+ of \d+ · .* added/.test({told})")
            assert await tab.evaluate(stop) <= 800
            await tab.until(f"{bar} > 0 && {told}.includes('%')" if part else f"{bar} === -1 && !{told}.includes('%')")
            await tab.evaluate("document.querySelector('#book-jobs button').click()")
            await tab.until("document.querySelectorAll('#book-jobs li').length === 0")
            await tab.until("document.getElementById('book-told').textContent.includes('stopped')")
        await tab.close()

    with serving(tmp_path / "daemon") as served:
        with Peer(served.ipc) as peer:
            peer.final("book.new", {"level": 14, "depth": 40})
            peer.final("book.store", {"moves": LINE})
        web = Web(tmp_path, served.ipc)
        chrome.run(talk(web))
        assert web.end() == 0


def test_the_page_survives_a_restart_of_the_daemon(tmp_path: Path, chrome: Chrome) -> None:
    with serving(tmp_path / "daemon") as served:
        web = Web(tmp_path, served.ipc)

        async def talk() -> None:
            tab = await chrome.page(web, f"#m={LINE}", level=4)
            await tab.evaluate("desdaemon.game.now.comment = 'mine'")
            served.kill()
            await tab.until("!desdaemon.socket.connected")
            await tab.until("document.getElementById('connection').className === 'chip bad'")
            # What is entered meanwhile is there afterwards, and gets its hints.
            await tab.evaluate("desdaemon.moves.play('e3')")
            served.start()
            await tab.until(READY)
            await tab.until("document.getElementById('board').dataset.settled === desdaemon.game.key()")
            assert await tab.evaluate("desdaemon.game.now.parent.comment") == "mine"
            assert tab.complaints == []
            await tab.close()

        chrome.run(talk())
        assert web.end() == 0


def test_the_page_survives_a_restart_of_the_gateway(served: Served, tmp_path: Path, chrome: Chrome) -> None:
    """The page comes back by itself with its cookie; the address of the earlier start is none any more."""
    web = Web(tmp_path, served.ipc)
    old_token = web.token

    async def talk() -> None:
        tab = await chrome.page(web, f"#m={LINE}", level=4)
        tab.forgiven = lambda text: "WebSocket" in text or "ERR_CONNECTION" in text
        web.kill()
        await tab.until("!desdaemon.socket.connected")
        await tab.evaluate("desdaemon.moves.play('e3')")
        web.start()
        await tab.until(READY)
        await tab.until("document.getElementById('board').dataset.settled === desdaemon.game.key()")
        # Loaded anew it is where it was.
        await tab.evaluate("desdaemon.keeper.keep()")
        await tab.reload()
        await tab.until(f"{READY} && desdaemon.game.moves() === {LINE + 'e3'!r}")
        assert tab.complaints == []
        await tab.close()

    chrome.run(talk())
    assert web.let_in(old_token) == ""
    assert web.let_in(web.token) != ""
    web.end()
    # Whoever revokes lets nobody in by what they have.
    again = Web(tmp_path, served.ipc, "--revoke", port=web.port)
    assert again.get("/", cookie=web.cookie)[0] == 403
    assert again.end() == 0


def test_a_hundred_fast_moves_leave_no_search_running(visit: Visit, served: Served) -> None:
    async def talk(tab: BrowserTab) -> None:
        for _ in range(50):
            await tab.press("ArrowLeft", "ArrowRight")
        await tab.press("v")
        with Peer(served.ipc) as peer:
            until(lambda: not (status := peer.final("status"))["running"] and not status["queued"])
        await tab.until("desdaemon.socket.pending.size === 0")

    visit(talk, f"#m={LINE}", endless=True)


def test_a_tab_that_is_closed_leaves_no_search_running(visit: Visit, served: Served) -> None:
    async def talk(tab: BrowserTab) -> None:
        with Peer(served.ipc) as peer:
            while not peer.final("status")["running"]:
                await asyncio.sleep(0.01)

    visit(talk, f"#m={LINE}", endless=True)
    with Peer(served.ipc) as peer:
        until(lambda: not peer.final("status")["running"])


def test_a_game_is_analysed_and_mistakes_are_found(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        # The bar shows how much of the whole is done, and never goes back.
        await tab.evaluate(
            """window.told = []; const reviewed = desdaemon.reviewed.bind(desdaemon); desdaemon.reviewed = () => {
                desdaemon.panes.game.progress();
                told.push([document.getElementById("analysis-progress").value,
                    document.getElementById("analysis-told").textContent]);
                reviewed();
            }"""
        )
        await tab.press("a")
        await tab.until("told.length > 1 && !desdaemon.review.running")
        *told, last = await tab.evaluate("told")
        shares = [share for share, _ in told]
        assert shares == sorted(shares)
        assert shares[0] == 0
        assert shares[-1] == 1
        assert [text for _, text in told] == [f"{int(100 * share)} %" for share in shares]
        assert last[1] == ""
        await tab.until("!desdaemon.drawing")
        scores = "document.querySelectorAll('#graph .sure').length"
        assert await tab.evaluate(scores) > 40
        assert await tab.evaluate("document.querySelectorAll('#mistakes li').length") > 3
        # They can be gone through, and the losses shown, now that there are some.
        for name in ("mistake-back", "mistake-next", "graph-kind"):
            assert await tab.evaluate(f"document.getElementById('{name}').checkVisibility()"), name
        await tab.press("Home", "n", "n")
        ply = await tab.evaluate("desdaemon.game.now.ply")
        assert ply > 0
        await tab.press("Shift+n")
        assert await tab.evaluate("desdaemon.game.now.ply") < ply
        # Nothing weaker takes the place of what is known.
        before = await tab.evaluate("JSON.stringify(desdaemon.knowledge.of(desdaemon.game.key()))")
        await tab.evaluate("desdaemon.preferences.set('gameLevel', 1)")
        await tab.evaluate("desdaemon.review.begin()")
        await tab.until("!desdaemon.review.running")
        assert await tab.evaluate("JSON.stringify(desdaemon.knowledge.of(desdaemon.game.key()))") == before
        await tab.press("d")
        assert await tab.evaluate("document.querySelectorAll('#graph .loss').length") == 2
        # A random start is one of eight moves.
        await tab.click("#random-start")
        await tab.until("desdaemon.game.now.ply === 8")
        # The engine plays White.
        await tab.evaluate("desdaemon.game.reset()")
        await tab.evaluate("desdaemon.preferences.set('playLevel', 1)")
        await tab.evaluate("desdaemon.preferences.set('white', 'engine')")
        await tab.evaluate("desdaemon.moves.play('f5')")
        await tab.until("desdaemon.game.now.ply === 2 && desdaemon.game.now.side === 'X'")

    visit(talk, f"#m={GAME}", hints=False, gameLevel=4)


def test_nothing_is_cut_off_at_any_size(visit: Visit) -> None:
    """Nothing is cut off, from a telephone to a window of 1280 at 400 %."""

    async def talk(tab: BrowserTab) -> None:
        async def fits(name: str) -> None:
            await tab.until("!desdaemon.drawing")
            assert await tab.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), (
                name
            )

        async def in_sight(name: str, height: int) -> None:
            box = "(({ top, bottom }) => [top, bottom])(document.getElementById('board').getBoundingClientRect())"
            top, bottom = await tab.evaluate(box)
            assert bottom > 0, name
            assert top < height, name
            if bottom - top <= height:
                assert top > -1, name
                assert bottom < height + 1, name

        await tab.evaluate("document.getElementById('keep').click()")
        await tab.evaluate("desdaemon.game.step(24 - desdaemon.game.now.ply)")
        await tab.evaluate("desdaemon.review.begin()")
        await tab.until("!desdaemon.review.running")
        await tab.until("document.getElementById('board').dataset.settled === desdaemon.game.key()")
        # The controls are within a small laptop's window, with players of long names.
        await tab.evaluate(
            "Object.assign(desdaemon.game.about, { black: 'Bartholomew the Longest-Named', white: 'W'.repeat(60) })"
        )
        await tab.evaluate("desdaemon.refresh()")
        bottoms = "[...document.querySelectorAll('.play button')].map(e => e.getBoundingClientRect().bottom)"
        # What a browser leaves of 1280 x 800, and all of it; in the language of the longest words.
        await tab.evaluate("desdaemon.preferences.set('language', 'fr')")
        for height in (660, 800):
            await tab.resize(1280, height)
            await fits(f"small-{height}")
            assert max(await tab.evaluate(bottoms)) <= height
            await tab.evaluate("desdaemon.controls.beginSetup()")
            assert max(await tab.evaluate(bottoms)) <= height
            await tab.evaluate("desdaemon.board.setup.end(false)")
        assert "%" in await tab.evaluate("document.getElementById('accuracy').textContent")
        assert await tab.evaluate("document.getElementById('white-name').title") == "W" * 60
        colours = await tab.evaluate(
            "['blunder', 'mistake:not(.blunder, .inaccuracy)', 'inaccuracy'].map(grade =>"
            " getComputedStyle(document.querySelector(`#mistakes .${grade}`)).borderLeftColor)"
        )
        assert len(set(colours)) == 3
        # A telephone, and a window of 1280 at 400 %.
        for name, width, height, scale in (("narrow", 390, 844, 2), ("zoomed", 320, 256, 4)):
            await tab.resize(width, height, scale)
            await fits(name)
            # A mistake that is pressed is seen on the board.
            await tab.evaluate("document.querySelector('#mistakes li:last-child button').click()")
            await in_sight(name, height)
            # So is a game of the list that is opened.
            await tab.evaluate("desdaemon.tabs.show('library')")
            await tab.evaluate("document.getElementById('kept').scrollIntoView()")
            await tab.evaluate("document.querySelector('#kept .open').click()")
            await in_sight(name, height)
            if name == "narrow":
                # With the names of its players.
                assert await tab.evaluate("document.getElementById('black-name').getBoundingClientRect().top") >= 0
            await tab.evaluate("desdaemon.tabs.show('game')")
            # The tabs of the panes do not lie over one another.
            boxes = await tab.evaluate(
                "[...document.querySelectorAll('[role=tab]')].map(e => [e.scrollWidth, e.clientWidth])"
            )
            assert all(wanted <= given for wanted, given in boxes), boxes
            await tab.evaluate("scrollTo(0, 0)")
        await tab.resize(1280, 860)
        for pane in ("book", "library", "server", "settings"):
            await tab.click(f"#tab-{pane}")
            await fits(pane)

    visit(talk, f"#m={GAME}", level=16, gameLevel=8)
