"""A daemon with the real engine, a gateway before it, and Chromium: one of each for a module."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from chrome import Chrome
from programs import programs
from served import Served, serving
from web_gateway import Web

Talk = Callable[..., Coroutine[Any, Any, None]]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture(autouse=True)
def no_gateway_is_left() -> Iterator[None]:
    """A test that fails before it has ended its gateway leaves none behind; those of fixtures go on."""
    before = set(Web.running)
    yield
    for web in Web.running - before:
        web.kill()


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
