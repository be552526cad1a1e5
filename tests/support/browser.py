"""Chromium as a process, driven through the DevTools protocol: used by `lab page` and by the tests of the page."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tornado.websocket import WebSocketClientConnection, websocket_connect

from desdaemon.clients.errors import NoDaemon, TimedOut
from desdaemon.protocol.system import platform

Data = dict[str, Any]

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_PATIENCE_S = 180.0
_POLL_S = 0.01
_LOOKS = 20
_SWITCHES = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--lang=en-US",
    "--hide-scrollbars",
    # Without tabs, whose sign of a loading page turns sixty times a second: half of the browser's time for a page.
    "--kiosk",
    # The lists below the address line, which nobody sees, are pages that follow each page that is opened.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup",
    "--mute-audio",
    "--remote-debugging-port=0",
)
_KEY_CODES = {
    "Enter": 13,
    "Escape": 27,
    "Backspace": 8,
    "Tab": 9,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "Home": 36,
    "End": 35,
    "PageUp": 33,
    "PageDown": 34,
}


def find_chromium() -> str:
    """The path of Chromium, or ""."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), "")


class Browser:
    """A headless Chromium with a profile of its own. To be used with ``async with``, on one event loop."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Data]] = {}
        self._tabs: dict[str, BrowserTab] = {}

    async def __aenter__(self) -> Browser:
        self._folder = tempfile.TemporaryDirectory(prefix="desdaemon-chromium-", ignore_cleanup_errors=True)
        port_file = Path(self._folder.name) / "DevToolsActivePort"
        self._process = subprocess.Popen(
            [self._program, *_SWITCHES, f"--user-data-dir={self._folder.name}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **platform.own_group(),
        )
        due = time.monotonic() + _PATIENCE_S
        while not (port_file.exists() and port_file.read_text().count("\n") == 1):
            if self._process.poll() is not None or time.monotonic() > due:
                await self.__aexit__()
                raise NoDaemon(f"{self._program} did not start")
            await asyncio.sleep(_POLL_S)
        port, path = port_file.read_text().split("\n")
        self._connection: WebSocketClientConnection = await websocket_connect(
            f"ws://127.0.0.1:{port}{path}", max_message_size=1 << 28
        )
        self._reading = asyncio.get_running_loop().create_task(self._read())
        return self

    async def __aexit__(self, *error: object) -> None:
        with contextlib.suppress(AttributeError):
            self._reading.cancel()
            self._connection.close()
        self._process.terminate()
        try:
            await asyncio.get_running_loop().run_in_executor(None, self._process.wait, _PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    async def _read(self) -> None:
        while (frame := await self._connection.read_message()) is not None:
            message: Data = json.loads(frame)
            waiting = self._waiting.pop(message.get("id", 0), None)
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
            elif "method" in message and (tab := self._tabs.get(message.get("sessionId", ""))):
                tab.take(message["method"], message["params"])

    async def call(self, method: str, session: str = "", **parameters: Any) -> Data:
        """The result of a command of the DevTools protocol; raises `TimedOut`, and `RuntimeError` for an error."""
        number = next(self._numbers)
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        about = {"sessionId": session} if session else {}
        await self._connection.write_message(
            json.dumps({"id": number, "method": method, "params": parameters, **about})
        )
        done, _ = await asyncio.wait((waiting,), timeout=_PATIENCE_S)
        if not done:
            raise TimedOut(f"no answer to {method} within {_PATIENCE_S} s")
        answer = waiting.result()
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error'].get('message')}")
        result: Data = answer["result"]
        return result

    async def tab(self, address: str = "about:blank", width: int = 1280, height: int = 860) -> BrowserTab:
        """A new tab on an address, with cookies and storage of its own.

        A tab that is the only one has what is cached of pages that were closed, which halves the time of loading. What
        they stored is gone.
        """
        own = {"browserContextId": await self._new_context()} if self._tabs else {}
        target = (await self.call("Target.createTarget", url="about:blank", **own))["targetId"]
        session = (await self.call("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        tab = self._tabs[session] = BrowserTab(self, session, target)
        for domain in ("Page", "Runtime", "Log"):
            await tab.call(f"{domain}.enable")
        await tab.resize(width, height)
        if address != "about:blank":
            await tab.open(address)
        return tab

    async def _new_context(self) -> str:
        context: str = (await self.call("Target.createBrowserContext", disposeOnDetach=True))["browserContextId"]
        return context

    def left(self, session: str) -> None:
        """A tab is about to be closed."""
        del self._tabs[session]


class BrowserTab:
    """A tab: scripts, keys, clicks, the accessibility tree; ``complaints`` are errors of its console."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser = browser
        self._session = session
        self._target = target
        self._origins: set[str] = set()
        self.complaints: list[str] = []
        self.forgiven: Callable[[str], bool] = lambda text: False
        """Says which complaints are expected, such as those about a socket whose gateway was killed."""

    def take(self, method: str, parameters: Data) -> None:
        """An event of the tab."""
        text = ""
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            text = details.get("exception", {}).get("description") or details["text"]
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            text = " ".join(str(one.get("value", one.get("description", ""))) for one in parameters["args"])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            text = parameters["entry"]["text"]
        if text and not self.forgiven(text):
            self.complaints.append(text)

    async def call(self, method: str, **parameters: Any) -> Data:
        """See `Browser.call`."""
        return await self._browser.call(method, self._session, **parameters)

    async def open(self, address: str) -> None:
        """Navigate to an address; returns before it is loaded."""
        parts = urlsplit(address)
        self._origins.add(f"{parts.scheme}://{parts.netloc}")
        await self.call("Page.navigate", url=address)

    async def reload(self) -> None:
        """Load the page anew; returns once the old one can answer no longer, before the new one is loaded."""
        await self.evaluate("void (window.old = true)")
        await self.call("Page.reload")
        await self.until("!window.old")

    async def resize(self, width: int, height: int, scale: float = 1.0) -> None:
        """The size of the window in CSS pixels."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )

    async def prefer(self, **features: str) -> None:
        """Media features, such as ``prefers_color_scheme="dark"``."""
        given = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        await self.call("Emulation.setEmulatedMedia", features=given)

    async def evaluate(self, script: str) -> Any:
        """The value of an expression, or of its promise; raises `RuntimeError` for an exception."""
        found = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", {}).get("description", script))
        return found["result"].get("value")

    async def until(self, script: str, patience_s: float = _PATIENCE_S) -> Any:
        """Wait until an expression is true. Returns its value; raises `TimedOut`."""
        due = time.monotonic() + patience_s
        # Asked in the page, and only now and then from here: each question takes both processes some time.
        looking = (
            f"(async()=>{{for(let n=0;n<{_LOOKS};n++){{let found;try{{found=({script})}}catch{{}}"
            f"if(found)return found;await new Promise(done=>setTimeout(done,{1000 * _POLL_S}))}}}})()"
        )
        while True:
            with contextlib.suppress(RuntimeError):
                if found := await self.evaluate(looking):
                    return found
            if time.monotonic() > due:
                raise TimedOut(f"it did not become true within {patience_s} s: {script}")
            await asyncio.sleep(_POLL_S)

    async def press(self, *keys: str) -> None:
        """Keys by name (`ArrowLeft`, `d`, `?`), Shift+ before them."""
        calls = []
        for name in keys:
            shift = name.startswith("Shift+")
            key = name.removeprefix("Shift+")
            text = "\r" if key == "Enter" else key if len(key) == 1 else ""
            if shift and len(key) == 1:
                key = text = key.upper()
            code = _KEY_CODES.get(key, ord(key.upper()) if len(key) == 1 else 0)
            about = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 * shift}
            typed = {"text": text} if text else {}
            calls.append(self.call("Input.dispatchKeyEvent", type="keyDown", **about, **typed))
            calls.append(self.call("Input.dispatchKeyEvent", type="keyUp", **about))
        # They are sent in this order, none waits for the one before.
        await asyncio.gather(*calls)

    async def click(self, selector: str) -> None:
        """A click of the mouse in the middle of the first element that the selector finds."""
        x, y = await self._middle(selector, "e.scrollIntoView({block:'center'});")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    async def point(self, selector: str, wheel: float = 0.0) -> None:
        """Move the mouse over an element, and turn the wheel there."""
        x, y = await self._middle(selector)
        await self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        if wheel:
            await self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=wheel)

    async def _middle(self, selector: str, first: str = "") -> tuple[float, float]:
        """Return the middle of an element at rest: the mouse finds what was scrolled or moved only where it is drawn.

        ``first`` is a script that is run before with the element as ``e``.
        """
        script = (
            f"(async()=>{{const e=document.querySelector({json.dumps(selector)});{first}"
            "const middle=()=>{const b=e.getBoundingClientRect();return [b.left+b.width/2,b.top+b.height/2]};"
            "const frame=()=>new Promise(requestAnimationFrame);"
            "let old,now=middle();do{old=now;await frame();await frame();now=middle()}while(''+old!==''+now);"
            "return now})()"
        )
        x, y = await self.evaluate(script)
        return x, y

    async def write(self, text: str) -> None:
        """Insert text at the focus, as an input method does."""
        await self.call("Input.insertText", text=text)

    async def accessibility(self) -> list[Data]:
        """The nodes of the accessibility tree that are not ignored, with their role and name."""
        nodes = (await self.call("Accessibility.getFullAXTree"))["nodes"]
        return [
            {
                "role": node["role"]["value"],
                "name": node.get("name", {}).get("value", ""),
                **{one["name"]: one["value"].get("value") for one in node.get("properties", ())},
            }
            for node in nodes
            if not node["ignored"]
        ]

    async def close(self) -> None:
        """Close the tab, and remove its cookies and what it stored."""
        # A page may store something as it is left, and that may be after it was closed. It clears its storage itself:
        # what it stored a moment before may come to the browser after the browser's own clearing.
        await self.evaluate("void (Storage.prototype.setItem = () => {})")
        with contextlib.suppress(RuntimeError):
            await self.evaluate("localStorage.clear()")
        for origin in self._origins:
            await self.call("Storage.clearDataForOrigin", origin=origin, storageTypes="all")
        await self.call("Network.clearBrowserCookies")
        self._browser.left(self._session)
        await self._browser.call("Target.closeTarget", targetId=self._target)
