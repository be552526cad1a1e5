"""The pages of a match behind the gateway's door: `desdaemon web --watch FOLDER`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from chrome import Chrome
from pretended_players import fake
from served import PRETENDING, serving
from web_gateway import Web

from desdaemon.clients.match import match
from desdaemon.clients.match import page as page_module
from desdaemon.clients.web.watched import LARGEST_PAGE


class Watched(NamedTuple):
    """A gateway, the folder that it shows, and the address that it gives for that."""

    web: Web
    folder: Path
    address: str


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A gateway that shows a match of two games, with another file beside its pages."""
    folder = tmp_path_factory.mktemp("match")
    sides = [fake("nboard", "first"), fake("nboard", "last")]
    assert match.main([*sides, "--names", "A,B", "--games", "2", "--page", str(folder)]) == 0
    (folder / "secret.txt").write_text("secret")
    with serving(tmp_path_factory.mktemp("daemon"), program=PRETENDING) as daemon:
        web = Web(tmp_path_factory.mktemp("web"), daemon.ipc, "--watch", str(folder))
        assert web.process.stdout
        yield Watched(web, folder, web.process.stdout.readline().strip())
        assert web.end() == 0
        assert "Traceback" not in web.errors.read_text()


def test_pages_are_for_those_who_are_let_in(watched: Watched) -> None:
    web, folder, address = watched
    assert address == f"{web.address.partition('?')[0]}match/?token={web.token}"
    for path, file in (("", "index.html"), ("index.html", "index.html"), ("game-0002.html", "game-0002.html")):
        assert web.get(f"/match/{path}", cookie="")[0] == 403
        assert web.get(f"/match/{path}", host="evil.example")[0] == 403
        status, headers, body = web.get(f"/match/{path}")
        assert (status, body) == (200, (folder / file).read_bytes())
        assert headers["content-type"] == "text/html; charset=utf-8"
        assert headers["content-security-policy"].startswith("default-src 'none';")
        assert "connect-src" not in headers["content-security-policy"]
        assert headers["content-security-policy"].endswith("; sandbox allow-scripts")
    status, headers, body = web.get(f"/match/?token={web.token}", cookie="")
    assert status == 200
    assert b"url=/match/" in body
    assert headers["set-cookie"]
    assert web.get("/match/?token=wrong", cookie="")[0] == 403


@pytest.mark.parametrize(
    "path", ["secret.txt", "../secret.txt", "game-0003.html", "%2e%2e/etc/passwd", "game-0001.html/", "game-1.htmlx"]
)
def test_only_pages_of_the_folder_are_shown(path: str, watched: Watched) -> None:
    assert watched.web.get(f"/match/{path}")[0] == 404


def test_a_match_that_has_not_begun_is_waited_for(watched: Watched) -> None:
    page = watched.folder / "index.html"
    old = page.read_bytes()
    page.unlink()
    for path in ("/match/", "/match/index.html"):
        status, headers, body = watched.web.get(path)
        assert (status, headers["refresh"], body) == (404, "2", b"404: no match has written its pages yet\n")
    assert "refresh" not in watched.web.get("/match/game-0003.html")[1]
    page.write_bytes(old)


def test_a_page_that_is_replaced_is_shown(watched: Watched) -> None:
    page = watched.folder / "game-0001.html"
    old = page.read_bytes()
    page.write_bytes(b"new")
    assert watched.web.get("/match/game-0001.html")[2] == b"new"
    page.write_bytes(old)


@pytest.mark.posix
@pytest.mark.parametrize(
    "what", ["link", "link to a page", "hard link", "pipe", "device", "folder", "large", "unreadable"]
)
def test_only_regular_files_of_the_folder_are_opened(what: str, watched: Watched, tmp_path: Path) -> None:
    """Nothing else is read, and the gateway goes on: a pipe would keep it waiting, a device fill its memory."""
    page = watched.folder / "game-0007.html"
    secret = tmp_path / "game-0007.html"
    secret.write_text("secret")
    if what == "link":
        page.symlink_to(secret)
    elif what == "link to a page":
        page.symlink_to("game-0001.html")
    elif what == "hard link":
        page.hardlink_to(secret)
    elif what == "pipe":
        os.mkfifo(page)
    elif what == "device":
        page.symlink_to("/dev/zero")
    elif what == "folder":
        page.mkdir()
    elif what == "large":
        with page.open("wb") as stream:
            stream.truncate(LARGEST_PAGE + 1)
    else:
        page.symlink_to(page.name)
    try:
        for _ in range(3):
            status, _, body = watched.web.get("/match/game-0007.html")
            assert status == 404
            assert b"secret" not in body
        assert watched.web.get("/match/game-0001.html")[0] == 200
    finally:
        page.rmdir() if what == "folder" else page.unlink()


