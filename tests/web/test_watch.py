"""The pages of a match behind the gateway's door: `desdaemon web --watch FOLDER`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from chrome import Chrome
from pretended_players import fake
from served import PRETENDING, serving
from web_gateway import Web

from desdaemon.clients.match import match


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
    status, headers, body = web.get(f"/match/?token={web.token}", cookie="")
    assert status == 200
    assert b"url=/match/" in body
    assert headers["set-cookie"]
    assert web.get("/match/?token=wrong", cookie="")[0] == 403


@pytest.mark.parametrize(
    "path", ["secret.txt", "../secret.txt", "game-0003.html", "%2e%2e/etc/passwd", "game-0001.html/", "game-1.htmlx"]
)
def test_nothing_else_of_the_folder_is_shown(path: str, watched: Watched) -> None:
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


@pytest.mark.slow
def test_in_a_browser(watched: Watched, chrome: Chrome) -> None:
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
        await tab.close()

    chrome.run(look())
