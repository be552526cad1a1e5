"""What is in the browser's stores, whoever wrote it: the board works, and what it cannot read is put aside."""

from __future__ import annotations

import json
from typing import Any

import pytest
from browser import BrowserTab
from chrome import READY, Chrome
from web_gateway import Web

pytestmark = pytest.mark.slow

STORES = {
    "preferences": {"level": 0},
    "current": {"about": 5},
    "known": {"x": []},
    "practice": [{"board": "x"}],
    "exercises": [{"scores": {}}],
    "warned": {"x": 5},
    "games": [{"about": None, "moves": 5}],
}
"""Every store, with an entry that does not fit."""

LISTS = ("practice", "exercises", "games")
BOARD = f"{'-' * 27}OX{'-' * 6}XO{'-' * 27} X"
KEY = BOARD.replace(" ", "")
DEEP = "[" * 100_000 + "]" * 100_000
TREE = '["","",' * 20_000 + '["",""]' + "]" * 20_000
GOOD: dict[str, Any] = {
    "preferences": {"level": 9},
    "current": {"about": {"black": "me"}, "board": BOARD, "tree": ["", "", ["f5", "first"]], "way": [0]},
    "known": {},
    "practice": [
        {"board": BOARD, "moves": "f5", "source": "book", "lines": [{"side": "O", "moves": "d6", "right": 1, "due": 5}]}
    ],
    "exercises": [{"board": BOARD, "scores": {"f5": 1}, "about": "one", "right": 0, "due": 0}],
    "warned": {BOARD: {"f5": 4}},
    "games": [{"about": {"black": "me"}, "board": "", "moves": "f5d6"}, {"about": None, "tree": ["", "", ["f5", ""]]}],
}
KEPT = """[desdaemon.preferences.get('level'), desdaemon.game.moves(), desdaemon.game.about.black,
    desdaemon.panes.practice.practice.list.length, desdaemon.panes.exercises.exercises.list.length,
    Object.keys(desdaemon.teacher.warned).length, desdaemon.panes.library.games.length]"""
"""What of `GOOD` the page has."""

NOTICE = "document.getElementById('notice').textContent"


async def stored(chrome: Chrome, web: Web, texts: dict[str, str]) -> BrowserTab:
    """A page that is loaded with these stores."""
    tab = await chrome.visit(web.address)
    await tab.until(READY)
    # A page of the same origin that stores nothing when it is left.
    await tab.open(f"{web.address.partition('?')[0]}style.css")
    await tab.evaluate("localStorage.clear()")
    for name, text in texts.items():
        await tab.evaluate(f"void localStorage.setItem('desdaemon.{name}', {json.dumps(text)})")
    # There browsers look for an icon in vain.
    tab.complaints.clear()
    await tab.open(web.address.partition("?")[0])
    await tab.until(READY)
    return tab


async def works(tab: BrowserTab) -> None:
    """Visit every pane, play a move, load the page again; nothing is told a second time."""
    for pane in ("book", "library", "exercises", "practice", "server", "settings", "game"):
        await tab.evaluate(f"desdaemon.tabs.show('{pane}')")
    await tab.evaluate("desdaemon.game.reset(); desdaemon.preferences.set('black', 'human')")
    await tab.evaluate("desdaemon.moves.place('f5')")
    await tab.until("desdaemon.game.moves() === 'f5'")
    await tab.reload()
    await tab.until(READY)
    assert await tab.evaluate("desdaemon.game.moves()") == "f5"
    assert "put aside" not in await tab.evaluate(NOTICE)
    assert tab.complaints == []


