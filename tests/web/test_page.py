"""The page in a real browser: hints, a game by keyboard alone, pasting, setting up, what screen readers get."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import referee
from browser import BrowserTab
from served import Peer, Served, line_of

from desdaemon.protocol.othello.notation import START, board_text, parse_board, parse_moves, play_moves

Visit = Callable[..., None]

LINE = "f5d6c3d3c4f4"
LEVEL = 6
SHOWN = "Object.fromEntries([...document.querySelectorAll('.square')].filter(b=>b.querySelector('.hint b').textContent)\
.map(b=>[b.dataset.square,[b.querySelector('.hint b').textContent,b.querySelector('.hint small').textContent]]))"
BOARD = "desdaemon.game.board()"
SETTLED = "document.getElementById('board').dataset.settled===desdaemon.game.key()"


PASTE = """text => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
}"""
WRITTEN_AND_READ = """async format => {
    const written = await desdaemon.socket.ask("web.write", { games: [{ moves: desdaemon.game.moves() }], format });
    const read = await desdaemon.socket.ask("web.read", { ...written, name: `game.${format}` });
    return read.games[0].moves;
}"""
TEXTS = """(async () => {
    const { TEXTS } = await import("/view/texts.js");
    const used = [...document.querySelectorAll("[data-t], [data-label]")].flatMap(e => [e.dataset.t, e.dataset.label]);
    return [
        used.filter(name => name && !TEXTS[name]),
        Object.keys(TEXTS).filter(name => TEXTS[name].length !== 3 || TEXTS[name].some(text => !text)),
        Object.keys(TEXTS).filter(name => TEXTS[name].some(text => text.includes("`"))),
    ];
})()"""
NAMELESS = """[...document.querySelectorAll("button, label span, h2")]
    .filter(e => !e.textContent.trim() && !e.children.length && !e.getAttribute("aria-label")).map(e => e.outerHTML)"""


def number(text: str) -> int:
    return int(text.replace("\u2212", "-"))


def after(moves: str, board: str = "") -> str:
    position = parse_board(board) if board else START
    for move in parse_moves(moves):
        position = position.after(move)
    return board_text(position)


def test_hints_appear_settle_are_the_engine_s_and_deepen(visit: Visit, served: Served) -> None:
    async def talk(tab: BrowserTab) -> None:
        await tab.evaluate(
            "window.depths=new Set();setInterval(()=>document.querySelectorAll('.hint small').forEach("
            "e=>e.textContent&&depths.add(parseInt(e.textContent)||0)),5);desdaemon.preferences.set('hints',true)"
        )
        await tab.until(SETTLED)
        shown = await tab.evaluate(SHOWN)
        with Peer(served.ipc) as peer:
            asked = {"board": after(LINE), "multipv": 64, "level": LEVEL, "book": "use"}
            found = {move["move"]: move for move in peer.final("analyze", asked)["moves"]}
        assert {move: number(score) for move, (score, _) in shown.items()} == {
            move: one["score"] for move, one in found.items()
        }
        best = max(one["score"] for one in found.values())
        ringed = await tab.evaluate("[...document.querySelectorAll('.hint.best')].map(e=>e.parentNode.dataset.square)")
        assert set(ringed) == {move for move, one in found.items() if one["score"] == best}
        # The best line by the wheel: the board goes on, the game stays.
        await tab.point(f'[data-square="{ringed[0]}"]', wheel=100)
        await tab.until("desdaemon.board.preview?.count===1")
        assert await tab.evaluate(BOARD) == after(LINE)
        await tab.press("Escape")
        await tab.until("!desdaemon.board.preview")
        await tab.evaluate("desdaemon.preferences.set('endless', true)")
        await tab.until("depths.size > 3")

    visit(talk, f"#m={LINE}", level=LEVEL, hints=False)


@pytest.mark.parametrize("plies", [12, pytest.param(60, marks=pytest.mark.slow)])
def test_a_game_is_played_by_keyboard_alone(visit: Visit, plies: int) -> None:
    """A whole one where there is time."""
    moves = [referee.name(move).lower() for move in referee.random_moves(7, plies)]
    moves = [move for move in moves if move != "pa"]

    async def talk(tab: BrowserTab) -> None:
        await tab.press("s")
        at = [3, 2]
        for move in moves:
            to = ["abcdefgh".index(move[0]), int(move[1]) - 1]
            for axis, (less, more) in enumerate((("ArrowLeft", "ArrowRight"), ("ArrowUp", "ArrowDown"))):
                await tab.press(*[more if to[axis] > at[axis] else less] * abs(to[axis] - at[axis]))
            at = to
            await tab.press("Enter")
        over = await tab.evaluate("desdaemon.game.over")
        assert await tab.evaluate("desdaemon.game.moves().replaceAll('pa','')") == "".join(moves)
        assert over == (plies == 60)
        assert over == ("Game over" in await tab.evaluate("document.getElementById('told').textContent"))
        # `k` goes back from the board, where the arrows walk about.
        await tab.press("k", "k", "j")
        assert await tab.evaluate("desdaemon.game.line().length - 1 > desdaemon.game.now.ply")
        await tab.evaluate("document.activeElement.blur()")
        await tab.press("Home")
        assert await tab.evaluate(BOARD) == board_text(START)
        await tab.press("ArrowRight", "ArrowRight", "ArrowLeft", "End", "Backspace")
        assert await tab.evaluate("desdaemon.game.line().at(-1)===desdaemon.game.now")
        await tab.press("?")
        assert await tab.evaluate("document.getElementById('keys').open")
        assert await tab.evaluate("document.getElementById('keys').scrollTop") == 0
        table = (
            "[...document.querySelectorAll('#{}-table tr')].map(row => [...row.cells].map(cell => cell.textContent))"
        )
        signs = dict(await tab.evaluate(table.format("signs")))
        assert signs["16@73%"] == "read 16 moves ahead, selectivity 73 %"
        columns = dict(await tab.evaluate(table.format("columns")))
        heads = await tab.evaluate(
            "[...document.querySelectorAll('#book-table th')].map(one => [one.textContent, one.title])"
        )
        assert columns == {name: title for name, title in heads if title}
        assert set(columns) == {"Grade", "Lines", "Level", "Paths won, drawn, lost", "To know: Black, White"}
        await tab.press("Escape")
        assert not await tab.evaluate("document.getElementById('keys').open")

    visit(talk, hints=False)


QUEST = {
    "created": "2024-05-01T10:00:00Z",
    "players": [{"name": "kuro"}, {"name": "shiro"}],
    "position": {"moves": [{"m": "f5", "t": 1200}, {"m": "d6", "t": 900}, {"m": "c3", "t": 10}]},
}
PASTED = {
    "moves": "F5 D6, c3",
    "numbered": "1. f5 d6\n2. c3",
    "over lines": "f5\nd6\nc3",
    "quest": json.dumps(QUEST),
    "ggf": "(;GM[Othello]PC[here]PB[a]PW[b]RE[?]TY[8]"
    "BO[8 ---------------------------O*------*O--------------------------- *]B[f5]W[d6]B[c3];)",
    "sgf": "(;GM[2]FF[4]SZ[8]PB[a]PW[b];B[fe];W[df];B[cc])",
    "pgn": '[Event "x"]\n[Black "a"]\n[White "b"]\n[Result "*"]\n\n1. f5 d6 2. c3 *\n',
    "board": f"{after('f5d6c3')}",
    "board alone": after("f5d6c3")[:64],
    "picture": "  a b c d e f g h\n"
    + "\n".join(f"{row + 1} {' '.join(after('f5d6c3')[8 * row : 8 * row + 8])} {row + 1}" for row in range(8))
    + "\nO to move",
}


def test_anything_can_be_pasted(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        for name, text in PASTED.items():
            await tab.evaluate("desdaemon.game.reset()")
            await tab.evaluate(f"({PASTE})({json.dumps(text)})")
            board = await tab.until(f"{BOARD} !== {json.dumps(board_text(START))} && {BOARD}")
            expected = after("f5d6c3")
            assert board == (expected if name != "board alone" else expected[:64] + " O"), name
        assert await tab.evaluate("desdaemon.game.about.black") == ""
        # What cannot be read says why and changes nothing.
        await tab.evaluate("desdaemon.panes.library.text('<b>no game</b>')")
        notice = "document.getElementById('notice')"
        await tab.until(f"!{notice}.hidden && {notice}.textContent.includes('<b>')")
        assert await tab.evaluate(f"{notice}.children.length") == 0
        assert await tab.evaluate(BOARD) == after("f5d6c3")
        # And out again, in every format, as the same game.
        await tab.evaluate(f"desdaemon.game.open({{moves: {LINE!r}}}, true)")
        for format in ("txt", "ggf", "sgf", "pgn", "wtb", "edx"):
            again = await tab.evaluate(f"({WRITTEN_AND_READ})({format!r})")
            assert again == LINE, format

    visit(talk, hints=False)


def test_a_position_is_set_up_on_the_board(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        await tab.press("e")
        await tab.click("#setup-clear")
        await tab.press("b")
        await tab.click('[data-square="a1"]')
        await tab.press("w")
        await tab.click('[data-square="b1"]')
        await tab.click('[data-square="b2"]')
        await tab.click('[data-square="b2"]')
        await tab.click("#setup-done")
        assert await tab.evaluate(BOARD) == "XO" + 62 * "-" + " X"
        await tab.click('[data-square="c1"]')
        assert await tab.evaluate(BOARD) == "XXX" + 61 * "-" + " O"
        assert await tab.evaluate("desdaemon.game.over")
        # A link holds the position, and gives it back.
        await tab.until("location.hash.includes('m=c1')")

    visit(talk, hints=False)


def test_a_link_is_opened_though_the_game_writes_its_address_meanwhile(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        await tab.evaluate("desdaemon.moves.play('d3'), location.hash = '#m=f5f6', desdaemon.keeper.keep()")
        await tab.until("desdaemon.game.moves() === 'f5f6'")

    visit(talk, hints=False)


def test_the_rules_of_the_page_are_those_of_the_referee(visit: Visit) -> None:
    """Random games: the legal moves and the board after each move."""
    games = [line_of(seed, 60) for seed in range(8)]
    expected = []
    for line in games:
        position = START
        for move in play_moves(START, parse_moves(line)).moves:
            position = position.after(move)
        expected.append(board_text(position))

    async def talk(tab: BrowserTab) -> None:
        found = await tab.evaluate(
            f"{json.dumps(games)}.map(moves=>{{desdaemon.game.open({{moves}},true);return desdaemon.game.board()}})"
        )
        # The page makes a forced pass by itself, so that only the side to move may differ.
        assert [board[:64] for board in found] == [board[:64] for board in expected]

    visit(talk, hints=False)


def test_a_screen_reader_gets_moves_and_results(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        nodes = await tab.accessibility()
        roles = [node["role"] for node in nodes]
        assert roles.count("grid") == 1
        assert roles.count("gridcell") == 64
        assert roles.count("row") == 8
        squares = [node["name"] for node in nodes if node["role"] == "button" and node["name"][1:2].isdigit()]
        assert len(squares) == 64
        assert squares[:2] == ["a1, empty", "b1, empty"]
        assert {"d3, empty, playable", "d4, white", "e4, black"} <= set(squares)
        assert sum("playable" in name for name in squares) == 4
        assert roles.count("tab") == 7
        # Nothing that can be operated is without a name.
        for node in nodes:
            if node["role"] in ("button", "textbox", "checkbox", "combobox", "spinbutton", "tab", "radio", "link"):
                assert node["name"], node
        # One stop of the Tab key on the board.
        assert await tab.evaluate("[...document.querySelectorAll('.square')].filter(e=>e.tabIndex===0).length") == 1
        await tab.evaluate("desdaemon.moves.play('d3')")
        assert await tab.evaluate("document.getElementById('spoken').textContent") == "black d3, 1 turned"
        live = await tab.evaluate("document.getElementById('spoken').getAttribute('aria-live')")
        assert live == "polite"

    visit(talk, hints=False)


def test_every_text_is_there_in_every_language(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        assert await tab.evaluate(TEXTS) == [[], [], []]
        for language, turn in (("ja", "黒番"), ("fr", "Aux noirs"), ("en", "Black to move")):
            await tab.evaluate(f"desdaemon.preferences.set('language', {language!r})")
            assert await tab.evaluate("document.documentElement.lang") == language
            assert await tab.evaluate("document.getElementById('told').textContent") == turn
            assert await tab.evaluate(NAMELESS) == []

    visit(talk, hints=False)


SCROLLED = """[...document.querySelectorAll("body *:not(textarea, select, input)")].filter(one => {
    const { overflowX, overflowY } = getComputedStyle(one);
    return /auto|scroll/.test(overflowX + overflowY);
}).map(one => [one.id || one.className, getComputedStyle(one).backgroundAttachment.includes("local")])"""
"""What may scroll in any pane, and whether it shows that: its ground scrolls along with what it hides."""


def test_parts_that_scroll_show_it(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        await tab.evaluate("document.getElementById('lesson-facts').append(document.createElement('button'))")
        await tab.click("#help")
        found = await tab.evaluate(SCROLLED)
        names = {name for name, _ in found}
        assert names >= {"tree", "keys", "log", "lesson-facts", "book-table", "played-table", "played-list", "scroll"}
        assert [name for name, shown in found if not shown] == []

    visit(talk, hints=False)


SMALL = """(() => {
    const small = [];
    for (const pane of ["game", "book", "library", "exercises", "practice", "server", "settings"]) {
        desdaemon.tabs.show(pane);
        for (const one of document.querySelectorAll("body *")) {
            const own = [...one.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
            if (!own || !one.checkVisibility() || one.closest(".away")) continue;
            const size = parseFloat(getComputedStyle(one).fontSize) * (one.getScreenCTM?.().a ?? 1);
            if (size < 11) small.push([pane, one.outerHTML, size]);
        }
    }
    return small;
})()"""
"""Text that is smaller than 11 pixels, by pane."""


@pytest.mark.parametrize("width", [360, 390, 768, 1280])
def test_no_text_is_small_and_board_and_pane_are_equally_wide(width: int, visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        await tab.resize(width, 800)
        await tab.until("document.querySelectorAll('.hint small:not(:empty)').length > 2")
        assert await tab.evaluate(SMALL) == []
        # The longest depth stays on its square.
        wide = await tab.evaluate(
            """[...document.querySelectorAll(".hint small:not(:empty)")].filter(one => {
                one.textContent = "16@73%";
                return one.getBoundingClientRect().width > one.closest(".square").clientWidth;
            }).length"""
        )
        assert wide == 0
        if width > 1000:
            # The whole of the board with its controls, without scrolling.
            assert await tab.evaluate("document.documentElement.scrollHeight") <= 800
        else:
            widths = await tab.evaluate("['.play', '.panes'].map(one => document.querySelector(one).offsetWidth)")
            assert widths[0] == widths[1]
        assert await tab.evaluate("document.documentElement.scrollWidth") <= width

    visit(talk, "#m=f5d6c3")
