"""A game in which one learns: found at once, warned before a move that loses much, told why, summed up at the end."""

from __future__ import annotations

import json
from collections.abc import Callable

import judge
import pytest
import referee
from browser import BrowserTab
from chrome import READY
from random_games import random_game
from served import Peer, Served
from test_page_exercises import best, ending, problems, worst

from desdaemon.engine.reasons.kinds import KINDS
from desdaemon.protocol.othello.notation import Position, board_text, parse_move
from desdaemon.protocol.othello.rules import PASS

Visit = Callable[..., None]

TOLD = "document.getElementById('lesson-told').textContent"
FACTS = "[...document.querySelectorAll('#lesson-facts li')].map(one => one.textContent)"
LINE = "[...document.querySelectorAll('#lesson-line button')].map(one => one.textContent.trim())"
SPOKEN = "document.getElementById('spoken').textContent"
WARNED = "desdaemon.teacher.warning?.move"
CHOICE = "document.querySelectorAll('.square.playable').length > 1"
READ = f"(desdaemon.teacher.key === desdaemon.game.key() || !({CHOICE})) && !desdaemon.teacher.running"
SHOWN = "['back', 'why', 'better', 'instead', 'anyway', 'again', 'analyse', 'end']"
SHOWN += ".filter(name => document.getElementById(`lesson-${name}`).checkVisibility())"
NUMBERS = "Object.fromEntries([...document.querySelectorAll('.square')]"
NUMBERS += (
    ".filter(e => e.querySelector('.hint.number b')).map(e => [e.querySelector('b').textContent, e.dataset.square]))"
)

START_GAME = """(black, warn) => {
    const { preferences } = desdaemon;
    for (const side of ["black", "white"]) preferences.set(side, (side === "black") === black ? "human" : "engine");
    preferences.set("warn", warn);
    preferences.set("hints", false);
    preferences.set("strength", 800);
}"""
"""A game against the engine as it is begun by the button, from the position on the board."""


def linked(number: int) -> str:
    """The link to a problem."""
    return "#b=" + board_text(problems()[number][0]).replace(" ", "+")


async def teach(tab: BrowserTab, number: int, warn: int = 4) -> None:
    """Let the user play the side that is to move in a problem."""
    black = problems()[number][0].black_to_move
    await tab.evaluate(f"({START_GAME})({json.dumps(black)}, {warn})")
    await tab.until(READ)


# The opponent


def test_the_list_of_opponents_says_of_which_scale_a_rating_is(visit: Visit) -> None:
    rated = "[...document.querySelectorAll('#lesson-rating optgroup')].map(one => [one.label, one.children.length])"

    async def talk(tab: BrowserTab) -> None:
        await tab.click("#learn")
        ((label, count),) = await tab.evaluate(rated)
        assert label == "ratings of tournaments, mean 1500"
        offered = await tab.evaluate("[...document.getElementById('lesson-rating').options].map(one => one.value)")
        assert offered[count:] == ["-1", "0"], "the engine itself has no rating"

    visit(talk)


def test_the_engine_sets_traps_at_the_price_that_is_set(visit: Visit) -> None:
    boards = [board for board in judge.positions(49, 4, (6, 7, 8)) if judge.moves(*board)]
    seen = "document.querySelector('#lesson-form [data-set=contempt]').checkVisibility()"

    async def talk(tab: BrowserTab) -> None:
        await tab.click("#learn")
        assert not await tab.evaluate(seen), "people of a rating set none"
        await tab.evaluate("document.getElementById('lesson-rating').value = 0")
        assert await tab.evaluate(seen)
        price = "(most => { const input = document.querySelector('#lesson-form [data-set=contempt]');"
        price += " input.value = most; input.dispatchEvent(new Event('change')); })"
        others = 0
        for board in boards:
            scores = judge.score_of_moves(board)
            text = board_text(Position(*board, black_to_move=True))
            for most in (2, 8):
                await tab.evaluate(f"{price}({most})")
                await tab.evaluate(f"desdaemon.game.open({{ board: {text!r}, moves: '' }})")
                await tab.evaluate("desdaemon.player.think()")
                # The page plays a forced pass after it.
                await tab.until("desdaemon.game.now.ply && !desdaemon.player.running")
                move = parse_move(await tab.evaluate("desdaemon.game.line()[1].move"))
                assert move in judge.traps(board, most), (text, most)
                others += scores[move] < max(scores.values())
        assert others

    visit(talk, hints=False, playLevel=16)