@pytest.mark.parametrize("wrong", ["5", "[null]", "{}", "[]", '"x"', "true", "{", '{"a":null}', "[{}]", "[[]]", DEEP])
def test_wrong_shapes_are_put_aside(wrong: str, chrome: Chrome, gateway: Web) -> None:
    async def look() -> None:
        tab = await stored(chrome, gateway, dict.fromkeys(STORES, wrong))
        told = await tab.evaluate(NOTICE)
        for name in STORES:
            aside = await tab.evaluate(f"localStorage.getItem('desdaemon.{name}.unreadable')")
            fits = wrong == ("[]" if name in LISTS else "{}")
            # Preferences and games may have parts that only a later version knows.
            fits |= wrong == '{"a":null}' and name in ("preferences", "current")
            # A game without moves is one.
            fits |= wrong == "[{}]" and name == "games"
            if wrong != DEEP:
                assert (aside is None) == fits, name
            assert (name in told) != fits, name
        await works(tab)
        await tab.close()

    chrome.run(look())


def test_a_wrong_entry_leaves_the_others(chrome: Chrome, gateway: Web) -> None:
    async def look() -> None:
        good = await stored(chrome, gateway, {name: json.dumps(value) for name, value in GOOD.items()})
        assert await good.evaluate(NOTICE) == ""
        kept = await good.evaluate(KEPT)
        await good.evaluate("for (const one of document.querySelectorAll('#kept .open')) one.click()")
        assert kept == [9, "f5", "me", 1, 1, 1, 2]
        assert good.complaints == []
        await good.close()
        mixed = {
            name: [*wrong, *GOOD[name]] if isinstance(wrong, list) else {**GOOD[name], **wrong}
            for name, wrong in STORES.items()
        }
        # These have one entry of the name.
        mixed["preferences"] = {"level": 9, "symmetry": 99}
        mixed["current"] = {**GOOD["current"], "used": {"X": None, "O": "x"}}
        tab = await stored(chrome, gateway, {name: json.dumps(value) for name, value in mixed.items()})
        assert await tab.evaluate(KEPT) == kept
        told = await tab.evaluate(NOTICE)
        assert all(name in told for name in STORES)
        for name, wrong in {
            **STORES,
            "preferences": {"symmetry": 99},
            "current": {"used": {"X": None, "O": "x"}},
        }.items():
            text = await tab.evaluate(f"localStorage.getItem('desdaemon.{name}.unreadable')")
            assert json.loads(text) == wrong, name
        await works(tab)
        await tab.close()

    chrome.run(look())


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("preferences", '{"pane":"x","symmetry":1.5,"level":61,"black":"x","practiceSide":"Z","hints":1,"minutes":-1}'),
        ("current", f'{{"board":"{BOARD}","tree":{TREE},"way":[],"practice":{{"board":"{BOARD}"}}}}'),
        ("current", f'{{"board":"{BOARD}","tree":["","",null],"way":5,"paused":3}}'),
        ("current", '{"board":"x X","tree":["",""],"way":[],"about":{"black":5}}'),
        ("known", f'{{"{KEY}":[{{"move":"f5","score":"x"}}]}}'),
        ("known", f'{{"{KEY}":[null]}}'),
        ("practice", f'[{{"board":"{BOARD}","moves":"f5","source":"book","lines":[null]}}]'),
        ("practice", f'[{{"board":"{BOARD}","moves":"f5","source":"book","lines":5}}]'),
        ("exercises", f'[{{"board":"{BOARD}","scores":{{"f5":"x"}},"about":"","right":0,"due":0}}]'),
        ("exercises", f'[{{"board":"{BOARD}","scores":{{"f5":1}},"about":{{}},"right":-1,"due":null}}]'),
        ("warned", f'{{"{KEY}":{{"f5":null}}}}'),
        ("games", f'[{{"moves":"f5","board":"{BOARD}","tree":{TREE},"way":[]}}]'),
        ("games", '[{"moves":"f5","board":"x","about":{"black":{}}}]'),
    ],
)
def test_wrong_parts_of_entries_are_left_out(name: str, entry: str, chrome: Chrome, gateway: Web) -> None:
    async def look() -> None:
        tab = await stored(chrome, gateway, {name: entry})
        assert name in await tab.evaluate(NOTICE)
        await works(tab)
        await tab.close()

    chrome.run(look())
