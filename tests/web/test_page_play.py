"""Playing against the engine and by the clock; pictures, files that are dropped, the list of games that are kept."""

from __future__ import annotations

import base64
import gzip
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from struct import unpack_from

from browser import BrowserTab
from chrome import READY
from random_games import with_pass

from desdaemon.clients.gamefiles import wthor
from desdaemon.clients.web.games import write
from desdaemon.protocol.othello.diagrams import COLOURS
from desdaemon.protocol.othello.notation import move_text
from desdaemon.protocol.othello.rules import PASS

Visit = Callable[..., None]

LINE = "f5d6c3d3c4f4"
LATE = "f5d6c3g5d7e3f3g3f2e1g2f4h5h6g4h2h1c7f1g1h4d8e6d2d3f6g6e2h7b3d1c6b4c5a3b2h3c1c2b1"
"""Forty plies, from which games are soon over."""
NAMED = "(;GM[Othello]PB[kuro]PW[shiro]TY[8]BO[8 ---------------------------O*------*O--------------------------- *]"
NAMED += "B[f5]W[f6];)"
DATED = NAMED.replace("B[f5]W[f6]", "DT[2001-02-03]B[f5]W[d6]B[c3]")
OPENED = "desdaemon.game.moves(desdaemon.game.line().at(-1))"
ROWS = "[...document.querySelectorAll('#kept .open')].map(e => e.textContent)"
KEPT = "document.getElementById('kept-told').textContent"
NOTICE = "document.getElementById('notice').textContent"
CLOCK = "document.getElementById('black-clock').textContent"

DROP = """files => {
    const dataTransfer = new DataTransfer();
    for (const [data, name] of files) {
        if (name) {
            const bytes = Uint8Array.from(atob(data), one => one.charCodeAt(0));
            dataTransfer.items.add(new File([bytes], name));
        } else dataTransfer.setData("text/plain", data);
    }
    for (const kind of ["dragover", "drop"]) {
        const event = new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true });
        document.getElementById("board").dispatchEvent(event);
        if (!event.defaultPrevented) throw new Error(`the browser would take the ${kind} itself`);
    }
}"""
"""Drop files (base64 and a name each), or a text, on the board."""

ASKED = "window.confirm = text => { window.asked = text; return %s; }"
"""How a question of the page is answered."""

SAVED = """id => new Promise(resolve => {
    const old = URL.createObjectURL;
    URL.createObjectURL = blob => {
        URL.createObjectURL = old;
        const reader = new FileReader();
        reader.onload = () => resolve([blob.type, reader.result.split(",")[1]]);
        reader.readAsDataURL(blob);
        return old.call(URL, blob);
    };
    document.getElementById(id).click();
})"""
"""The type and the content (base64) of the file that a button offers."""


async def drop(tab: BrowserTab, data: bytes | str, name: str = "", **more: bytes) -> None:
    """Drop a text, or a file; ``more`` are files beside it, by extension."""
    given = base64.b64encode(data).decode() if isinstance(data, bytes) else data
    beside = [[base64.b64encode(content).decode(), f"WTHOR.{kind}"] for kind, content in more.items()]
    await tab.evaluate(f"({DROP})({json.dumps([[given, name], *beside])})")


async def saved(tab: BrowserTab, button: str) -> tuple[str, bytes]:
    kind, data = await tab.evaluate(f"({SAVED})({json.dumps(button)})")
    return kind, base64.b64decode(data)


def wthor_file(count: int) -> bytes:
    games = [{"moves": LINE if at % 2 else "f5f6e6f4"} for at in range(count)]
    return base64.b64decode(write({"games": games, "format": "wtb"})["data"])


# Against the engine


