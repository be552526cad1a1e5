"""Chromium for tests of the page, on an event loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from browser import Browser, BrowserTab, find_chromium
from web_gateway import Web

READY = "window.desdaemon && desdaemon.socket.connected && desdaemon.greeted"
"""True on a page that is connected and shows what its daemon has, so that nothing moves any more."""


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
            # The page opens the link when the browser tells of it, which may be after the next script.
            await tab.evaluate(
                f"""new Promise(opened => {{
                    addEventListener("hashchange", () => opened(true), {{ once: true }});
                    location.hash = {fragment!r};
                }})"""
            )
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
