"""The pane of practice: lines of a book, and of people's games, are asked back until they sit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from browser import BrowserTab
from chrome import READY, Chrome
from served import serving
from test_page_play import ASKED
from toys import canonical, create_store
from web_gateway import Web

from desdaemon.book.book import Book
from desdaemon.book.explorer import cli as games
from desdaemon.book.layout import NO_MOVE
from desdaemon.book.options import BookOptions
from desdaemon.book.record import PositionEntry
from desdaemon.protocol.othello.notation import START, parse_move, parse_moves

Visit = Callable[..., None]

TOLD = "document.getElementById('practice-told').textContent"
NOTE = "document.getElementById('practice-note').textContent"
READY_TEXT = "document.getElementById('practice-ready').textContent"
MARKED = "[...document.querySelectorAll('.hint.wrong')].map(one => one.parentNode.dataset.square)"
COURSES = "[...document.querySelectorAll('#practice-courses li')].map(one => one.querySelector('span').textContent)"
MOVES = "desdaemon.game.moves()"
ASKED_NOW = "(desdaemon.panes.practice.run?.choices && desdaemon.game.now === desdaemon.panes.practice.run.node)"
RIGHT = "desdaemon.panes.practice.run.choices.filter(one => one.right).map(one => one.move)"
LINES = "JSON.parse(localStorage.getItem('desdaemon.practice'))[0].lines.map(one => [one.side, one.moves, one.right])"
DAY_MS = 86_400_000

BOOK = {
    "": 0,
    "f5": 0,
    "f5d6": 0,
    "f5f6": 0,
    "f5f4": 6,
    "f5d6c3": 0,
    "f5d6c4": 2,
    "f5d6c3d3": (0, "c4"),
    "f5f6e6": 0,
    "f5f6e6f4": (0, "e3"),
}
"""Lines with the scores of their last position for the side to move, and the leaf there, as good as the position."""


def book_file(path: Path) -> Path:
    book = Book(BookOptions(level=1, min_empties=40))
    for line, known in BOOK.items():
        position = START
        for move in parse_moves(line):
            position = position.after(move)
        score, leaf = known if isinstance(known, tuple) else (known, "")
        # The leaf's move is on the canonical board, to which this one leads.
        key = canonical(position.player, position.opponent)
        move = NO_MOVE
        if leaf:
            after = position.after(parse_move(leaf))
            wanted = canonical(after.player, after.opponent)
            moves = [move for move, _ in book.table.links(*key)]
            (move,) = [one for one in moves if canonical(*book.table.play(*key, one)) == wanted]
        entry = PositionEntry(*key, score=score, lower=score, upper=score, level=1)
        book.put(entry._replace(leaf_move=move, leaf_score=score, leaf_level=1) if leaf else entry)
    create_store(path, book).close()
    return path


async def answered(tab: BrowserTab, move: str = "") -> None:
    """Wait for a question, and play a move, the first right one unless given."""
    await tab.until(ASKED_NOW)
    move = move or (await tab.evaluate(RIGHT))[0]
    await tab.evaluate(f"desdaemon.moves.play('{move}')")


async def ended(tab: BrowserTab) -> str:
    """Wait for the end of a line; what is told then."""
    await tab.until("desdaemon.panes.practice.run.ended")
    return str(await tab.evaluate(TOLD))


async def practised(tab: BrowserTab) -> None:
    await tab.evaluate("void (Math.random = () => 0)")
    await tab.click("#tab-practice")
    assert "Practise from here" in await tab.evaluate(READY_TEXT)
    await tab.click("#practice-begin")
    await tab.until(ASKED_NOW)
    assert await tab.evaluate(TOLD) == "Black to move: find the book's move."
    await tab.click('[data-square="f5"]')
    await tab.until(f"{ASKED_NOW} && {MOVES} === 'f5d6'")
    assert await tab.evaluate(TOLD) == "2. d6 · Black to move: find the book's move."
    # A wrong move: what is right; then it is taken back, and stays marked.
    await tab.click('[data-square="c4"]')
    await tab.until(f"{TOLD} === 'c4 \u22122 is wrong. Right: c3 0.'")
    await tab.until(f"{MOVES} === 'f5d6'")
    assert await tab.evaluate(MARKED) == ["c4"]
    await tab.press("Backspace")
    assert await tab.evaluate(TOLD) == "c4 \u22122 is wrong. Right: c3 0."
    # Why, as in Learn, and back.
    await tab.click("#practice-why")
    await tab.until("!!desdaemon.panes.practice.why.moves?.reasons")
    assert (await tab.evaluate(TOLD)).startswith("c4 ")
    assert "at the end; c3: " in await tab.evaluate(
        "document.querySelector('#practice-facts li:last-child').textContent"
    )
    assert await tab.evaluate("desdaemon.board.preview.line[0]") == "c4"
    await tab.click("#practice-back")
    assert await tab.evaluate("desdaemon.board.preview") is None
    assert await tab.evaluate(TOLD) == "c4 \u22122 is wrong. Right: c3 0."
    await tab.press("h")
    assert await tab.evaluate(NOTE) == "The move is in column c."
    assert await tab.evaluate(MOVES) == "f5d6"
    await tab.click('[data-square="c3"]')
    # The last move is one that leads out of the book.
    await tab.until(f"{ASKED_NOW} && {MOVES} === 'f5d6c3d3'")
    assert await tab.evaluate(RIGHT) == ["c4"]
    assert await tab.evaluate(NOTE) == "c3 0 is right."
    await answered(tab)
    assert await ended(tab) == "The line ends here; after a mistake it comes again."
    assert await tab.evaluate(COURSES) == ["1 line, 0 known, 1 due"]
    # It comes again, and its mirror image will do.
    await tab.press("x")
    await answered(tab, "d3")
    for _ in range(2):
        await answered(tab)
    assert await ended(tab) == "Without a mistake: this line comes again in 1 day."
    assert await tab.evaluate(COURSES) == ["1 line, 1 known, 0 due"]
    assert [line[0::2] for line in await tab.evaluate(LINES)] == [["X", 1]]
    # A new one takes the reply that was not asked yet. The answer to it counts as a mistake.
    await tab.press("x")
    await answered(tab, "f5")
    await tab.until(f"{ASKED_NOW} && {MOVES} === 'f5f6'")
    await tab.press("k")
    assert await tab.evaluate(TOLD) == "The line is elsewhere."
    await tab.click("#practice-back")
    assert await tab.evaluate(MOVES) == "f5f6"
    await tab.evaluate("desdaemon.moves.play('f7')")
    await tab.until(f"{TOLD} === 'f7 is wrong. Right: e6 0.'")
    await tab.click("#practice-answer")
    await answered(tab)
    assert "after a mistake" in await ended(tab)
    assert await tab.evaluate(COURSES) == ["2 lines, 1 known, 1 due"]


async def as_the_other_side(tab: BrowserTab) -> None:
    await tab.evaluate("desdaemon.preferences.set('practiceSide', 'O')")
    await tab.evaluate("document.querySelector('#practice-courses button').click()")
    # The page begins.
    await tab.until(ASKED_NOW)
    assert (await tab.evaluate(MOVES)) in ("c4", "d3", "e6", "f5")
    assert len(await tab.evaluate(RIGHT)) == 2
    await answered(tab)
    await answered(tab)
    assert "1 day" in await ended(tab)
    sides = [line[0] for line in await tab.evaluate(LINES)]
    assert sorted(sides) == ["O", "X", "X"]
    # Another right move where that line is asked again takes its place.
    await tab.evaluate(
        "desdaemon.panes.practice.practice.list[0].lines.find(one => one.side === 'O').due = 0,"
        "desdaemon.panes.practice.next()"
    )
    await tab.until(ASKED_NOW)
    left, right = await tab.evaluate(RIGHT)
    assert await tab.evaluate("desdaemon.panes.practice.right(desdaemon.panes.practice.run)[0].move") == left
    await answered(tab, right)
    await answered(tab)
    assert "1 day" in await ended(tab)
    assert len([line for line in await tab.evaluate(LINES) if line[0] == "O"]) == 1


def test_lines_of_the_book_are_asked_back_until_they_sit(tmp_path: Path, chrome: Chrome) -> None:
    async def talk(web: Web) -> None:
        tab = await chrome.page(web, hints=False, level=1)
        await practised(tab)
        await as_the_other_side(tab)
        await tab.reload()
        await tab.until(f"{READY} && !document.getElementById('pane-practice').hidden")
        assert await tab.evaluate(COURSES) == ["3 lines, 2 known, 1 due"]
        # What has to be known for it.
        await tab.evaluate("desdaemon.game.reset()")
        await tab.click("#tab-book")
        await tab.until("document.getElementById('book-umigame').checkVisibility()")
        await tab.click("#book-umigame")
        last = "[...document.querySelectorAll('#book-rows tr')].map(row => row.cells[8]?.textContent)"
        await tab.until(f"{last}.includes('2, 1')")
        await tab.evaluate("desdaemon.socket.ask('status').then(() => true)")
        assert await tab.evaluate(last) == 4 * ["2, 1"]
        assert "To know: Black, White 2, 1" in await tab.evaluate("document.getElementById('book-known').textContent")
        await tab.evaluate("desdaemon.moves.play('f5')")
        await tab.until("document.querySelectorAll('#book-rows tr').length === 3")
        assert await tab.evaluate("document.getElementById('book-to-know').checkVisibility()") is False
        await tab.click("#tab-practice")
        # In turn: the line of Black that was missed comes first.
        await tab.evaluate("desdaemon.preferences.set('practiceSide', 'XO')")
        await tab.click("#practice-courses button")
        await tab.until(f"{ASKED_NOW} && document.activeElement.matches('.square')")
        # On a telephone the verdict and the buttons are seen with the board.
        await tab.resize(390, 664)
        await tab.evaluate("document.getElementById('board').scrollIntoView({ block: 'nearest' })")
        await tab.evaluate("desdaemon.moves.play('f5')")
        await tab.until(f"{ASKED_NOW} && {MOVES} === 'f5f6'")
        await tab.evaluate("desdaemon.moves.play('f7')")
        await tab.until(f"{TOLD} === 'f7 is wrong. Right: e6 0.'")
        seen = """['board', 'practice-told', 'practice-why', 'practice-hint'].map(id =>
            document.getElementById(id).getBoundingClientRect()).every(one => one.top >= 0 && one.bottom <= 664)"""
        assert await tab.evaluate(seen)
        await tab.resize(1280, 860)
        assert await tab.evaluate("desdaemon.panes.practice.run.line.moves.slice(0, 4)") == "f5f6"
        # Another game ends it; where the book knows nothing there is nothing to ask.
        await tab.evaluate("desdaemon.game.open({ moves: 'f5f6f7' }, true)")
        assert await tab.evaluate("desdaemon.panes.practice.run") is None
        await tab.press("x")
        await tab.until(f"{READY_TEXT}.startsWith('The book has no line from here.')")
        assert len(await tab.evaluate(COURSES)) == 1
        assert await tab.evaluate(MOVES) == "f5f6f7"
        # Both replies were asked, and neither line is due.
        await tab.evaluate("desdaemon.preferences.set('practiceSide', 'X')")
        later = f"one => one.due = Date.now() + 2 * {DAY_MS}"
        await tab.evaluate(f"desdaemon.panes.practice.practice.list[0].lines.forEach({later})")
        await tab.click("#practice-courses button")
        await tab.until(f"{READY_TEXT} === 'You know all 2 lines; the next is due in 2 days.'")
        await tab.prefer(prefers_color_scheme="dark")
        for width in (360, 390, 800, 1280):
            await tab.resize(width, 800)
            assert await tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        nodes = await tab.accessibility()
        names = {node["name"] for node in nodes if node["role"] in ("button", "combobox", "spinbutton")}
        assert {"Practise from here", "Moves of", "You play", "Moves of a line"} <= names
        assert {"Discs below the best", "Start position · Book", "Delete: Start position · Book"} <= names
        live = "[...document.querySelectorAll('#practice [aria-live]')].map(one => one.id)"
        assert await tab.evaluate(live) == ["practice-told", "practice-note"]
        for language in ("ja", "fr"):
            await tab.evaluate(f"desdaemon.preferences.set('language', '{language}')")
            assert await tab.evaluate("document.getElementById('practice-source').options.length") == 2
        await tab.evaluate("desdaemon.preferences.set('language', 'en')")
        await tab.evaluate(ASKED % "true")
        await tab.click("#practice-courses button.small")
        assert await tab.evaluate("asked") == "Forget 3 lines? Start position · Book"
        assert await tab.evaluate(COURSES) == []
        assert tab.complaints == []
        await tab.close()

    path = book_file(tmp_path / "small.book")
    with serving(tmp_path / "daemon", "-book-file", str(path)) as served, Web(tmp_path, served.ipc) as web:
        chrome.run(talk(web))
        assert web.end() == 0


REFUSES_FIRST = """{
    const send = WebSocket.prototype.send, refused = ["hello", "book.get"];
    WebSocket.prototype.send = function (text) {
        const { id, op } = JSON.parse(text);
        if (!refused.includes(op)) return send.call(this, text);
        refused.splice(refused.indexOf(op), 1);
        const data = JSON.stringify({ id, type: "error", error: { code: "busy", message: `${op} later` } });
        setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })));
    };
}"""
"""A script of the page that refuses its first greeting and its first look into the book."""


async def reload(tab: BrowserTab) -> None:
    """Load the page anew once its game is kept: a browser may give a page what was stored some moments before."""
    await tab.until("!desdaemon.keeper.waiting")
    await tab.reload()


def test_a_reloaded_page_goes_on_with_its_line_after_refusals(tmp_path: Path, chrome: Chrome) -> None:
    """A busy server refuses what the page asks first: it asks again, and the line is not given up."""

    async def talk(web: Web) -> None:
        tab = await chrome.page(web, hints=False, level=1)
        await tab.evaluate("void (Math.random = () => 0)")
        await tab.click("#tab-practice")
        await tab.click("#practice-begin")
        await answered(tab, "f5")
        await tab.until(f"{ASKED_NOW} && {MOVES} === 'f5d6'")
        await tab.call("Page.addScriptToEvaluateOnNewDocument", source=REFUSES_FIRST)
        await reload(tab)
        await tab.until(f"window.desdaemon?.panes && {ASKED_NOW} && {MOVES} === 'f5d6'")
        for _ in range(2):
            await answered(tab)
        await ended(tab)
        assert tab.complaints == []
        await tab.close()

    path = book_file(tmp_path / "small.book")
    with serving(tmp_path / "daemon", "-book-file", str(path)) as served, Web(tmp_path, served.ipc) as web:
        chrome.run(talk(web))
        assert web.end() == 0


def test_a_reloaded_page_goes_on_with_its_line(tmp_path: Path, chrome: Chrome) -> None:
    """One that is being asked, and one at its end, with the mistakes that were made."""

    async def talk(web: Web) -> None:
        tab = await chrome.page(web, hints=False, level=1)
        loaded = "window.desdaemon?.socket.connected && !document.getElementById('pane-practice').hidden"
        await tab.evaluate("void (Math.random = () => 0)")
        await tab.click("#tab-practice")
        await tab.click("#practice-begin")
        await answered(tab, "f5")
        await tab.until(f"{ASKED_NOW} && {MOVES} === 'f5d6'")
        await tab.evaluate("desdaemon.moves.play('c4')")
        await tab.until(f"{TOLD} === 'c4 \u22122 is wrong. Right: c3 0.'")
        await reload(tab)
        await tab.until(f"{loaded} && {ASKED_NOW} && {MOVES} === 'f5d6'")
        assert await tab.evaluate(TOLD) == "2. d6 \u00b7 Black to move: find the book's move."
        for _ in range(2):
            await answered(tab)
        told = "The line ends here; after a mistake it comes again."
        assert await ended(tab) == told
        await reload(tab)
        await tab.until(f"{loaded} && {TOLD} === '{told}'")
        assert await tab.evaluate(COURSES) == ["1 line, 0 known, 1 due"]
        # The line that comes again is there, too.
        await tab.click("#practice-next")
        await answered(tab, "f5")
        await tab.until(f"{ASKED_NOW} && {MOVES} === 'f5d6'")
        await reload(tab)
        await tab.until(f"{loaded} && {ASKED_NOW} && {MOVES} === 'f5d6'")
        for _ in range(2):
            await answered(tab)
        assert await ended(tab) == "Without a mistake: this line comes again in 1 day."
        # Another game ends it for good.
        await tab.evaluate("desdaemon.game.reset()")
        await reload(tab)
        await tab.until(loaded)
        await tab.evaluate("desdaemon.socket.ask('status').then(() => true)")
        assert await tab.evaluate("desdaemon.panes.practice.run") is None
        assert tab.complaints == []
        await tab.close()

    path = book_file(tmp_path / "small.book")
    with serving(tmp_path / "daemon", "-book-file", str(path)) as served, Web(tmp_path, served.ipc) as web:
        chrome.run(talk(web))
        assert web.end() == 0


def test_lines_that_people_played_are_asked_back(tmp_path: Path, chrome: Chrome) -> None:
    played = ["f5 f6 e6 f4"] * 5 + ["f5 d6 c3 d3"] * 4 + ["f5 f4 e3 d6"]
    (tmp_path / "games.txt").write_text("".join(f"{line.replace(' ', '')}\n" for line in played))
    index = tmp_path / "games.index"
    assert games.main(["index", str(tmp_path / "games.txt"), "--out", str(index)]) == 0

    async def talk(web: Web) -> None:
        tab = await chrome.page(web, "#m=f5", hints=False, level=1, practiceSource="games", practiceSide="O")
        await tab.evaluate("desdaemon.preferences.set('practiceMoves', 3), void (Math.random = () => 0)")
        await tab.click("#tab-practice")
        await tab.click("#practice-begin")
        await tab.until(f"{READY_TEXT} === 'There is no line from here: too few games.'")
        await tab.evaluate("desdaemon.preferences.set('practiceGames', 4)")
        await tab.click("#practice-begin")
        await tab.until(ASKED_NOW)
        assert await tab.evaluate(TOLD) == "1. f5 · White to move: find a move that people play most."
        assert await tab.evaluate(RIGHT) == ["f6", "d6"]
        await tab.evaluate("desdaemon.moves.play('f4')")
        await tab.until(f"{TOLD} === 'f4 (1 game) is wrong. Right: f6 (5 games), d6 (4 games).'")
        await tab.until(f"{MOVES} === 'f5'")
        await answered(tab, "d6")
        await tab.until(f"{ASKED_NOW} && {MOVES} === 'f5d6c3'")
        await answered(tab)
        # Three moves, and the answer to the third, that would be another reply.
        assert "after a mistake" in await ended(tab)
        assert await tab.evaluate(LINES) == [["O", "d6c3d3", 0]]
        assert await tab.evaluate("document.getElementById('practice-margin').checkVisibility()") is False
        assert tab.complaints == []
        await tab.close()

    with serving(tmp_path / "daemon", "-games-file", str(index)) as served, Web(tmp_path, served.ipc) as web:
        chrome.run(talk(web))
        assert web.end() == 0


def test_practice_says_what_is_missing_and_leaves_the_game(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        await tab.evaluate("for (const move of ['f5', 'd6', 'c3']) desdaemon.moves.play(move)")
        await tab.evaluate("desdaemon.game.step(-1)")
        await tab.click("#tab-practice")
        await tab.press("x")
        await tab.until(f"{READY_TEXT}.startsWith('The book has no line from here.')")
        told = await tab.evaluate(READY_TEXT)
        assert "No book is open. Start with \u201cdesdaemon web --book FILE\u201d" in told
        # People's moves are no choice without their games.
        people = "document.querySelector('#practice-source [value=games]')"
        reason = "No collection of games is loaded: \u201cdesdaemon games index FOLDER\u201d makes one"
        assert await tab.evaluate(f"{people}.disabled && {people}.textContent") == f"Explorer ({reason})"
        await tab.evaluate("desdaemon.preferences.set('practiceSource', 'games')")
        await tab.click("#practice-begin")
        await tab.until(f"{READY_TEXT}.startsWith('{reason}')")
        assert await tab.evaluate("[desdaemon.game.moves(), desdaemon.game.line().length]") == ["f5d6", 4]
        assert await tab.evaluate("desdaemon.panes.library.games") == []
        await tab.click("#tab-library")
        assert await tab.evaluate("document.getElementById('games-missing').checkVisibility()")

    visit(talk, hints=True)


def test_lines_are_kept_and_replies_drawn_by_frequency(visit: Visit) -> None:
    script = """(async () => {
        const { Practice, bookChoices, drawn, gamesChoices, plies, way } = await import("/model/practice.js");
        const { START } = await import("/model/rules.js");
        const practice = new Practice();
        const course = practice.course(`${START} X`, "f5", "book");
        practice.answer(course, "X", "d6c3", true, 1000);
        const [first] = course.lines;
        // The same line from the other side, the line itself once more, and one that it begins.
        practice.answer(course, "O", "d6c3", true, 1000);
        practice.answer(course, "X", "d6c3", true, 2000);
        const twice = [course.lines.length, first.right, (first.due - 2000) / %d];
        practice.answer(course, "X", "d6c3d3", false, 3000);
        const replaced = course.lines.map(one => [one.side, one.moves, one.right]);
        const mirrored = way(practice.course(`${START} X`, "", "book"), "f5d6c3");
        const same = ["d3c5f6", "c4e3f6", "e6f4c3"].map(moves =>
            way(practice.course(`${START} X`, "", "book"), moves).join() === mirrored.join());
        const look = { links: [{ move: "d3", score: -4 }, { move: "c4", score: 1 }], leaf: { move: "f6", score: 2 } };
        const parts = one => [one.move, one.right, one.weight];
        const choices = [0, 1, 6].map(margin => bookChoices(look, margin).map(parts));
        const played = { moves: [{ move: "a1", games: 1 }, { move: "b2", games: 8 }, { move: "c3", games: 2 }] };
        const people = [11, 12].map(least => gamesChoices(played, least).map(parts));
        const weights = [{ move: "a1", weight: 1 }, { move: "b2", weight: 0 }, { move: "c3", weight: 3 }];
        const drawing = [0, 0.24, 0.26, 0.99].map(chance => drawn(weights, chance).move);
        return { twice, replaced, same, choices, people, drawing, plies: plies("f5pad6") };
    })()"""

    async def talk(tab: BrowserTab) -> None:
        assert await tab.evaluate(script % DAY_MS) == {
            "twice": [2, 2, 3],
            "replaced": [["O", "d6c3", 1], ["X", "d6c3d3", 0]],
            "same": [True, True, True],
            "choices": [
                [["f6", True, 0], ["c4", False, 0], ["d3", False, 0]],
                [["f6", True, 0], ["c4", True, 0.5], ["d3", False, 0]],
                [["f6", True, 0], ["c4", True, 0.5], ["d3", True, 1 / 7]],
            ],
            "people": [[["b2", True, 8], ["c3", True, 2], ["a1", False, 0]], []],
            "drawing": ["a1", "a1", "c3", "c3"],
            "plies": 2,
        }

    visit(talk, hints=False)