def test_an_opponent_keeps_the_game_close(visit: Visit) -> None:
    """It plays moves after which the game is the most even, whoever is ahead."""
    boards = [board for board in judge.positions(49, 6, (6, 7, 8)) if judge.moves(*board).bit_count() > 1]

    async def talk(tab: BrowserTab) -> None:
        await tab.click("#play-game")
        await tab.evaluate("document.getElementById('lesson-rating').value = -1")
        await tab.click("#lesson-start")
        assert await tab.evaluate("document.getElementById('white-name').textContent") == "the close one"
        given = 0
        for board in boards:
            scores = judge.score_of_moves(board)
            text = board_text(Position(*board, black_to_move=True))
            await tab.evaluate(f"desdaemon.game.open({{ board: {text!r}, moves: '' }})")
            await tab.evaluate("desdaemon.player.think()")
            await tab.until("desdaemon.game.now.ply && !desdaemon.player.running")
            score = scores[parse_move(await tab.evaluate("desdaemon.game.line()[1].move"))]
            assert abs(score) <= min(map(abs, scores.values())) + 1, text
            given += score < max(scores.values())
        assert given

    visit(talk, hints=False, playLevel=16)


# Warnings


def test_a_move_that_loses_much_waits_for_a_word(visit: Visit) -> None:
    scores = problems()[0][1]
    wrong, right = worst(0), best(0)
    lost = scores[right] - scores[wrong]

    async def talk(tab: BrowserTab) -> None:
        await teach(tab, 0)
        board = await tab.evaluate("desdaemon.game.board()")
        await tab.click(f'[data-square="{wrong}"]')
        await tab.until(f"{WARNED} === {wrong!r}")
        told = f"{wrong} gives away {lost} discs."
        assert await tab.evaluate(TOLD) == told
        # It is shown on the board, and not played; the best move is not told.
        assert await tab.evaluate("desdaemon.game.board()") == board
        assert await tab.evaluate(NUMBERS) == {"1": wrong}
        assert await tab.evaluate(SHOWN) == ["back", "why", "anyway"]
        assert await tab.evaluate(SPOKEN) == f"{told} Take back Show why Play it anyway"
        everything = await tab.evaluate("document.getElementById('lesson').textContent")
        assert right not in everything
        # The line after it, with what happens in it.
        await tab.click("#lesson-why")
        await tab.until("!!desdaemon.teacher.warning.reasons")
        line = await tab.evaluate(LINE)
        assert line[0] == wrong
        cells = referee.from_bits(problems()[0][0].player, problems()[0][0].opponent)
        assert -referee.solve(referee.play(cells, referee.square(wrong))) == scores[wrong]
        facts = await tab.evaluate(FACTS)
        assert facts[-1] == f"{wrong}: {ending(scores[wrong])} at the end; {right}: {ending(scores[right])}."
        spoken = await tab.evaluate(SPOKEN)
        assert all(fact in spoken for fact in facts)
        assert "Press a move to see its position." in await tab.evaluate(
            "document.getElementById('lesson-line').textContent"
        )
        # Step by step, by touch or key; it stays when the pointer goes.
        await tab.click("#lesson-line button:nth-child(2)")
        assert (await tab.evaluate(NUMBERS))["1"] == wrong
        assert len(await tab.evaluate(NUMBERS)) == 2 - line[:2].count("\u2013")
        await tab.point("#lesson-told")
        assert (await tab.evaluate(NUMBERS))["1"] == wrong
        # The better move when it is asked for.
        await tab.click("#lesson-better")
        assert await tab.evaluate(TOLD) == f"{right} is better."
        assert (await tab.evaluate(NUMBERS))["1"] == right
        assert (await tab.evaluate(FACTS))[-1] == (
            f"{wrong}: {ending(scores[wrong])} at the end; {right}: {ending(scores[right])}."
        )
        # It may be played at once; nothing warns any more.
        assert await tab.evaluate(SHOWN) == ["back", "why", "better", "instead"]
        assert await tab.evaluate("document.getElementById('lesson-instead').textContent") == f"Play {right} instead"
        assert not await tab.evaluate("document.getElementById('lesson').classList.contains('warns')")
        # Taken back: the position is as it was, and the good move is played at once.
        await tab.click("#lesson-back")
        assert await tab.evaluate(NUMBERS) == {}
        assert await tab.evaluate(SHOWN) == ["end"]
        # What the teacher knows is not shown unasked: the wheel scrolls.
        await tab.point(f'[data-square="{right}"]', wheel=100)
        await tab.point(f'[data-square="{right}"]')
        assert await tab.evaluate("desdaemon.board.preview") is None
        await tab.click(f'[data-square="{right}"]')
        await tab.until("desdaemon.game.now.ply > 0")
        assert await tab.evaluate("desdaemon.game.line()[1].move") == right

    visit(talk, linked(0), hints=False)


