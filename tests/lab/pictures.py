"""`python tests/lab pictures [FOLDER]`: make the pictures of the board that the documents show, or a first hour's.

It starts a daemon and a gateway of its own and drives a headless Chromium. Without FOLDER the pictures of the documents
are written. With FOLDER each view of a first hour goes there at each width of `WIDTHS`, as ``VIEW-WIDTH.png``, to be
looked at.
"""

from __future__ import annotations

import asyncio
import base64
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import Browser, BrowserTab, find_chromium

from desdaemon.clients.bench.daemon import PROGRAM
from desdaemon.protocol.command_line import Parser

READY = "window.desdaemon && desdaemon.socket.connected && desdaemon.greeted"
PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
WIDTHS = {390: 844, 768: 1024, 1280: 860}
"""Widths of windows with their heights: a phone, a tablet, a laptop."""
GAME = (
    "f5d6c3d3c4f4c5b4b3c6c2a2a3a4f3e3d2c1b5b6c7d1b7d7e7a8a5a6a7e6b2e2e1b8d8c8a1b1e8f2g3g2f1f8f7h3g4h5h4g8h6h7g1h1h2"
    "f6g5g6g7h8"
)
PLY = 20
"""A game, and the position of it that is shown: Black is to move, and some of his moves lose much."""

FINAL = """[Event "World Championship"]
[Date "1980"]
[Black "Cerf Jonathan"]
[White "Mimura Takuya"]

f5d6c5f4e3d3e6g5c6f3g4f6c4c3d2c2f2e2g3e7h6f1b3h3h4d7d1e1c1b1c7b4a4a5a6b6b5d8h2a2a3a7g6h5g2b2f7f8e8h1g1g7a1h7a8b7c8b8g8h8
"""
"""A game as PGN whose analysis is shown."""

PRESS = {
    "start": (),
    "play": ("#play-game",),
    "learn": ("#learn",),
    **{pane: (f"#tab-{pane}",) for pane in ("book", "library", "exercises", "practice", "server", "settings")},
    "help": ("#help",),
}
"""For each view of an empty board what is pressed."""


async def picture(tab: BrowserTab, path: Path, whole: bool) -> None:
    """Write a picture of the window, or of the whole page."""
    shot = await tab.call("Page.captureScreenshot", captureBeyondViewport=whole)
    path.write_bytes(base64.b64decode(shot["data"]))


async def opened(browser: Browser, address: str, width: int, height: int, moves: str = "") -> BrowserTab:
    """Return a new tab that is connected, with the game ``moves`` at `PLY`."""
    tab = await browser.tab(address, width, height)
    await tab.until(READY)
    if moves:
        await tab.evaluate(f"desdaemon.game.open({{moves: {moves!r}}}, true)")
        await tab.evaluate(f"desdaemon.game.go(desdaemon.game.line()[{PLY}] ?? desdaemon.game.root)")
    return tab


async def analysed(tab: BrowserTab) -> None:
    """Analyse the game on the board, and wait for the hints."""
    await tab.evaluate("desdaemon.review.begin()")
    await tab.until("!desdaemon.review.running")
    await tab.until("document.getElementById('board').dataset.settled === desdaemon.game.key()")


async def warned(tab: BrowserTab) -> None:
    """Begin a game in *Learn*, play the worst move that the engine sees, and ask why it is bad."""
    await tab.evaluate(
        "for (const [name, value] of Object.entries({ black: 'human', white: 'engine', warn: 4, strength: 800 }))"
        " desdaemon.preferences.set(name, value)"
    )
    await tab.until("desdaemon.teacher.key === desdaemon.game.key() && !desdaemon.teacher.running")
    worst = "desdaemon.knowledge.of(desdaemon.game.key()).reduce((a, b) => a.score < b.score ? a : b)"
    await tab.evaluate(f"desdaemon.moves.play({worst}.move)")
    await tab.until("desdaemon.teacher.warning")
    await tab.click("#lesson-why")
    await tab.until("desdaemon.teacher.warning.reasons")


async def views(address: str, folder: Path, widths: list[int]) -> None:
    """Write the views of a first hour at each width."""
    async with Browser(find_chromium()) as browser:
        for width in widths:
            height = WIDTHS[width]
            for view, pressed in PRESS.items():
                tab = await opened(browser, address, width, height)
                for selector in pressed:
                    await tab.click(selector)
                if view == "book":
                    await tab.until("document.getElementById('book-known').textContent")
                await picture(tab, folder / f"{view}-{width}.png", True)
                await tab.close()
            tab = await opened(browser, address, width, height, GAME)
            await analysed(tab)
            await picture(tab, folder / f"game-{width}.png", True)
            await tab.close()
            tab = await opened(browser, address, width, height, GAME[: 2 * PLY])
            await warned(tab)
            await picture(tab, folder / f"warning-{width}.png", True)
            await tab.close()


async def documents(address: str, page: Path) -> None:
    """Write the pictures of the documents; ``page`` is that of an analysis."""
    async with Browser(find_chromium()) as browser:
        tab = await opened(browser, address, 1280, 860, GAME)
        await analysed(tab)
        await picture(tab, PICTURES / "web.png", False)
        tab = await opened(browser, address, 567, 928, GAME[: 2 * PLY])
        await warned(tab)
        await tab.evaluate("document.getElementById('play').scrollIntoView()")
        await picture(tab, PICTURES / "learn.png", False)
        tab = await browser.tab(f"{page.as_uri()}#46", 1200, 790)
        await tab.until("document.readyState === 'complete'")
        await picture(tab, PICTURES / "analysis.png", False)


def main(arguments: list[str]) -> int:
    """Make the pictures; returns the exit status."""
    parser = Parser(prog="python tests/lab pictures", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="where the views of a first hour go")
    parser.add_argument(
        "--width", dest="widths", action="append", type=int, choices=WIDTHS, help="of these windows alone"
    )
    asked = parser.parse_args(arguments)
    if not find_chromium():
        sys.stderr.write("no Chromium is here\n")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "DESDAEMON_RUNTIME_DIR": f"{folder}/run", "XDG_DATA_HOME": f"{folder}/data"}
        web = subprocess.Popen(
            [*PROGRAM, "web", "--no-browser", "--listen", ":0"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert web.stdout
            address = web.stdout.readline().strip()
            if asked.folder:
                asked.folder.mkdir(parents=True, exist_ok=True)
                asyncio.run(views(address, asked.folder, asked.widths or list(WIDTHS)))
            else:
                page, game = Path(folder) / "final.html", Path(folder) / "final.pgn"
                game.write_text(FINAL, encoding="utf-8")
                analyze = [*PROGRAM, "analyze", str(game), "--level", "14", "--book", "ignore", "--html", str(page)]
                subprocess.run(analyze, env=environment, check=True, stdout=subprocess.DEVNULL)
                asyncio.run(documents(address, page))
        finally:
            web.terminate()
            web.wait()
    return 0