def test_the_engine_answers_and_a_move_is_taken_back_with_its_answer(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        answered = "desdaemon.game.now.ply === 2 && !desdaemon.player.running"
        await tab.evaluate("desdaemon.preferences.set('white', 'engine')")
        await tab.click('[data-square="f5"]')
        await tab.until(answered)
        first = await tab.evaluate("desdaemon.game.now.move")
        await tab.click("#undo")
        assert await tab.evaluate("desdaemon.game.now.ply") == 0
        assert await tab.evaluate("desdaemon.player.running") is None
        # The engine has the next word whether the branch is new or was there before.
        await tab.click('[data-square="f5"]')
        await tab.until(answered)
        await tab.press("Home")
        await tab.click('[data-square="f5"]')
        await tab.until(answered)
        assert await tab.evaluate("desdaemon.game.now.move") == first
        # Whoever looks back is left in peace.
        await tab.press("ArrowLeft")
        assert await tab.evaluate("desdaemon.player.running") is None
        # As Black it begins.
        await tab.evaluate("desdaemon.preferences.set('white', 'human')")
        await tab.evaluate("desdaemon.preferences.set('black', 'engine')")
        await tab.press("Shift+r")
        await tab.until("desdaemon.game.now.ply === 1 && !desdaemon.player.running")
        assert await tab.evaluate("desdaemon.game.now.side") == "O"

    visit(talk, hints=False, playLevel=2)


def test_the_engine_plays_itself_until_it_is_stopped(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        await tab.evaluate("desdaemon.preferences.set('black', 'engine')")
        await tab.evaluate("desdaemon.preferences.set('white', 'engine')")
        await tab.press("g")
        await tab.until("desdaemon.game.now.ply > 43")
        await tab.press("Escape")
        at = await tab.evaluate("desdaemon.game.now.ply")
        await tab.press("Backspace")
        assert await tab.evaluate("desdaemon.player.running") is None
        assert await tab.evaluate("desdaemon.game.now.ply") < at
        await tab.press("g")
        await tab.until("desdaemon.game.over")
        assert "Game over" in await tab.evaluate("document.getElementById('told').textContent")

    visit(talk, f"#m={LATE}", hints=False, playLevel=1)


def test_the_engine_plays_as_people_do(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        await tab.evaluate("desdaemon.preferences.set('strength', 1200)")
        await tab.evaluate("desdaemon.preferences.set('black', 'engine')")
        await tab.evaluate("desdaemon.preferences.set('white', 'engine')")
        await tab.press("g")
        await tab.until("desdaemon.game.over")
        # The moves before count too: the last one of the opponent's is answered.
        sent = "desdaemon.socket.log.filter(one => one.out && one.text.includes('people.get')).at(-1).text"
        assert '"moves":"' in await tab.evaluate(sent)
        assert '"moves":""' not in await tab.evaluate(sent)

    visit(talk, f"#m={LATE}", hints=False)


def test_play_begins_a_game_against_somebody(visit: Visit) -> None:
    names = "['black', 'white'].map(side => document.getElementById(`${side}-name`).textContent)"

    async def talk(tab: BrowserTab) -> None:
        await tab.click("#play-game")
        assert await tab.evaluate("document.getElementById('lesson-warn').value") == "0"
        await tab.click("#lesson-start")
        assert await tab.evaluate(names) == ["You", "rated 100"]
        assert await tab.evaluate("desdaemon.teacher.side") == ""
        assert not await tab.evaluate("document.getElementById('lesson').checkVisibility()")
        await tab.click('[data-square="f5"]')
        await tab.until("desdaemon.game.now.ply === 2")
        # The engine itself, and the other colour.
        await tab.press("p", "ArrowDown")
        await tab.evaluate("document.getElementById('lesson-rating').value = 0")
        await tab.click("#lesson-start")
        assert await tab.evaluate(names) == ["the engine", "You"]
        await tab.until("desdaemon.game.now.ply === 1")

    visit(talk, hints=False, playLevel=1)


def test_an_empty_game_offers_no_button_that_can_do_nothing(visit: Visit) -> None:
    seen = """ids => (desdaemon.tabs.show("game"), ids.filter(id => document.getElementById(id).checkVisibility()))"""
    moving = ["first", "back", "forward", "last", "undo", "analyse", "table-box"]
    judged = ["mistake-back", "mistake-next", "graph-kind"]

    async def talk(tab: BrowserTab) -> None:
        assert await tab.evaluate(f"({seen})({moving})") == []
        box = "(({ x, width, y }) => [x, width, y])(document.getElementById('board').getBoundingClientRect())"
        before = await tab.evaluate(box)
        await tab.evaluate("desdaemon.moves.play('f5')")
        # The scores of the first move may be known from before.
        known = await tab.evaluate("document.getElementById('accuracy').textContent") != ""
        assert await tab.evaluate(f"({seen})({moving + judged})") == moving + ["graph-kind"] * known
        # Nor is there anything to be saved in a format, or to be searched.
        await tab.evaluate("desdaemon.game.reset(), desdaemon.tabs.show('library')")
        assert await tab.evaluate(
            "[...document.querySelectorAll('#format, #kept-filter')].map(e => e.checkVisibility())"
        ) == [False, False]
        assert await tab.evaluate(KEPT) == "Games that you play or open stand here."
        await tab.evaluate("desdaemon.moves.play('f5'), desdaemon.controls.newGame()")
        assert await tab.evaluate("document.getElementById('kept-filter').checkVisibility()")
        await tab.evaluate("desdaemon.moves.play('f5')")
        # No square moves away under the pointer.
        assert await tab.evaluate(box) == before
        await tab.evaluate("desdaemon.game.reset()")
        assert await tab.evaluate(f"({seen})({moving})") == []

    visit(talk, hints=False)


def test_touch_targets_are_44_px(visit: Visit) -> None:
    small = """(() => {
        const found = [];
        for (const pane of ["game", "book", "library", "exercises", "practice", "server", "settings"]) {
            desdaemon.tabs.show(pane);
            for (const one of document.querySelectorAll("button, select, .file, summary, .check, input")) {
                const { width, height } = one.getBoundingClientRect();
                // Squares are as large as the screen lets them be; a label is touched for its box.
                const boxed = one.parentNode.matches("label.check, .file, fieldset label");
                const least = one.matches(".square") ? 43 : boxed ? 0 : 44;
                if (one.checkVisibility() && Math.min(width, height) < least) found.push([pane, one.id, width, height]);
            }
        }
        return found;
    })()"""

    async def talk(tab: BrowserTab) -> None:
        for width in (390, 768):
            await tab.resize(width, 844)
            assert await tab.evaluate(small) == []
            assert await tab.evaluate("document.documentElement.scrollWidth") <= width

    visit(talk, "#m=f5d6c3", hints=False)


def test_the_page_can_be_installed(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        found = await tab.call("Page.getAppManifest")
        assert found["errors"] == []
        assert json.loads(found["data"])["name"] == "desdaemon"
        assert (await tab.call("Page.getInstallabilityErrors"))["installabilityErrors"] == []

    visit(talk, hints=False)


def test_a_reloaded_page_has_its_game_when_its_address_lags(visit: Visit) -> None:
    """The browser may load the page anew before it hears of the new address."""

    async def talk(tab: BrowserTab) -> None:
        await tab.evaluate("desdaemon.moves.play('f5'), desdaemon.moves.play('d6'), desdaemon.keeper.keep()")
        await tab.evaluate("desdaemon.keeper.keep = () => {}, history.replaceState(history.state, '', '/#m=f5f4')")
        await tab.reload()
        await tab.until("desdaemon.game.moves() === 'f5d6'")
        # Another link that is opened is shown.
        await tab.evaluate("location.hash = 'm=f5f6'")
        await tab.until("desdaemon.game.moves() === 'f5f6'")

    visit(talk, hints=False)


def test_a_reloaded_page_has_the_last_move(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        await tab.evaluate("desdaemon.moves.play('f5'), desdaemon.moves.play('d6')")
        await tab.until("location.hash === '#m=f5d6'")
        # The address follows the moves a moment later.
        await tab.evaluate("desdaemon.player.used.X = 90_000, desdaemon.moves.play('c3')")
        # If it fails, this tells whether the browser had lost the tab's history or the stored game.
        mark = await tab.evaluate("desdaemon.keeper.tab")
        await tab.reload()
        await tab.until(READY)
        kept = "[desdaemon.keeper.tab, desdaemon.game.moves(), desdaemon.player.used.X >= 90_000]"
        assert await tab.evaluate(kept) == [mark, "f5d6c3", True]

    visit(talk, hints=False)


def test_clocks_run_where_they_have_a_limit(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        # Without a limit there is none, while somebody plays too.
        await tab.evaluate("desdaemon.moves.play('f5'), desdaemon.moves.play('d6')")
        await tab.evaluate("desdaemon.player.used.X = 90_000, desdaemon.status.clocks()")
        assert await tab.evaluate(CLOCK) == ""
        await tab.evaluate("desdaemon.controls.newGame(), desdaemon.preferences.set('minutes', 5)")
        assert await tab.evaluate(CLOCK) == "5:00"
        # A share of what is left is what the engine may think.
        assert 1 <= await tab.evaluate("desdaemon.player.effort().time_ms") <= 5 * 60_000 / 30
        # It runs for the side to move once somebody plays, and stands while one looks back.
        await tab.evaluate("desdaemon.moves.play('f5')")
        await tab.evaluate("desdaemon.moves.play('d6')")
        await tab.until("desdaemon.player.used.X > 0")
        assert await tab.evaluate("!desdaemon.player.paused && desdaemon.player.counting === 'X'")
        await tab.press("ArrowLeft")
        assert await tab.evaluate("desdaemon.player.paused")
        # The end of the time is told, once.
        await tab.evaluate("desdaemon.moves.play('f6')")
        await tab.evaluate("desdaemon.player.used.X = 5 * 60_000")
        await tab.until(f"{NOTICE} === 'The time of Black is up'")
        assert await tab.evaluate(CLOCK) == "0:00"
        assert await tab.evaluate("desdaemon.player.paused")
        # A page that is loaded anew goes on with the clocks.
        await tab.evaluate("desdaemon.player.used.X = 90_000, desdaemon.keeper.keep()")
        await tab.reload()
        await tab.until(f"{READY} && {CLOCK} === '3:30'")
        assert await tab.evaluate("desdaemon.player.paused")
        # So does an engine that was about to move.
        await tab.evaluate("desdaemon.preferences.set('white', 'engine')")
        await tab.evaluate("desdaemon.player.think = () => {}, desdaemon.controls.newGame()")
        await tab.evaluate("desdaemon.moves.play('f5')")
        await tab.reload()
        await tab.until(f"{READY} && desdaemon.game.now.ply === 2")
        # A link to another position begins anew, and nobody moves before the user.
        origin = await tab.evaluate("location.origin")
        await tab.open("about:blank")
        await tab.open(f"{origin}/#m=d3")
        await tab.until(f"{READY} && desdaemon.game.moves() === 'd3'")
        assert await tab.evaluate("[desdaemon.player.paused, desdaemon.player.used.X]") == [True, 0]

    visit(talk, hints=False)


def test_typed_moves_are_played_or_refused(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        typed = "text => { document.getElementById('typed-move').value = text;"
        typed += " document.getElementById('typed').requestSubmit(); }"
        for text, told in (
            ("hello", "hello is no move"),
            ("", "is no move"),
            ("f5 x9", "f5 x9 is no move"),
            ("a1", "a1 is not legal"),
        ):
            await tab.evaluate("document.getElementById('notice').textContent = ''")
            await tab.evaluate(f"({typed})({text!r})")
            assert told in await tab.evaluate(NOTICE)
        assert await tab.evaluate("desdaemon.game.now.ply") == 0
        await tab.evaluate(f"({typed})('1. F5 d6')")
        assert await tab.evaluate("desdaemon.game.moves()") == "f5d6"

    visit(talk, hints=False)


def test_hints_are_off_in_a_game_against_the_engine(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        hints = "desdaemon.preferences.get('hints')"
        await tab.evaluate("desdaemon.preferences.set('white', 'engine')")
        assert await tab.evaluate(hints) is False
        # Who wants them nevertheless has them.
        await tab.press("v")
        assert await tab.evaluate(hints) is True
        await tab.evaluate("desdaemon.preferences.set('white', 'human')")
        assert await tab.evaluate(hints) is True

    visit(talk)


def test_the_engine_plays_the_move_that_is_framed(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        await tab.until("desdaemon.hints.settled")
        # A result that no search of two plies finds.
        deeper = "{ move: 'f4', score: 30, lower: 30, upper: 30, depth: 40, selectivity: 100, pv: 'f4' }"
        await tab.evaluate(f"desdaemon.knowledge.add(desdaemon.game.key(), [{deeper}]), desdaemon.refresh()")
        framed = "[...document.querySelectorAll('.square:has(.best)')].map(e => e.dataset.square)"
        assert await tab.evaluate(framed) == ["f4"]
        await tab.press("g")
        await tab.until("desdaemon.game.now.ply === 2")
        assert await tab.evaluate("desdaemon.game.now.move") == "f4"

    visit(talk, "#m=f5", level=2, playLevel=2)


def test_a_pass_is_told_in_words(visit: Visit) -> None:
    played = [move.move for move in with_pass().moves]
    line = "".join(move_text(move) for move in played[: played.index(PASS)])
    side = "Black" if played.index(PASS) % 2 == 0 else "White"

    async def talk(tab: BrowserTab) -> None:
        await tab.press("End")
        told = await tab.evaluate("document.getElementById('told').textContent")
        assert told.startswith(f"{played.index(PASS) + 1}. {side} passes \u00b7 ")

    visit(talk, f"#m={line}", hints=False)


def test_results_of_the_book_are_marked_in_the_page_s_language(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        await tab.until("desdaemon.hints.settled")
        found = "{ move: 'f6', score: 1, lower: 1, upper: 1, depth: 40, selectivity: 100, source: 'book', pv: 'f6' }"
        await tab.evaluate(f"desdaemon.knowledge.add(desdaemon.game.key(), [{found}]), desdaemon.refresh()")
        assert await tab.evaluate("document.querySelector('[data-square=f6] small').textContent") == "livre"

    visit(talk, "#m=f5", level=2, language="fr")


# Pictures and files


def test_the_board_is_saved_as_a_picture(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        kind, data = await saved(tab, "picture-svg")
        assert kind == "image/svg+xml"
        drawing = ElementTree.fromstring(data)
        circles = [one.attrib for one in drawing.iter("{http://www.w3.org/2000/svg}circle") if one.get("r") == "20"]
        white = {(int(one["cx"]), int(one["cy"])) for one in circles if one["fill"] == COLOURS["white-disc"].light}
        black = {(int(one["cx"]), int(one["cy"])) for one in circles if one["fill"] == COLOURS["black-disc"].light}
        cells = await tab.evaluate("desdaemon.game.now.cells")
        for disc, found in (("X", black), ("O", white)):
            squares = [at for at, cell in enumerate(cells) if cell == disc]
            assert found == {(46 + 48 * (at % 8), 46 + 48 * (at // 8)) for at in squares}
        kind, data = await saved(tab, "picture-png")
        assert (kind, data[:8]) == ("image/png", b"\x89PNG\r\n\x1a\n")
        assert unpack_from(">II", data, 16) == (856, 856)
        # Felt, a white disc and a black one are where they belong.
        script = """async ([data, squares]) => {
            const bytes = Uint8Array.from(atob(data), one => one.charCodeAt(0));
            const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
            const canvas = document.createElement("canvas");
            [canvas.width, canvas.height] = [856, 856];
            const drawn = canvas.getContext("2d", { willReadFrequently: true });
            drawn.drawImage(image, 0, 0);
            return squares.map(at => [...drawn.getImageData(92 + 96 * (at % 8) + 25, 92 + 96 * (at >> 3), 1, 1).data]);
        }"""
        squares = [63, cells.index("O"), cells.index("X")]
        colours = await tab.evaluate(f"({script})({json.dumps([base64.b64encode(data).decode(), squares])})")
        for colour, name in zip(colours, ("felt", "white-disc", "black-disc"), strict=True):
            assert colour == [*bytes.fromhex(COLOURS[name].light[1:]), 255], name

    visit(talk, f"#m={LINE}", hints=False)


def test_a_wthor_file_and_a_text_are_dropped(visit: Visit, tmp_path: Path) -> None:
    async def talk(tab: BrowserTab) -> None:
        await drop(tab, LINE.upper())
        await tab.until(f"{OPENED} === {LINE!r}")
        await drop(tab, wthor_file(3), "WTH_2001.wtb")
        # The game on the board is kept too.
        await tab.until(f"{ROWS}.length === 4")
        assert await tab.evaluate(ROWS) == ["f5f6e6f4", LINE, "f5f6e6f4", LINE]
        assert await tab.evaluate(OPENED) == "f5f6e6f4"
        # Files too large for a frame are read in parts; the list has all games, and shows some.
        await drop(tab, wthor_file(4000), "large.wtb")
        await tab.until(f"{NOTICE}.includes('4000 games read')")
        assert await tab.evaluate(f"{ROWS}.length") == 200
        assert await tab.evaluate(KEPT) == "Showing the first 200 of 4004 games"
        await tab.evaluate("document.getElementById('kept-more').click()")
        assert await tab.evaluate(f"{ROWS}.length") == 400
        assert await tab.evaluate(KEPT) == "Showing the first 400 of 4004 games"
        lines = f"{LINE}\nf5f6e6f4\n" * 6_000
        await drop(tab, lines.encode(), "lines.txt")
        await tab.until(f"{NOTICE}.includes('12000 games read')")
        games = "".join(f'[Black "b{at}"]\n[White "w{at}"]\n\n1. f5 d6 2. c3 d3 *\n\n' for at in range(5000))
        await drop(tab, games.encode(), "games.pgn")
        await tab.until(f"{NOTICE}.includes('5000 games read')")
        # A search by player.
        search = "e => { e.value = 'b4999'; e.dispatchEvent(new Event('input')) }"
        await tab.evaluate(f"({search})(document.getElementById('kept-filter'))")
        assert await tab.evaluate(ROWS) == ["b4999 \u2013 w4999 · f5d6c3d3"]
        await tab.evaluate("document.getElementById('kept-filter').value = ''")
        # What is no game is told, and leaves all as it was.
        broken = bytearray(wthor_file(2))
        broken[2] = 99
        await drop(tab, bytes(broken), "broken.wtb")
        await tab.until(f"{NOTICE}.includes('not a WTHOR file')")
        await tab.evaluate("desdaemon.panes.library.draw()")
        assert await tab.evaluate(KEPT) == "Showing the first 400 of 21004 games"
        await drop(tab, b"", "empty.txt")
        await tab.until(f"{NOTICE}.includes('0 games read')")
        # All of them go at once, after a question.
        await tab.evaluate(ASKED % "true")
        await tab.evaluate("document.getElementById('kept-clear').click()")
        assert await tab.evaluate("asked") == "Delete 21004 games?"
        assert await tab.evaluate(f"{ROWS}.length") == 0

    visit(talk, hints=False)


def test_the_names_of_a_wthor_file_are_in_files_beside_it(visit: Visit) -> None:
    """As for `desdaemon analyze`, to which they are neighbours in a folder."""
    game = wthor.parse(wthor_file(1), "").games[1]
    base = wthor.to_bytes(
        [game._replace(tournament=1, black=2, white=1), game._replace(tournament=0, black=0, white=9)],
        wthor.WthorHeader((2001, 1, 2), 2, 2001, 8),
    )
    players = wthor.names_to_bytes(["???", "Tamenori", "Hélène"], (2001, 1, 2), wthor.PLAYER_BYTES)
    tournaments = wthor.names_to_bytes(["???", "Brest"], (2001, 1, 2), wthor.TOURNAMENT_BYTES)

    async def talk(tab: BrowserTab) -> None:
        await drop(tab, base, "WTH_2001.wtb", JOU=players, TRN=tournaments)
        await tab.until(f"{ROWS}.length === 2")
        assert await tab.evaluate(ROWS) == ["Hélène \u2013 Tamenori · Brest · f5f6e6f4", "f5f6e6f4"]
        assert await tab.evaluate("desdaemon.game.about.black") == "Hélène"
        # Alone they are nothing to look at.
        await drop(tab, players, "WTHOR.JOU")
        await tab.until(f"{NOTICE}.includes('.wtb')")
        assert await tab.evaluate(f"{ROWS}.length") == 2

    visit(talk, hints=False)


def test_packed_files_are_opened(visit: Visit, tmp_path: Path) -> None:
    async def talk(tab: BrowserTab) -> None:
        await drop(tab, gzip.compress(f"{LINE}\n".encode() * 3), "lines.txt.gz")
        await tab.until(f"{NOTICE}.includes('3 games read')")
        assert await tab.evaluate(ROWS) == [LINE] * 3
        # A base larger than a frame, with the names of its players beside it.
        players = wthor.names_to_bytes(["Tamenori"], (2001, 1, 2), wthor.PLAYER_BYTES)
        await drop(tab, gzip.compress(wthor_file(4000)), "WTH_2001.wtb.gz", JOU=players)
        await tab.until(f"{NOTICE}.includes('4000 games read')")
        assert await tab.evaluate("desdaemon.game.about.black") == "Tamenori"
        # By the button.
        chosen = tmp_path / "chosen.sgf.gz"
        chosen.write_bytes(gzip.compress(b"(;GM[2]SZ[8]PB[kuro]PW[shiro];B[fe];W[df])"))
        field = await tab.call("Runtime.evaluate", expression="document.getElementById('paste-file')")
        await tab.call("DOM.setFileInputFiles", files=[str(chosen)], objectId=field["result"]["objectId"])
        await tab.until("desdaemon.game.about.black === 'kuro'")
        assert await tab.evaluate(OPENED) == "f5d6"
        await drop(tab, gzip.compress(LINE.encode())[:-9], "short.txt.gz")
        await tab.until(f"{NOTICE}.includes('short.txt.gz is damaged')")
        assert await tab.evaluate(OPENED) == "f5d6"

    visit(talk, hints=False)


def test_the_oldest_games_make_room_in_a_full_browser(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        games = "Array.from({ length: 6000 }, () => ({ moves: 'f5'.repeat(900) }))"
        await tab.evaluate(f"desdaemon.panes.library.keep({games})")
        assert await tab.evaluate(f"{ROWS}.length") == 200
        told = await tab.evaluate(KEPT)
        assert told.startswith("Showing the first 200 of 6000 games · this browser has room for ")
        await tab.reload()
        kept = await tab.until("window.desdaemon?.panes?.library.games.length")
        assert 1000 < kept < 6000
        assert f" {kept} of them" in told
        assert "room" not in await tab.evaluate(KEPT)

    visit(talk, hints=False)


def test_counts_are_told_as_people_tell_them(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        script = "import('/view/texts.js').then(({ t }) => [0, 1, 2].map(n => t('bookSize', { n })))"
        for language, told in (
            ("en", ["0 positions", "1 position", "2 positions"]),
            ("fr", ["0 position", "1 position", "2 positions"]),
            ("ja", ["0局面", "1局面", "2局面"]),
        ):
            await tab.evaluate(f"desdaemon.preferences.set('language', {language!r})")
            assert await tab.evaluate(script) == told

    visit(talk, hints=False)


def test_kept_games_are_listed_opened_and_removed(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        await tab.click("#tab-library")
        await tab.evaluate("desdaemon.game.step(-3)")
        await tab.evaluate("desdaemon.moves.play('f4')")
        await tab.evaluate("desdaemon.game.now.comment = 'why not'")
        await tab.click("#keep")
        await tab.evaluate(f"desdaemon.panes.library.text({json.dumps(NAMED)})")
        await tab.until("desdaemon.game.about.black === 'kuro'")
        await tab.click("#keep")
        assert await tab.evaluate(ROWS) == ["kuro \u2013 shiro · f5f6", "f5d6c3f4 · \u270e"]
        # It is there after the page was loaded anew, with branches and comments, once the address is the game's.
        await tab.evaluate("desdaemon.keeper.keep()")
        await tab.until("location.hash === '#m=f5f6'")
        await tab.reload()
        await tab.until(f"{READY} && {ROWS}.length === 2")
        assert await tab.evaluate(OPENED) == "f5f6"
        await tab.evaluate("[...document.querySelectorAll('#kept .open')].at(-1).click()")
        assert await tab.evaluate(OPENED) == "f5d6c3f4"
        assert await tab.evaluate("desdaemon.game.now.comment") == "why not"
        await tab.press("Shift+ArrowRight")
        assert await tab.evaluate(OPENED) == LINE
        # Nothing is thrown away unasked.
        await tab.evaluate(ASKED % "false")
        await tab.click("#kept .small")
        assert await tab.evaluate("asked") == "Delete this game? kuro \u2013 shiro · f5f6"
        assert await tab.evaluate(f"{ROWS}.length") == 2
        await tab.evaluate(ASKED % "true")
        await tab.click("#kept .small")
        assert await tab.evaluate(ROWS) == ["f5d6c3f4 · \u270e"]

    visit(talk, f"#m={LINE}", hints=False)


def test_rows_of_the_list_tell_games_apart(visit: Visit) -> None:
    """Players and date make another game, a comment does not."""

    async def talk(tab: BrowserTab) -> None:
        rows = "[...document.querySelectorAll('#kept tr')].map(e => [...e.cells].slice(0, 2).map(c => c.textContent))"
        notice = "document.getElementById('notice').textContent"
        library = "desdaemon.panes.library"
        await tab.evaluate("desdaemon.controls.newGame()")
        assert await tab.evaluate(rows) == [["f5d6c3", ""]]
        await tab.evaluate(f"{library}.text({json.dumps(DATED)})")
        await tab.until("desdaemon.game.about.black === 'kuro'")
        await tab.evaluate("desdaemon.controls.newGame()")
        assert await tab.evaluate(notice) == "The last game is saved under Games."
        named = ["kuro \u2013 shiro · f5d6c3", "2001-02-03"]
        assert await tab.evaluate(rows) == [named, ["f5d6c3", ""]]
        # A comment is written into the game's row, after a reload too.
        await tab.evaluate("document.querySelector('#kept .open').click()")
        await tab.evaluate("desdaemon.game.now.comment = 'why'; desdaemon.keeper.keep()")
        await tab.reload()
        await tab.until(f"{READY} && {ROWS}.length === 2")
        await tab.evaluate("desdaemon.controls.newGame()")
        noted = ["kuro \u2013 shiro · f5d6c3 · \u270e", "2001-02-03"]
        assert await tab.evaluate(rows) == [noted, ["f5d6c3", ""]]
        # So is its deletion.
        await tab.evaluate("document.querySelector('#kept .open').click()")
        await tab.evaluate("desdaemon.game.now.comment = ''; desdaemon.controls.newGame()")
        assert await tab.evaluate(rows) == [named, ["f5d6c3", ""]]
        # Other games with the same first moves, and one that was kept twice.
        for _ in range(2):
            await tab.evaluate(f"desdaemon.game.open({{ moves: {LATE!r} }}, true), desdaemon.controls.newGame()")
        await tab.evaluate(f"desdaemon.game.open({{ moves: {LATE[:-2]!r} }}, true), desdaemon.controls.newGame()")
        told = await tab.evaluate(ROWS)
        assert len(told) == len(set(told)) == 4

    visit(talk, "#m=f5d6c3", hints=False)


# What is known of moves


def test_a_mistake_is_the_difference_of_searches_of_one_depth(visit: Visit) -> None:
    """The scores of a position and of the next one are a ply apart: what was lost is not their difference."""

    async def talk(tab: BrowserTab) -> None:
        await tab.evaluate("desdaemon.review.begin()")
        await tab.until("desdaemon.review.running === null && desdaemon.review.done === desdaemon.review.total")
        steps = """import("/engine/review.js").then(({ steps }) => steps(desdaemon).map(step => {
            const { knowledge, game } = desdaemon;
            const [key, next] = [game.key(step.node), game.next(step.node)];
            const [best, own] = [knowledge.best(key), next && knowledge.ofMove(key, next.move)];
            return [step.lost, best?.score, own?.score, best?.depth, own?.depth];
        }))"""
        found = await tab.evaluate(steps)
        # All first moves are one.
        assert found[0][0] == 0
        for lost, best, own, deep, own_depth in found[1:-1]:
            assert own_depth == deep
            assert lost == max(0, best - own)

    visit(talk, f"#m={LINE}", hints=False, gameLevel=6)


def test_a_game_tells_where_it_left_the_book(visit: Visit) -> None:
    """By the book's moves, also where a deeper search has replaced their scores; a mirror image of one is one."""
    told = "document.querySelector('#left-book button')?.textContent ?? null"
    marked = "[...document.querySelectorAll('#tree .move')].filter(one => one.textContent.includes('†')).length"

    async def talk(tab: BrowserTab) -> None:
        await tab.evaluate(
            """window.known = (ply, source, depth, ...moves) => {
                const { game, knowledge } = desdaemon;
                knowledge.add(game.key(game.line()[ply]), moves.map(([move, score]) => ({ move, score, lower: score,
                    upper: score, depth, selectivity: 100, exact: false, source, pv: move })), moves.length > 1);
                desdaemon.refresh();
            }"""
        )
        assert await tab.evaluate(told) is None
        await tab.evaluate("known(0, 'book', 1, ['d3', 0], ['c4', 0]), known(1, 'book', 1, ['d6', 0], ['f4', -4])")
        await tab.evaluate("known(2, 'book', 1, ['c4', 2], ['c5', 0])")
        assert await tab.evaluate(told) is None
        await tab.evaluate("known(2, 'search', 1, ['c3', -3])")
        assert await tab.evaluate(told) == "† Left the book: 3. c3 (book c4 +2)"
        assert await tab.evaluate(marked) == 1
        await tab.evaluate("known(0, 'search', 9, ['d3', 1], ['c4', 1]), known(2, 'search', 9, ['c3', 1], ['c4', -2])")
        assert await tab.evaluate(told) == "† Left the book: 3. c3 (book c4 +2)"
        await tab.click("#left-book button")
        assert await tab.evaluate("desdaemon.game.now.ply") == 2
        # All of it, and a game that begins elsewhere.
        await tab.evaluate("known(2, 'book', 1, ['c3', -3])")
        assert await tab.evaluate(told) is None
        await tab.evaluate("desdaemon.knowledge.booked.clear(), desdaemon.refresh()")
        assert await tab.evaluate(told) is None

    visit(talk, "#m=f5d6c3", hints=False)


def test_a_shallow_guess_is_not_better_than_the_best_of_a_deep_search(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        script = """import("/model/knowledge.js").then(({ Knowledge }) => {
            const known = new Knowledge();
            const made = (move, score, depth) => ({ move, score, lower: score, upper: score, depth, selectivity: 100,
                exact: false, source: "search", pv: move });
            known.add("k", [made("d3", 9, 1), made("c4", 2, 1)]);
            const first = known.best("k").move;
            known.add("k", [made("c4", 3, 12)]);
            const deep = known.of("k").map(one => one.move);
            known.add("k", [made("f5", 5, 12)], false);
            return [first, deep, known.best("k").move];
        })"""
        assert await tab.evaluate(script) == ["d3", ["c4", "d3"], "f5"]

    visit(talk, hints=False)


def test_keys_step_through_the_best_line(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        await tab.until("document.getElementById('board').dataset.settled === desdaemon.game.key()")
        best = await tab.evaluate("desdaemon.knowledge.best(desdaemon.game.key()).pv.slice(0, 4)")
        await tab.press("l", "l")
        shown = "Object.fromEntries([...document.querySelectorAll('.square')]"
        shown += ".filter(e => e.querySelector('.hint.number b'))"
        shown += ".map(e => [e.querySelector('b').textContent, e.dataset.square]))"
        assert await tab.evaluate(shown) == {"1": best[:2], "2": best[2:]}
        await tab.press("Shift+l")
        assert await tab.evaluate("desdaemon.board.preview.count") == 1
        await tab.press("Escape")
        assert await tab.evaluate("desdaemon.board.preview") is None

    visit(talk, f"#m={LINE}", level=4)


def test_a_move_names_the_opening_it_leads_to(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        name = "document.getElementById('opening').textContent"
        await tab.until("desdaemon.openings.names.size")
        for language, told in (("en", "f6: Diagonal"), ("fr", "f6: Diagonale")):
            await tab.evaluate(f"desdaemon.preferences.set('language', {language!r})")
            assert await tab.evaluate(name) == ""
            await tab.point('[data-square="f6"]')
            await tab.until(f"{name} === {told!r}")
            await tab.point("#told")
        await tab.click('[data-square="f6"]')
        await tab.until(f"{name} === 'Diagonale'")

    visit(talk, "#m=f5", hints=False)


def test_a_new_game_keeps_the_one_before(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        await tab.evaluate("desdaemon.moves.play('f5'), desdaemon.moves.play('d6')")
        await tab.click("#new-game")
        notice = "document.getElementById('notice').textContent"
        assert await tab.evaluate(notice) == "The last game is saved under Games."
        assert await tab.evaluate(ROWS) == ["f5d6"]
        # A game without moves is not kept, nor is one that is in the list; there is nothing to begin anew.
        assert not await tab.evaluate("document.getElementById('new-game').checkVisibility()")
        await tab.press("Shift+r")
        await tab.click("#tab-library")
        await tab.click("#kept .open")
        assert await tab.evaluate("desdaemon.game.moves()") == "f5d6"
        await tab.press("Shift+r")
        assert await tab.evaluate(ROWS) == ["f5d6"]
        # Another branch makes another game.
        await tab.click("#kept .open")
        await tab.evaluate("desdaemon.game.step(-1), desdaemon.moves.play('f6')")
        await tab.click("#learn")
        await tab.click("#lesson-start")
        assert await tab.evaluate(ROWS) == ["f5f6", "f5d6"]
        # So does a game of the list, or one that is pasted, in place of a new one.
        await tab.press("Shift+r")
        await tab.evaluate("desdaemon.moves.place('d3'), document.querySelector('#kept .open').click()")
        assert await tab.evaluate(ROWS) == ["d3", "f5f6", "f5d6"]
        await tab.press("Shift+r")
        await tab.evaluate("desdaemon.moves.place('c4'), desdaemon.panes.library.text('f5f4')")
        await tab.until("desdaemon.game.moves(desdaemon.game.line().at(-1)) === 'f5f4'")
        # The engine may have replied before the pasted game came.
        newest, *others = await tab.evaluate(ROWS)
        assert newest.startswith("c4")
        assert others == ["d3", "f5f6", "f5d6"]

    visit(talk, hints=False)