def test_learn_works_by_keyboard_and_is_spoken(visit: Visit) -> None:
    wrong, right = worst(1), best(1)

    async def reach(tab: BrowserTab, square: str) -> None:
        await tab.press("s")
        at = await tab.evaluate("document.activeElement.dataset.square")
        for axis, (less, more) in enumerate((("ArrowLeft", "ArrowRight"), ("ArrowUp", "ArrowDown"))):
            by = ord(square[axis]) - ord(at[axis])
            await tab.press(*[more if by > 0 else less] * abs(by))
        assert await tab.evaluate("document.activeElement.dataset.square") == square

    async def talk(tab: BrowserTab) -> None:
        await teach(tab, 1)
        await reach(tab, wrong)
        await tab.press("Enter")
        await tab.until(f"{WARNED} === {wrong!r}")
        # The next stops of the Tab key are the answers.
        stops = []
        for _ in range(3):
            await tab.press("Tab")
            stops.append(await tab.evaluate("document.activeElement.id"))
        assert stops == ["lesson-back", "lesson-why", "lesson-anyway"]
        await tab.press("w")
        assert await tab.evaluate("desdaemon.lesson.why.told") == "why"
        await tab.press("h")
        assert await tab.evaluate(TOLD) == f"{right} is better."
        # What is hidden does not keep the focus.
        await tab.evaluate("document.getElementById('lesson-back').focus()")
        await tab.press("Enter")
        assert await tab.evaluate(WARNED) is None
        assert await tab.evaluate("document.activeElement.dataset.square") == wrong
        await tab.press("Enter")
        await tab.until(f"{WARNED} === {wrong!r}")
        await tab.press("Backspace")
        assert await tab.evaluate(f"{WARNED} ?? desdaemon.game.now.ply") == 0
        await tab.press("Enter")
        await tab.until(f"{WARNED} === {wrong!r}")
        await tab.press("Escape")
        assert await tab.evaluate(f"{WARNED} ?? desdaemon.game.now.ply") == 0
        # Typed moves are held as well.
        await tab.evaluate("document.getElementById('typed-move').focus()")
        await tab.write(wrong)
        await tab.press("Enter")
        await tab.until(f"{WARNED} === {wrong!r}")
        assert await tab.evaluate("document.activeElement.id") == "lesson-back"
        nodes = await tab.accessibility()
        regions = [node["name"] for node in nodes if node["role"] == "region"]
        assert regions == ["Learn"]
        for node in nodes:
            if node["role"] in ("button", "radio", "combobox", "textbox"):
                assert node["name"], node

    visit(talk, linked(1), hints=False)


