"""A daemon with the real engine, a gateway before it, and Chromium: one of each for a module."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from programs import programs
from served import Served, serving
from web_gateway import Web

from desdaemon.clients.bench.browser import Browser, BrowserTab, find_chromium

READY = "window.desdaemon && desdaemon.socket.connected"


class Chrome:
    """A browser with the event loop that it lives on."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._browser = Browser(find_chromium())
        self.run(self._browser.__aenter__())

    def run(self, talk: Coroutine[Any, Any, Any]) -> Any:
        """What a coroutine returns."""
        return self._loop.run_until_complete(talk)

    async def page(self, web: Web, fragment: str = "", **preferences: Any) -> BrowserTab:
        """A page that is connected, with preferences other than the usual ones."""
        tab = await self.visit(web.address)
        await tab.until(READY)
        for name, value in preferences.items():
            await tab.evaluate(
                f"desdaemon.preferences.set({name!r}, {str(value).lower() if value in (True, False) else repr(value)})"
            )
        if fragment:
            await tab.evaluate(f"void (location.hash = {fragment!r})")
        return tab

    async def visit(self, address: str, *, trusting: bool = False) -> BrowserTab:
        """A tab of its own at an address; with ``trusting`` any certificate will do."""
        tab = await self._browser.tab()
        if trusting:
            await tab.call("Security.setIgnoreCertificateErrors", ignore=True)
        await tab.open(address)
        return tab

    def end(self) -> None:
        """Close it."""
        self.run(self._browser.__aexit__())
        self._loop.close()


Talk = Callable[..., Coroutine[Any, Any, None]]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture(scope="module")
def gateway(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    found = Web(tmp_path_factory.mktemp("gateway"), served.ipc)
    yield found
    assert found.end() == 0
    assert "Traceback" not in found.errors.read_text()


@pytest.fixture(scope="module")
def chrome() -> Iterator[Chrome]:
    programs("chromium")
    found = Chrome()
    yield found
    found.end()


@pytest.fixture
def visit(chrome: Chrome, gateway: Web) -> Callable[..., None]:
    """Open a page, talk to it, and find no complaint in its console: errors and violations of the CSP are some."""

    def run(talk: Talk, fragment: str = "", **preferences: Any) -> None:
        async def visited() -> None:
            tab = await chrome.page(gateway, fragment, **preferences)
            try:
                await talk(tab)
                assert tab.complaints == []
            finally:
                await tab.close()

        chrome.run(visited())

    return run
