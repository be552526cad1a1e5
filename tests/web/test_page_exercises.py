"""The pane of exercises: tried, hinted at, answered, explained and asked again when they are due."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path

import pytest
import referee
from browser import BrowserTab
from chrome import READY
from random_games import random_game
from test_page_play import ASKED, DROP

from desdaemon.clients.web.games import exercises
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import START, Position, board_text, move_text
from desdaemon.protocol.othello.obf import Problem, problem_text
from desdaemon.protocol.othello.scores import MoverScore

Visit = Callable[..., None]

TOLD = "document.getElementById('exercise-told').textContent"
NOTE = "document.getElementById('exercise-note').textContent"
MADE = "document.getElementById('exercise-made').textContent"
MARKED = "[...document.querySelectorAll('.hint.wrong')].map(one => one.parentNode.dataset.square)"
COUNT = "document.getElementById('exercise-count').textContent"
BOARD = "desdaemon.game.board(desdaemon.game.root)"
STORED = "JSON.parse(localStorage.getItem('desdaemon.exercises'))"
DAY_MS = 86_400_000


@cache
def problems() -> list[tuple[Position, dict[str, int]]]:
    """Three positions with one good move, and the exact scores of all moves by the referee."""
    found: list[tuple[Position, dict[str, int]]] = []
    for seed in count():
        if len(found) == 3:
            break
        position = START
        for played in random_game(seed, 99).moves:
            if position.empties <= 6 and not position.must_pass and not position.over:
                scores = referee.solve_moves(referee.from_bits(position.player, position.opponent))
                ordered = sorted(scores.values())
                if len(ordered) > 1 and ordered[-1] - ordered[-2] >= 4:
                    found.append((position, {move_text(move).lower(): score for move, score in scores.items()}))
                    break
            position = position.after(played.move)
    return found


def obf() -> str:
    lines = []
    for number, (position, scores) in enumerate(problems()):
        squares = {referee.square(move): MoverScore(score) for move, score in scores.items()}
        lines.append(f"{problem_text(Problem(position, squares))} % <b>Ann {number}</b>")
    return "".join(f"{line}\n" for line in ["% exercises", *lines, "nonsense", f"{board_text(START)};"])


def best(number: int) -> str:
    scores = problems()[number][1]
    return max(scores, key=lambda move: scores[move])


def worst(number: int) -> str:
    scores = problems()[number][1]
    return min(scores, key=lambda move: scores[move])


def ending(score: int) -> str:
    """How the game ends for a side."""
    discs = f"{abs(score)} disc{'s' if abs(score) != 1 else ''}"
    return f"{discs} ahead" if score > 0 else f"{discs} behind" if score < 0 else "even"


def test_the_gateway_reads_obf() -> None:
    found = exercises({"text": obf()})
    assert [(one["board"], one["scores"]) for one in found["exercises"]] == [
        (board_text(position), scores) for position, scores in problems()
    ]
    assert [one["about"] for one in found["exercises"]] == [f"<b>Ann {number}</b>" for number in range(3)]
    assert len(found["complaints"]) == 1
    assert found["complaints"][0].startswith("line 5: ")
    for text in ("", "% nothing", f"{board_text(START)};", "nonsense"):
        with pytest.raises(BadInput):
            exercises({"text": text})


def test_exercises_are_tried_hinted_at_answered_explained_and_asked_again(visit: Visit, tmp_path: Path) -> None:
    async def talk(tab: BrowserTab) -> None:
        await tab.evaluate("desdaemon.tabs.show('exercises')")
        assert ".obf" in await tab.evaluate("document.getElementById('exercise-ready').textContent")
        await tab.press("x", "h", "w")
        chosen = tmp_path / "some.obf"
        chosen.write_text(obf())
        field = await tab.call("Runtime.evaluate", expression="document.getElementById('exercise-file')")
        await tab.call("DOM.setFileInputFiles", files=[str(chosen)], objectId=field["result"]["objectId"])
        await tab.until(f"{BOARD} === '{board_text(problems()[0][0])}'")
        assert await tab.evaluate(COUNT) == "3 of 3 due"
        assert "3 exercises read" in await tab.evaluate("document.getElementById('notice').textContent")
        side = "Black" if problems()[0][0].black_to_move else "White"
        assert await tab.evaluate(TOLD) == f"{side} to move: find the best move."
        assert await tab.evaluate("desdaemon.preferences.get('hints')") is False
        # A wrong move, and why.
        wrong = worst(0)
        await tab.click(f'[data-square="{wrong}"]')
        await tab.until(f"{TOLD} === '{wrong} is wrong.'")
        assert await tab.evaluate("document.getElementById('exercise-about').textContent") == ""
        assert await tab.evaluate(MARKED) == [wrong]
        # On a telephone the verdict and the buttons are seen with the board.
        await tab.resize(390, 664)
        await tab.evaluate("document.getElementById('board').scrollIntoView({ block: 'nearest' })")
        seen = """['board', 'exercise-told', 'exercise-back', 'exercise-why'].map(id =>
            document.getElementById(id).getBoundingClientRect()).every(one => one.height > 0 && one.top >= 0 &&
                one.bottom <= 664)"""
        assert await tab.evaluate(seen)
        await tab.resize(1280, 860)
        scores = problems()[0][1]
        lost = scores[best(0)] - scores[wrong]
        await tab.press("w")
        await tab.until(f"{TOLD} === '{wrong} gives away {lost} disc{'s' * (lost != 1)}.'")
        # The reasons are there as in Learn, with the line on the board.
        await tab.until("!!desdaemon.panes.exercises.why.moves.reasons")
        facts = "[...document.querySelectorAll('#exercise-facts li')].map(one => one.textContent)"
        ends = f"{wrong}: {ending(scores[wrong])} at the end; {best(0)}: {ending(scores[best(0)])}."
        assert (await tab.evaluate(facts))[-1] == ends
        line = "[...document.querySelectorAll('#exercise-line button')].map(one => one.textContent.trim())"
        assert (await tab.evaluate(line))[0] == wrong
        assert await tab.evaluate("desdaemon.board.preview.count") == 2
        # A button goes back; the wrong square stays marked.
        await tab.click("#exercise-back")
        assert await tab.evaluate("desdaemon.board.preview") is None
        assert await tab.evaluate(TOLD) == f"{side} to move: find the best move."
        assert await tab.evaluate(MARKED) == [wrong]
        label = f"document.querySelector('[data-square={wrong}]').getAttribute('aria-label')"
        assert (await tab.evaluate(label)).endswith(", wrong")
        # The right move comes too late to count.
        await tab.press("h")
        assert await tab.evaluate(NOTE) == f"The move is in column {best(0)[0]}."
        await tab.click(f'[data-square="{best(0)}"]')
        await tab.until(f"{TOLD} === '{best(0)} is right.'")
        assert await tab.evaluate("document.getElementById('exercise-about').textContent") == "<b>Ann 0</b>"
        assert await tab.evaluate(f"[{STORED}[0].right, {STORED}[0].due <= Date.now()]") == [0, True]
        # The second is right at once.
        await tab.press("x")
        await tab.until(f"{BOARD} === '{board_text(problems()[1][0])}'")
        await tab.click(f'[data-square="{best(1)}"]')
        await tab.until(f"{TOLD} === '{best(1)} is right.'")
        days = await tab.evaluate(f"({STORED}[1].due - Date.now()) / {DAY_MS}")
        assert 0.99 < days <= 1
        assert await tab.evaluate(COUNT) == "2 of 3 due"
        # The answer to the third counts as wrong; then the first is due again.
        await tab.press("x")
        await tab.until(f"{BOARD} === '{board_text(problems()[2][0])}'")
        await tab.click("#exercise-answer")
        await tab.until(f"{TOLD} === '{best(2)} is right.'")
        assert await tab.evaluate(f"{STORED}.map(one => one.right)") == [0, 1, 0]
        await tab.press("x")
        await tab.until(f"{BOARD} === '{board_text(problems()[0][0])}'")
        # They outlive the page, and are not added twice.
        await tab.reload()
        await tab.until(f"{READY} && desdaemon.panes.exercises.current")
        assert await tab.evaluate(COUNT) == "2 of 3 due"
        await tab.evaluate(f"({DROP})({[[base64.b64encode(obf().encode()).decode(), 'more.obf']]})")
        await tab.until("document.getElementById('notice').textContent.includes('3 exercises read')")
        assert await tab.evaluate(f"{STORED}.length") == 3
        await tab.prefer(prefers_color_scheme="dark")
        for width in (360, 390, 800, 1280):
            await tab.resize(width, 800)
            assert await tab.evaluate("document.documentElement.scrollWidth") <= width
        nodes = await tab.accessibility()
        names = [node["name"] for node in nodes if node["role"] == "button"]
        assert {"Next exercise", "Hint", "Answer"} <= set(names)
        live = "[...document.querySelectorAll('#exercise [aria-live]')].map(one => one.id)"
        assert await tab.evaluate(live) == ["exercise-told", "exercise-note"]
        await tab.evaluate(ASKED % "true")
        await tab.click("#exercise-clear")
        assert await tab.evaluate("window.asked") == "Delete 3 exercises?"
        assert await tab.evaluate(f"{STORED}.length") == 0

    visit(talk)


def test_right_answers_in_a_row_wait_longer_and_longer(visit: Visit) -> None:
    script = """(async () => {
        const { Exercises } = await import("/model/exercises.js");
        const exercises = new Exercises();
        exercises.add(["one", "two"].map(board => ({ board, scores: { a1: 4, b1: 0 }, about: "" })));
        const [one, two] = exercises.list;
        const waits = [];
        let now = 1000;
        for (const right of [true, true, true, true, true, true, true, false, true]) {
            exercises.answer(one, right, now);
            waits.push((one.due - now) / %d);
            now = one.due;
        }
        exercises.answer(two, false, now);
        const order = [exercises.next("").board, exercises.next("two").board, exercises.due(now)];
        exercises.clear();
        return [waits, order];
    })()"""

    async def talk(tab: BrowserTab) -> None:
        waits, order = await tab.evaluate(script % DAY_MS)
        assert waits == [1, 3, 7, 16, 40, 100, 100, 0, 1]
        assert order == ["one", "one", 2]

    visit(talk, hints=False)


def test_mistakes_of_a_game_become_exercises(visit: Visit) -> None:
    position, scores = problems()[0]
    game = f"{{ board: '{board_text(position)}', moves: '{worst(0)}' }}"
    mine = "document.getElementById('mistakes-mine')"

    async def talk(tab: BrowserTab) -> None:
        await tab.evaluate("desdaemon.tabs.show('exercises')")
        await tab.click("#exercise-mine")
        await tab.until(f"{MADE}.startsWith('Analyse a game, or finish one in Learn')")
        await tab.evaluate(f"desdaemon.game.open({game}, true), desdaemon.tabs.show('game')")
        assert not await tab.evaluate(f"{mine}.checkVisibility()")
        await tab.click("#analyse")
        await tab.until(f"!desdaemon.review.running && {mine}.checkVisibility()")
        # Mistakes of the engine are not the user's.
        side = "black" if position.black_to_move else "white"
        await tab.evaluate(f"desdaemon.preferences.set('{side}', 'engine')")
        await tab.click("#mistakes-mine")
        await tab.until(f"{MADE} === 'No move that lost 4 discs or more is known in this game.'")
        await tab.evaluate(f"desdaemon.preferences.set('{side}', 'human')")
        await tab.click("#exercise-mine")
        await tab.until(f"{BOARD} === '{board_text(position)}' && desdaemon.panes.exercises.current")
        assert await tab.evaluate(f"{STORED}.map(one => [one.board, one.scores])") == [[board_text(position), scores]]
        lost = scores[best(0)] - scores[worst(0)]
        assert f"{worst(0)} \u00b7 {lost} discs lost" in await tab.evaluate(f"{STORED}[0].about")
        assert await tab.evaluate("desdaemon.panes.library.games.map(one => one.moves)") == [worst(0)]
        # It is not added twice, nor is the game.
        await tab.evaluate(f"desdaemon.game.open({game}, true)")
        await tab.evaluate("desdaemon.panes.exercises.make()")
        assert await tab.evaluate(f"[{STORED}.length, desdaemon.panes.library.games.length]") == [1, 1]
        assert await tab.evaluate("desdaemon.game.moves()") == ""

    visit(talk, hints=False)


def test_how_far_exercises_are_made_is_told_and_it_can_be_stopped(visit: Visit) -> None:
    button = "document.getElementById('exercise-mine').textContent"
    found = ", ".join(
        f"{{ move: '{move}', score: {score}, depth: 9, selectivity: 100, pv: '{move}' }}"
        for move, score in (("f6", 20), ("d6", 0))
    )

    async def talk(tab: BrowserTab) -> None:
        await tab.evaluate(f"desdaemon.knowledge.add(desdaemon.game.key(desdaemon.game.line()[1]), [{found}])")
        for stop in ("document.getElementById('exercise-mine').click()", "desdaemon.game.halt()"):
            # At level 60 this search does not end.
            await tab.evaluate("void desdaemon.panes.exercises.make()")
            assert (await tab.evaluate(MADE), await tab.evaluate(button)) == ("Mistakes 0 of 1", "Stop")
            await tab.evaluate(stop)
            await tab.until(f"{button} === 'Practise my mistakes'")
            assert await tab.evaluate(MADE) == ""
            assert await tab.evaluate("desdaemon.game.moves(desdaemon.game.line().at(-1))") == "f5d6"

    visit(talk, "#m=f5d6", hints=False, gameLevel=60)