def test_a_move_waits_for_the_search_that_judges_it(visit: Visit) -> None:
    wrong = worst(0)

    async def talk(tab: BrowserTab) -> None:
        # The search's answer comes when it is let through.
        await tab.evaluate(
            """const ask = desdaemon.socket.ask.bind(desdaemon.socket);
            desdaemon.socket.ask = (op, args, partial) => op !== "analyze" ? ask(op, args, partial) : Object.assign(
                new Promise(resolve => { window.let = () => ask(op, args).then(resolve); }), { cancel() {} });"""
        )
        black = problems()[0][0].black_to_move
        await tab.evaluate(f"({START_GAME})({json.dumps(black)}, 4)")
        await tab.click(f'[data-square="{wrong}"]')
        await tab.until(f"{TOLD}.includes({wrong!r})")
        assert await tab.evaluate(f"{WARNED} ?? desdaemon.game.now.ply") == 0
        assert await tab.evaluate(SHOWN) == ["end"]
        await tab.evaluate("void window.let()")
        await tab.until(f"{WARNED} === {wrong!r}")
        # Without a connection nobody waits.
        await tab.evaluate("desdaemon.teacher.key = '', desdaemon.teacher.follow()")
        await tab.evaluate("desdaemon.socket.connected = false")
        await tab.evaluate(f"desdaemon.moves.play({wrong!r})")
        assert await tab.evaluate("desdaemon.game.line()[1].move") == wrong
        await tab.evaluate("desdaemon.socket.connected = true")

    visit(talk, linked(0), hints=False)