def test_a_page_as_large_as_allowed_is_shown(watched: Watched) -> None:
    page = watched.folder / "game-0008.html"
    with page.open("wb") as stream:
        stream.truncate(LARGEST_PAGE)
    assert len(watched.web.get("/match/game-0008.html")[2]) == LARGEST_PAGE
    page.unlink()


@pytest.mark.posix
def test_a_folder_that_becomes_a_link_is_not_followed(watched: Watched, tmp_path: Path) -> None:
    moved, other = tmp_path / "moved", tmp_path / "other"
    other.mkdir()
    (other / "index.html").write_text("secret")
    watched.folder.rename(moved)
    watched.folder.symlink_to(other)
    try:
        assert watched.web.get("/match/")[0] == 404
    finally:
        watched.folder.unlink()
        moved.rename(watched.folder)
    assert watched.web.get("/match/")[0] == 200


def test_the_cookie_of_the_match_opens_nothing_else(watched: Watched) -> None:
    """Pages of a match have no origin of their own, so that links between them bring this cookie alone."""
    web, _, _ = watched
    cookies = web.cookies(f"/match/?token={web.token}")
    assert [cookie.partition("=")[0] for cookie in cookies] == [f"desdaemon-{web.port}", f"desdaemon-{web.port}-match"]
    assert "Path=/match/" in cookies[1]
    assert "SameSite=Lax" in cookies[1]
    cookie = cookies[1].partition(";")[0]
    assert web.get("/match/game-0001.html", cookie=cookie)[0] == 200
    for path in ("/", "/main.js", "/socket"):
        assert web.get(path, cookie=cookie)[0] == 403
    name, _, value = cookie.partition("=")
    assert web.get("/", cookie=f"{name.removesuffix('-match')}={value}")[0] == 403


@pytest.mark.slow
def test_a_browser_shows_the_watched_page(watched: Watched, chrome: Chrome) -> None:
    """The entrance leads to the match, a link to a game, whose script runs; the console has no complaints."""

    async def look() -> None:
        tab = await chrome.visit(watched.address)
        await tab.until("document.body?.textContent.includes('2 of 2 games, finished')")
        page = watched.folder / "index.html"
        old = page.read_bytes()
        page.unlink()
        await tab.open(watched.address)
        await tab.until("document.body?.textContent.includes('no match has written its pages yet')")
        page.write_bytes(old)
        await tab.until("document.body?.textContent.includes('2 of 2 games, finished')")
        tab.complaints.clear()
        await tab.click('a[href="game-0002.html"]')
        await tab.until("document.getElementById('steps')?.hidden===false")
        await tab.press("Home")
        assert (await tab.evaluate("document.getElementById('told').textContent")).startswith("1. Black plays")
        assert tab.complaints == []
        await tab.click("a")
        await tab.until("document.body?.textContent.includes('2 of 2 games, finished')")
        await tab.close()

    chrome.run(look())


SCRIPT = """<!DOCTYPE html><title>crafted</title><script>
const found = window.found = {origin: self.origin};
try { found.opened = open("/") !== null } catch (error) { found.opened = String(error) }
try { localStorage.setItem("desdaemon.games", "5"); found.stored = true } catch { found.stored = false }
const socket = new WebSocket(`ws://${location.host}/socket`);
socket.onopen = () => { found.socket = true };
socket.onerror = () => { found.socket = false };
</script>"""


@pytest.mark.slow
def test_a_crafted_page_reaches_nothing_of_the_board(watched: Watched, chrome: Chrome) -> None:
    """It opens no window, no socket, and has none of the board's stores."""
    page = watched.folder / "game-0009.html"
    page.write_text(SCRIPT)

    async def look() -> None:
        tab = await chrome.visit(watched.address)
        await tab.until("document.body?.textContent.includes('2 of 2 games, finished')")
        await tab.open(watched.address.partition("?")[0] + page.name)
        await tab.until("window.found && 'socket' in found")
        assert await tab.evaluate("found") == {"origin": "null", "opened": False, "stored": False, "socket": False}
        await tab.close()

    chrome.run(look())
    page.unlink()


@pytest.mark.slow
def test_the_focus_stays_when_a_page_loads_itself_again(watched: Watched, chrome: Chrome) -> None:
    page = watched.folder / "game-0010.html"
    page.write_text(f'<!DOCTYPE html>{page_module._RELOADING}<a href="one">one</a> <a href="two">two</a>')

    async def look() -> None:
        tab = await chrome.visit(watched.address)
        await tab.until("document.body?.textContent.includes('2 of 2 games, finished')")
        await tab.open(watched.address.partition("?")[0] + page.name)
        for _ in range(2):
            await tab.evaluate("void (window.before = 1)")
            await tab.press("Tab")
            focused = await tab.evaluate("document.activeElement.textContent")
            await tab.until("!window.before && document.readyState === 'complete'")
            assert await tab.evaluate("document.activeElement.textContent") == focused
        assert focused == "two"
        assert tab.complaints == []
        await tab.close()

    chrome.run(look())
    page.unlink()
