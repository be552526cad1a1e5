"""The gateway with a certificate: https for the page, wss for its socket, and nothing for those who come without."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkout import ROOT
from chrome import READY, Chrome
from programs import programs
from served import PATIENCE_S, PRETENDING, Served, serving
from tornado.httpclient import HTTPClientError
from web_gateway import Web


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("daemon"), program=PRETENDING) as served:
        yield served


@pytest.fixture(scope="module")
def gateway(daemon: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """One with a certificate for 127.0.0.1 that it has signed itself."""
    (openssl,) = programs("openssl")
    folder = tmp_path_factory.mktemp("gateway")
    made, key = str(folder / "certificate.pem"), str(folder / "key.pem")
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=board"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", made]
    subprocess.run(command, check=True, capture_output=True)
    trust = ssl.create_default_context(cafile=made)
    found = Web(folder, daemon.ipc, "--tls-certificate", made, "--tls-key", key, trust=trust)
    yield found
    assert found.end() == 0
    assert "Traceback" not in found.errors.read_text()


def test_the_page_and_its_socket_are_encrypted(gateway: Web) -> None:
    assert gateway.address.startswith("https://127.0.0.1:")
    _, headers, _ = gateway.get(f"/?token={gateway.token}", cookie="")
    assert "Secure" in [part.strip() for part in headers["set-cookie"].split(";")]
    assert gateway.get("/")[0] == 200
    assert gateway.get("/", cookie="")[0] == 403

    async def talk() -> None:
        async with gateway.socket() as page:
            assert (await page.final("legal"))["moves"] == ["d3", "c4", "f5", "e6"]
        # The same page without encryption is another origin.
        with pytest.raises(HTTPClientError) as refused:
            async with gateway.socket(Origin=gateway.origin.replace("https", "http")):
                pass
        assert refused.value.code == 403

    asyncio.run(talk())


def test_plain_http_gets_nothing(gateway: Web) -> None:
    head = f"GET / HTTP/1.1\r\nHost: {gateway.host}\r\nCookie: {gateway.cookie}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=PATIENCE_S) as raw:
        raw.sendall(head.encode())
        with contextlib.suppress(ConnectionError):
            assert b"HTTP" not in raw.recv(1000)
    assert gateway.get("/")[0] == 200


def test_an_unusable_certificate_is_refused(daemon: Served, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("no certificate\n")
    for file, why in ((tmp_path / "none.pem", "No such file"), (wrong, "not a PEM file")):
        command = [sys.executable, "-m", "daemon", "web", daemon.ipc, "--no-browser", "--tls-certificate", str(file)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert why in done.stderr


def test_a_browser_works_over_tls(gateway: Web, chrome: Chrome) -> None:
    """The policy of the page lets it reach its own socket over wss too."""

    async def talk() -> None:
        tab = await chrome.visit(gateway.address, trusting=True)
        await tab.until(READY)
        assert await tab.evaluate("location.protocol") == "https:"
        assert await tab.evaluate("desdaemon.socket.ask('legal').then(found => found.moves.join(' '))") == "d3 c4 f5 e6"
        assert tab.complaints == []
        await tab.close()

    chrome.run(talk())