def test_the_better_move_is_played_by_its_button(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        await teach(tab, 1)
        await tab.evaluate(f"desdaemon.moves.play({worst(1)!r})")
        await tab.click("#lesson-why")
        await tab.click("#lesson-better")
        await tab.click("#lesson-instead")
        await tab.until("desdaemon.game.now.ply > 0")
        assert await tab.evaluate("desdaemon.game.line()[1].move") == best(1)

    visit(talk, linked(1), hints=False)


EARLY = "c4c5e6e3b5d6c3f5g4b2f2a5b6f3b4e2f6a3d1e7c6a7f8"
PLAYED, BETTER = "g3d3g5h4c7b3g1a6", "e1c2d7c7g5b3f4a2"


async def warn(tab: BrowserTab) -> None:
    """Warn of a move in a game where a line is known for it and for the better one."""
    await tab.evaluate(f"({START_GAME})(false, 4)")
    await tab.until(READ)
    await tab.evaluate(
        f"""desdaemon.teacher.warning = {{ move: {PLAYED[:2]!r}, lost: 10,
            own: {{ move: {PLAYED[:2]!r}, score: -3, pv: {PLAYED!r} }},
            best: {{ move: {BETTER[:2]!r}, score: 7, pv: {BETTER!r} }} }};
        desdaemon.lesson.warn()"""
    )


def test_reasons_are_the_engine_s(visit: Visit, served: Served) -> None:
    with Peer(served.ipc) as peer:
        found = peer.final("explain", {"moves": EARLY, "played": PLAYED, "best": BETTER})["reasons"]
    assert len(found) > 1
    ends = f"{PLAYED[:2]}: 3 discs behind at the end; {BETTER[:2]}: 7 discs ahead."

    async def talk(tab: BrowserTab) -> None:
        await warn(tab)
        await tab.evaluate("desdaemon.lesson.why.tell('why')")
        told = [*(one["text"] for one in found), ends]
        await tab.until(f"{SPOKEN}.includes({ends!r})")
        assert await tab.evaluate(FACTS) == told
        spoken = await tab.evaluate(SPOKEN)
        assert all(one in spoken for one in told)
        # The better move has the same reasons beside its own line, and nothing is asked again.
        await tab.evaluate("desdaemon.lesson.why.tell('better')")
        assert await tab.evaluate(FACTS) == told
        asked = "desdaemon.socket.log.filter(one => one.out && one.text.includes(' explain ')).length"
        assert await tab.evaluate(asked) == 1
        # Other languages say what was counted.
        for language, also in (("ja", "ならあなた"), ("fr", f"après {PLAYED[:2]}, vous")):
            await tab.evaluate(f"desdaemon.preferences.set('language', {language!r})")
            await tab.evaluate("desdaemon.lesson.draw()")
            facts = await tab.evaluate(FACTS)
            assert len(facts) == len(told)
            for fact, one in zip(facts, found, strict=False):
                assert also in fact
                assert not fact.startswith(one["kind"])
                assert all(f"{number:g}" in fact for number in (*one["played"], *one["best"]))

    visit(talk, f"#m={EARLY}", hints=False)


def test_a_reason_that_comes_too_late_is_not_shown(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        await warn(tab)
        await tab.evaluate(
            """desdaemon.socket.ask = () => new Promise(resolve => {
                const late = { kind: "moves", text: "late", played: [1, 2], best: [2, 1] };
                window.let = () => resolve({ reasons: [late] });
            })"""
        )
        await tab.evaluate("desdaemon.lesson.why.tell('why')")
        # The end of the game is told at once.
        assert len(await tab.evaluate(FACTS)) == 1
        await tab.evaluate("desdaemon.lesson.takeBack()")
        await tab.evaluate("window.let()")
        assert await tab.evaluate(FACTS) == []
        assert "late" not in await tab.evaluate(SPOKEN)

    visit(talk, f"#m={EARLY}", hints=False)


def test_every_kind_of_reason_has_a_name_in_each_language(visit: Visit) -> None:
    async def talk(tab: BrowserTab) -> None:
        shown = """kinds => import("/view/texts.js").then(({ reasonText }) => kinds.map(kind =>
            reasonText({ kind, text: kind, played: [1, 2], best: [3, 4] }, { side: "", move: "a1", instead: "b1" })))"""
        for language in ("ja", "fr"):
            await tab.evaluate(f"desdaemon.preferences.set('language', {language!r})")
            names = await tab.evaluate(f"({shown})({json.dumps(list(KINDS))})")
            assert [kind for kind, name in zip(KINDS, names, strict=True) if name.startswith(kind)] == []

    visit(talk, hints=False)


def test_no_clock_runs_while_the_engine_is_prepared(visit: Visit) -> None:
    wrong = worst(0)

    async def talk(tab: BrowserTab) -> None:
        # The engine's answers come when they are let through, as on a new installation after a minute.
        await tab.evaluate(
            """window.waiting = [];
            window.ask = desdaemon.socket.ask.bind(desdaemon.socket);
            desdaemon.socket.ask = (op, args, partial) => op !== "analyze" ? ask(op, args, partial) : Object.assign(
                new Promise(resolve => { waiting.push(() => ask(op, args).then(resolve)); }), { cancel() {} });"""
        )
        used = "(desdaemon.player.since -= 60_000, desdaemon.player.tick(), desdaemon.player.used)"
        black = problems()[0][0].black_to_move
        await tab.evaluate(f"({START_GAME})({json.dumps(black)}, 4)")
        prepared = "The engine is being prepared; the first time this takes about a minute."
        assert await tab.evaluate(TOLD) == prepared
        assert max((await tab.evaluate(used)).values()) < 30_000
        await tab.click(f'[data-square="{wrong}"]')
        assert await tab.evaluate(TOLD) == f"One moment: {wrong} is looked at … {prepared}"
        assert max((await tab.evaluate(used)).values()) < 30_000
        # The form has the engine prepared before a game begins.
        await tab.evaluate("waiting.length = 0, desdaemon.lesson.choose(true)")
        assert await tab.evaluate("waiting.length") > 0
        await tab.evaluate("void waiting.forEach(let_through => let_through())")
        await tab.until("desdaemon.teacher.prepared")
        await tab.click("#lesson-start")
        assert "prepared" not in await tab.evaluate(TOLD)
        assert max((await tab.evaluate(used)).values()) > 30_000

    visit(talk, linked(0), hints=False)


@pytest.mark.parametrize("warn", [2, 64])
def test_the_loss_to_be_warned_of_is_chosen(visit: Visit, warn: int) -> None:
    wrong = worst(2)

    async def talk(tab: BrowserTab) -> None:
        await teach(tab, 2, warn)
        await tab.evaluate(f"desdaemon.moves.play({wrong!r})")
        assert await tab.evaluate(f"Boolean({WARNED})") == (warn == 2)
        assert await tab.evaluate("desdaemon.game.now.ply > 0") == (warn == 64)

    visit(talk, linked(2), hints=False)


def test_the_end_sums_up_mistakes_made_and_avoided(visit: Visit) -> None:
    position, scores = problems()[0]
    losing = [move for move, score in scores.items() if max(scores.values()) - score >= 4]
    wrong = worst(0)
    lost = {move: max(scores.values()) - scores[move] for move in losing}
    avoided = sum(lost.values()) - lost[wrong]

    async def talk(tab: BrowserTab) -> None:
        await teach(tab, 0)
        for move in losing:
            await tab.evaluate(f"desdaemon.moves.play({move!r})")
            assert await tab.evaluate(WARNED) == move
        await tab.evaluate(f"desdaemon.moves.play({wrong!r})")
        await tab.click("#lesson-anyway")
        # From here on the best moves, without further warnings.
        while not await tab.evaluate("desdaemon.game.over"):
            await tab.until(f"desdaemon.game.over || desdaemon.game.now.side === desdaemon.teacher.side && {READ}")
            if await tab.evaluate("desdaemon.game.over"):
                break
            move = "desdaemon.teacher.found[0]?.move"
            legal = "document.querySelector('.square.playable').dataset.square"
            await tab.evaluate(f"desdaemon.moves.play({move} ?? {legal})")
        assert await tab.evaluate(SHOWN) == ["again", "analyse", "end"]
        told = f"You made 1 mistake that lost {lost[wrong]} disc{'s' * (lost[wrong] != 1)}."
        if len(losing) > 1:
            one = "mistake" if len(losing) == 2 else "mistakes"
            told = f"You avoided {len(losing) - 1} {one} that would have lost {avoided} discs. {told}"
        assert await tab.evaluate(TOLD) == told
        assert await tab.evaluate(FACTS) == [f"1. {wrong} · {lost[wrong]} discs lost"]
        assert await tab.evaluate(f"{SPOKEN}.includes({told!r})")
        # It is there after the page was loaded anew; the mistake leads to its position.
        await tab.evaluate("desdaemon.keeper.keep()")
        await tab.reload()
        await tab.until(f"{READY} && {TOLD} === {told!r}")
        await tab.click("#lesson-facts button")
        assert await tab.evaluate("desdaemon.game.board()") == board_text(position)
        # A better founded result changes both lists of mistakes alike.
        await tab.evaluate("desdaemon.game.go(desdaemon.game.line().at(-1))")
        await tab.evaluate(
            f"""(key => {{
                const own = desdaemon.knowledge.ofMove(key, {wrong!r});
                desdaemon.knowledge.known.get(key).set({wrong!r}, {{ ...own, score: own.score - 1 }});
                desdaemon.refresh(), desdaemon.lesson.draw();
            }})(desdaemon.game.key(desdaemon.game.root))"""
        )
        assert await tab.evaluate(FACTS) == [f"1. {wrong} · {lost[wrong] + 1} discs lost"]
        listed = "document.getElementById('mistakes').textContent"
        assert f"{lost[wrong] + 1} discs lost" in await tab.evaluate(listed)
        # Another game has its own.
        await tab.press("Shift+r")
        assert await tab.evaluate("desdaemon.teacher.warned") == {}
        await tab.click("#lesson-end")
        assert await tab.evaluate("document.getElementById('lesson').hidden")
        assert await tab.evaluate("desdaemon.teacher.side") == ""

    visit(talk, linked(0), hints=False)


def test_the_loss_shown_is_the_engine_s(visit: Visit) -> None:
    """In the middle of a game, where nothing is exact: all moves are read, and each is judged by the best one."""
    moves = "f5d6c3d3c4f4c5b3c2"

    async def talk(tab: BrowserTab) -> None:
        await tab.evaluate(f"({START_GAME})(false, 4)")
        await tab.until(READ)
        found = {one["move"]: one["score"] for one in await tab.evaluate("desdaemon.teacher.found")}
        assert set(found) == {
            name.lower()
            for name in await tab.evaluate("[...document.querySelectorAll('.playable')].map(e => e.dataset.square)")
        }
        best = max(found.values())
        for move, score in found.items():
            await tab.evaluate(f"desdaemon.teacher.holds({move!r})")
            warned = await tab.evaluate("desdaemon.teacher.warning?.lost ?? 0")
            assert warned == (best - score if best - score >= 4 else 0)
            if warned:
                assert await tab.evaluate(TOLD) == f"{move} gives away about {warned} discs."

    visit(talk, f"#m={moves}", hints=False)


# From the first screen to the end


@pytest.mark.parametrize(("width", "height"), [(390, 664), (1280, 720)])
def test_a_first_visitor_is_led_to_learn(visit: Visit, width: int, height: int) -> None:
    inside = "(({ top, bottom, left, right }) => Math.min(top, left) >= 0 && bottom <= innerHeight && right <= "
    inside += f"{width})(document.querySelector(%r).getBoundingClientRect())"

    async def talk(tab: BrowserTab) -> None:
        await tab.resize(width, height)
        assert await tab.evaluate(inside % "#learn")
        await tab.click("#learn")
        assert await tab.evaluate("document.activeElement.id") == "lesson-black"
        assert await tab.evaluate(inside % "#lesson-start")
        await tab.click("#lesson-start")
        await tab.until(READ)
        assert await tab.evaluate(inside % "#board")
        assert await tab.evaluate(TOLD) == "You are warned before a move that gives away 4 discs or more."
        assert await tab.evaluate("document.getElementById('black-name').textContent") == "You"
        assert await tab.evaluate("document.getElementById('white-name').textContent") == "rated 100"
        assert await tab.evaluate("desdaemon.preferences.get('hints')") is False
        await tab.click('[data-square="f5"]')
        await tab.until("desdaemon.game.now.ply === 2")
        # The other colour: the opponent begins.
        await tab.press("t")
        await tab.press("ArrowDown", "Enter")
        await tab.until("desdaemon.game.now.ply === 1")
        assert await tab.evaluate("document.getElementById('black-name').textContent") == "rated 100"
        for scheme in ("light", "dark"):
            await tab.prefer(prefers_color_scheme=scheme)
            # The small discs are those of the board on a ground that is neither.
            for side, colour in (("black", "rgb(22, 24, 23)"), ("white", "rgb(247, 245, 238)")):
                drawn = f"getComputedStyle(document.querySelector('.stone.{side}')).backgroundImage"
                assert colour in await tab.evaluate(drawn)
            assert await tab.evaluate("document.documentElement.scrollWidth") <= width

    visit(talk)


def test_no_text_is_cut_off(visit: Visit) -> None:
    outside = """[...document.querySelectorAll("#lesson, #lesson *")].filter(e => e.checkVisibility()).filter(e => {
        const [inner, outer] = [e, document.querySelector(".play")].map(one => one.getBoundingClientRect());
        return inner.left < outer.left || inner.right > outer.right || inner.bottom > outer.bottom;
    }).map(e => e.id || e.textContent)"""

    async def talk(tab: BrowserTab) -> None:
        await teach(tab, 0)
        for state in (
            "desdaemon.lesson.choose(true)",
            "desdaemon.lesson.choose(false)",
            f"desdaemon.moves.play({worst(0)!r})",
            "desdaemon.lesson.why.tell('why')",
            "desdaemon.lesson.why.tell('better')",
        ):
            await tab.evaluate(f"void {state}")
            for language in ("fr", "ja", "en"):
                await tab.evaluate(f"desdaemon.preferences.set('language', {language!r})")
                for width, height in ((320, 568), (390, 844), (800, 900), (1280, 660)):
                    await tab.resize(width, height)
                    assert await tab.evaluate("document.documentElement.scrollWidth") <= width, (state, language)
                    assert await tab.evaluate(outside) == [], (state, language, width)

    visit(talk, linked(0), hints=False)


@pytest.mark.parametrize(("width", "height"), [(1280, 660), (390, 844)])
def test_the_board_keeps_its_size(visit: Visit, width: int, height: int) -> None:
    """Whatever is told below it; at the end of a game with many mistakes too, whose list has a height of its own."""
    box = "(({ x, width, height }) => [x, width, height])(document.getElementById('board').getBoundingClientRect())"
    game = random_game(5, 60)
    names = [referee.name(one.move).lower() for one in game.moves if one.move != PASS]
    end = """desdaemon.teacher.note(Object.fromEntries(desdaemon.game.line().slice(0, -1)
        .map((node, at) => [desdaemon.game.key(node), { [desdaemon.game.line()[at + 1].move]: 5 }])))"""
    reach = (
        "(({ top, bottom }) => top >= 0 && bottom <= innerHeight)(document.querySelector(%r).getBoundingClientRect())"
    )

    async def talk(tab: BrowserTab) -> None:
        await tab.resize(width, height)
        await teach(tab, 0)
        wanted = await tab.evaluate(box)
        for state in (
            f"desdaemon.moves.play({worst(0)!r})",
            "desdaemon.lesson.why.tell('why')",
            "desdaemon.lesson.why.tell('better')",
            "desdaemon.lesson.takeBack()",
            "(desdaemon.teacher.held = 'a1', desdaemon.lesson.draw())",
        ):
            await tab.evaluate(f"void {state}")
            assert await tab.evaluate(box) == wanted, state
        await tab.evaluate(f"desdaemon.game.open({{ moves: {''.join(names)!r} }}, true)")
        assert await tab.evaluate("desdaemon.game.over")
        await tab.evaluate(f"{end}, desdaemon.lesson.draw()")
        assert await tab.evaluate(f"{FACTS}.length") > 40
        assert await tab.evaluate(box) == wanted
        inner, outer = [
            await tab.evaluate(f"document.querySelector({one!r}).getBoundingClientRect().bottom")
            for one in ("#lesson-facts", ".play")
        ]
        assert inner < outer
        # By the keys the last mistake is reached, and what stands below the list by scrolling the page.
        await tab.evaluate("document.querySelector('#lesson-facts li:last-child button').focus()")
        assert await tab.evaluate("document.getElementById('lesson-facts').scrollTop") > 0
        for button in ("#lesson-again", "#new-game"):
            await tab.evaluate(f"document.querySelector({button!r}).scrollIntoView({{ block: 'center' }})")
            assert await tab.evaluate(reach % button)

    visit(talk, linked(0), hints=False)


@pytest.mark.slow
def test_a_whole_game_is_played_by_touch(visit: Visit) -> None:
    """The first legal square each time, at a telephone's width; warned moves are played after a look at the reason."""

    async def tap(tab: BrowserTab, selector: str) -> None:
        script = "(e => { e.scrollIntoView({ block: 'nearest' }); const b = e.getBoundingClientRect();"
        script += f" return [b.left + b.width / 2, b.top + b.height / 2]; }})(document.querySelector({selector!r}))"
        x, y = await tab.evaluate(script)
        await tab.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        await tab.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    async def talk(tab: BrowserTab) -> None:
        await tab.resize(390, 844)
        await tab.call("Emulation.setTouchEmulationEnabled", enabled=True)
        await tap(tab, "#learn")
        await tab.until("desdaemon.lesson.choosing")
        await tap(tab, "#lesson-start")
        await tab.until("desdaemon.teacher.side === 'X'")
        warnings = 0
        while True:
            await tab.until("desdaemon.game.over || desdaemon.game.now.side === 'X'")
            if await tab.evaluate("desdaemon.game.over"):
                break
            ply = await tab.evaluate("desdaemon.game.now.ply")
            square = await tab.evaluate("document.querySelector('.square.playable').dataset.square")
            await tap(tab, f'[data-square="{square}"]')
            await tab.until(f"desdaemon.teacher.warning || desdaemon.game.now.ply > {ply}")
            if await tab.evaluate("Boolean(desdaemon.teacher.warning)"):
                warnings += 1
                await tap(tab, "#lesson-why")
                await tab.until("desdaemon.lesson.why.told === 'why'")
                assert await tab.evaluate("document.documentElement.scrollWidth") <= 390
                await tap(tab, "#lesson-anyway")
                await tab.until(f"desdaemon.game.now.ply > {ply}")
        assert warnings > 0
        assert await tab.evaluate(f"{FACTS}.length") == warnings

    visit(talk)
