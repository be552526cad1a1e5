"""The metrics over HTTP."""

from __future__ import annotations

import errno
import http.client
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from socketserver import TCPServer

import pytest
from served import Peer, Served, serving
from waits import until

from desdaemon.protocol.errors import BadInput
from desdaemon.server.endpoints import metrics_address
from desdaemon.server.scrape import Scrape


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, int]]:
    with serving(tmp_path_factory.mktemp("m"), "--metrics", "127.0.0.1:0") as served:
        # The line follows the file of the connection, for which `serving` waits.
        until(lambda: "metrics port=" in served.log.read_text())
        found = re.search(r"metrics port=(\d+)", served.log.read_text())
        assert found
        yield served, int(found[1])


def fetched(port: int, method: str = "GET", path: str = "/metrics") -> tuple[int, str, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path)
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response.status, str(response.headers["Content-Type"]), body


def test_the_page_shows_the_metrics_of_the_operation(scraped: tuple[Served, int]) -> None:
    served, port = scraped
    status, kind, body = fetched(port)
    assert (status, kind.split(";")[0]) == (200, "application/openmetrics-text")
    with Peer(served.ipc) as peer:
        told = peer.final("metrics")["text"]
    families = [line for line in told.splitlines() if line.startswith("# TYPE")]
    assert [line for line in body.splitlines() if line.startswith("# TYPE")] == families
    assert body.endswith("# EOF\n")


def test_other_requests_are_refused(scraped: tuple[Served, int]) -> None:
    _, port = scraped
    assert fetched(port, path="/else")[0] == 404
    assert fetched(port, "POST")[0] == 501
    assert fetched(port, "HEAD") == (200, fetched(port)[1], "")
    for sent in (b"\r\n\r\n", b"\xff" * 20 + b"\r\n\r\n", b"x" * 100_000):
        with socket.create_connection(("127.0.0.1", port), 30) as raw:
            try:
                raw.sendall(sent)
                while raw.recv(65536):
                    pass
            except ConnectionError:
                pass
    slow = [socket.create_connection(("127.0.0.1", port), 30) for _ in range(60)]
    assert fetched(port)[0] == 200
    # Those that opened first are closed, so that slow ones do not add up.
    assert slow[0].recv(1) == b""
    for raw in slow:
        raw.close()


def test_without_descriptors_the_next_try_comes_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def lacking(server: TCPServer) -> None:
        tries.append(server)
        raise OSError(errno.EMFILE, "")

    monkeypatch.setattr(TCPServer, "get_request", lacking)
    scrape = Scrape("127.0.0.1", 0, str)
    scrape.start()
    with socket.create_connection(("127.0.0.1", scrape.port), 30):
        until(lambda: len(tries) > 0)
        time.sleep(0.5)
        assert len(tries) < 20
    scrape.shutdown()
    scrape.server_close()


def test_the_page_is_for_this_machine_unless_told_otherwise() -> None:
    assert metrics_address("127.0.0.1:9464", insecure=False) == ("127.0.0.1", 9464)
    assert metrics_address("[::1]:1", insecure=False) == ("::1", 1)
    assert metrics_address("0.0.0.0:1", insecure=True) == ("0.0.0.0", 1)
    for wrong in ("0.0.0.0:1", "example.org:1", "127.0.0.1", "127.0.0.1:99999", ":1", "127.0.0.1:x"):
        with pytest.raises(BadInput, match="--metrics"):
            metrics_address(wrong, insecure=False)


def test_an_address_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match=f"127.0.0.1:{port}"):
            Scrape("127.0.0.1", port, str)
