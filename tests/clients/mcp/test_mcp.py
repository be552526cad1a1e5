"""`desdaemon mcp` as a process, asked by the client of the package `mcp`."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from checkout import IMPORT, ROOT
from programs import node_package, programs
from served import ENDLESS, PATIENCE_S, PRETENDING, Peer, Served, heed_signals, serving
from waits import until

from desdaemon.clients.mcp.mcp import MOST_CALLS, WITHOUT_MCP, _lines

if TYPE_CHECKING:
    import mcp
from desdaemon.protocol.wire.constants import LARGEST_BODY

COMMAND = [sys.executable, "-m", "daemon", "mcp"]


@pytest.fixture(autouse=True, scope="module")
def package() -> None:
    """Import the package where these tests run: all processes read this file, and it takes two seconds."""
    pytest.importorskip("mcp")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("daemon"), program=PRETENDING) as served:
        yield served


@pytest.fixture(scope="module")
def searching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A daemon with the real engine."""
    with serving(tmp_path_factory.mktemp("searching")) as served:
        yield served


@asynccontextmanager
async def connected(*arguments: str, **environment: str) -> AsyncIterator[mcp.Client]:
    """The package's client of a server as a process."""
    import mcp

    server = mcp.StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], *arguments], env={**os.environ, **environment}, cwd=ROOT
    )
    async with mcp.Client(mcp.stdio_client(server)) as client:
        yield client


def talk(daemon: Served, say: Callable[[mcp.Client], Awaitable[None]]) -> None:
    async def run() -> None:
        async with connected(daemon.ipc) as client:
            await say(client)

    asyncio.run(asyncio.wait_for(run(), 2 * PATIENCE_S))


async def data(client: mcp.Client, name: str, **args: Any) -> dict[str, Any]:
    """The result of a call that succeeds, the same as text and as data."""
    import mcp

    found = await client.call_tool(name, args)
    assert isinstance(found, mcp.types.CallToolResult)
    assert not found.is_error, found.content
    [content] = found.content
    assert isinstance(content, mcp.types.TextContent)
    assert json.loads(content.text) == found.structured_content
    answer: dict[str, Any] = found.structured_content
    return answer


async def refusal(client: mcp.Client, name: str, **args: Any) -> str:
    """What a call that fails is told."""
    import mcp

    found = await client.call_tool(name, args)
    assert isinstance(found, mcp.types.CallToolResult)
    [content] = found.content
    assert isinstance(content, mcp.types.TextContent)
    assert found.is_error, content.text
    return content.text


def test_each_tool_answers_in_its_schema(daemon: Served) -> None:
    import jsonschema

    async def say(client: mcp.Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"analyze", "legal_moves", "book", "openings"} <= tools.keys()
        calls: dict[str, list[dict[str, Any]]] = {
            "analyze": [{}, {"moves": "f5d6c3", "level": 2, "multipv": 3}, {"board": "X" * 64 + " X"}],
            "legal_moves": [{}, {"moves": "f5"}, {"board": "X" * 64 + " X"}],
            "book": [{}, {"moves": "f5"}],
            "openings": [{}, {"line": "tiger"}],
        }
        if "explain" in tools:
            calls["explain"] = [{"moves": "f5d6", "played": "c4d3", "best": "c3d3"}]
        for name, given in calls.items():
            assert tools[name].description
            for args in given:
                jsonschema.validate(args, tools[name].input_schema)
                found = await data(client, name, **args)
                jsonschema.validate(found, tools[name].output_schema or {})
        assert (await data(client, "legal_moves"))["moves"] == ["d3", "c4", "f5", "e6"]
        assert len((await data(client, "analyze", level=1, multipv=2))["moves"]) == 2

    talk(daemon, say)


def test_openings_are_found_by_line_and_by_name(daemon: Served) -> None:
    async def say(client: mcp.Client) -> None:
        by_name, by_line = (
            await data(client, "openings", line="Tigre"),
            await data(client, "openings", line="f5d6c3d3c4"),
        )
        assert by_name == by_line
        assert by_line["opening"]["names"]["english"] == ["Tiger"]
        assert by_line["following"][0]["names"]["english"] == ["Aubrey"]
        assert (await data(client, "openings", line="f5"))["opening"] is None
        assert len((await data(client, "openings"))["following"]) > 80

    talk(daemon, say)


def test_the_explorer_answers_in_its_schema_where_there_is_an_index(tmp_path: Path) -> None:
    import jsonschema

    explorer = pytest.importorskip("desdaemon.book.explorer.cli")
    (tmp_path / "two.pgn").write_text('[Black "Ann"]\n\n1. f5 d6 *\n\n[Black "Cid"]\n\n1. f5 f6 *\n')
    assert explorer.main(["index", str(tmp_path / "two.pgn"), "--out", str(tmp_path / "index")]) == 0

    async def say(client: mcp.Client) -> None:
        [tool] = [tool for tool in (await client.list_tools()).tools if tool.name == "explorer"]
        found = await data(client, "explorer", moves="f5")
        jsonschema.validate(found, tool.output_schema or {})
        assert {move["move"]: move["games"] for move in found["moves"]} == {"d6": 1, "f6": 1}
        assert len(found["games"]) == 2
        assert len((await data(client, "explorer", moves="f5", player="ann"))["moves"]) == 1

    with serving(tmp_path / "daemon", "-games-file", str(tmp_path / "index"), program=PRETENDING) as served:
        talk(served, say)


def test_unusable_arguments_are_refused_in_a_line(daemon: Served) -> None:
    from mcp.shared.exceptions import MCPError

    async def say(client: mcp.Client) -> None:
        for name, args, told in (
            ("analyze", {"moves": "a1"}, "A1 is illegal"),
            ("analyze", {"moves": 7}, "expected a text"),
            ("analyze", {"board": "nonsense"}, "nonsense"),
            ("analyze", {"level": 61}, "expected a whole number from 0 to 60"),
            ("analyze", {"level": 10**400}, "expected a whole number"),
            ("analyze", {"until": "cancelled"}, "analyze takes no 'until'"),
            ("analyze", {"x" * 100_000: 1}, "analyze takes no 'xxx"),
            ("legal_moves", {"moves": "f5" * 1000}, "expected at most"),
            ("book", {"children": False}, "book takes no 'children'"),
            ("openings", {"line": "xyzzy"}, "expected moves"),
            ("openings", {"line": ["f5"]}, "expected a text"),
        ):
            message = await refusal(client, name, **args)
            assert told in message
            assert "\n" not in message
            assert len(message) < 500
        with pytest.raises(MCPError, match="no tool"):
            await client.call_tool("shutdown", {})
        assert (await data(client, "legal_moves"))["moves"]

    talk(daemon, say)


def test_a_call_that_is_cancelled_ends_its_search(searching: Served) -> None:
    with Peer(searching.ipc) as watcher:

        async def say(client: mcp.Client) -> None:
            call = asyncio.create_task(client.call_tool("analyze", {**ENDLESS, "time_ms": 10**9}))
            while not watcher.final("status")["running"]:
                await asyncio.sleep(0.02)
            call.cancel()
            while watcher.final("status")["running"]:
                await asyncio.sleep(0.02)
            assert (await data(client, "legal_moves"))["moves"]

        talk(searching, say)


def test_calls_beyond_a_limit_are_refused(searching: Served) -> None:
    async def say(client: mcp.Client) -> None:
        calls = [
            asyncio.create_task(client.call_tool("analyze", {**ENDLESS, "time_ms": 10**9}))
            for _ in range(MOST_CALLS + 3)
        ]
        done, waiting = set[asyncio.Task[Any]](), set(calls)
        while len(done) < 3:
            ended, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            done |= ended
        assert all(call.result().is_error and "no answer yet" in call.result().content[0].text for call in done)
        for call in waiting:
            call.cancel()
        await asyncio.wait(waiting)

    talk(searching, say)


def started(*arguments: str) -> subprocess.Popen[str]:
    """The server with pipes of our own."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
    )


def greeting(number: int) -> str:
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params}) + "\n"


@pytest.mark.posix
def test_lines_that_are_no_messages_are_passed_over(daemon: Served) -> None:
    process = started(daemon.ipc)
    assert process.stdin
    assert process.stdout
    for line in ("garbage\n", "[" * 10_000 + "\n", "\x00\n", "7\n", "{}\n", "x" * (2 * LARGEST_BODY) + "\n"):
        process.stdin.write(line)
    process.stdin.write(greeting(5))
    process.stdin.flush()
    reply = json.loads(process.stdout.readline())
    assert (reply["id"], reply["result"]["serverInfo"]["name"]) == (5, "desdaemon")
    out, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (0, "")
    assert "Traceback" not in errors


@pytest.mark.posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_a_signal_ends_the_server_while_its_input_is_open(daemon: Served, number: int) -> None:
    process = started(daemon.ipc)
    assert process.stdin
    assert process.stdout
    process.stdin.write(greeting(1))
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == 0
    out, errors = process.communicate()
    assert (out, errors) == ("", "")


def test_what_comes_after_the_end_is_dropped_without_a_word(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    reading, writing = os.pipe()
    monkeypatch.setattr("desdaemon.clients.mcp.mcp.os.dup", lambda descriptor: reading)
    loop = asyncio.new_event_loop()
    lines = _lines(loop)
    os.write(writing, b"one\n")
    assert loop.run_until_complete(anext(lines)) == "one\n"
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
    os.close(writing)
    until(lambda: all(thread.name != "standard input" for thread in threading.enumerate()))
    gc.collect()
    assert [str(warning.message) for warning in recwarn] == []


def test_a_daemon_that_cannot_be_reached_is_told_at_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, f"ipc://{tmp_path}/none"], cwd=ROOT, input="", capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "no answer within" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.posix
def test_an_output_that_cannot_be_written_is_said_in_a_line(daemon: Served) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, daemon.ipc],
            cwd=ROOT,
            input=greeting(1).encode(),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=PATIENCE_S,
        )
    assert (done.returncode, done.stderr) == (1, b"desdaemon: standard output: No space left on device\n")


@pytest.mark.posix
def test_too_few_descriptors_are_said_in_a_line(daemon: Served) -> None:
    """libzmq aborts without."""
    done = subprocess.run(
        ["sh", "-c", 'ulimit -n 12; exec "$@"', "sh", *COMMAND, daemon.ipc],
        cwd=ROOT,
        input="",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"desdaemon mcp: {daemon.ipc}: {os.strerror(errno.EMFILE)}: try later\n"


def test_a_missing_package_is_named_with_its_extra() -> None:
    program = "import sys\nsys.modules['mcp'] = None\nfrom desdaemon.cli.main import main\nsys.exit(main(['mcp']))"
    done = subprocess.run(
        [sys.executable, "-c", IMPORT + program], input="", capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{WITHOUT_MCP}\n")


def test_without_an_endpoint_a_daemon_is_started_and_ends_with_it(tmp_path: Path) -> None:
    async def run(short: str) -> None:
        folders = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "TMPDIR": short}
        async with connected("--threads", "1", **folders) as client:
            analysis = await data(client, "analyze", moves="f5", level=10)
            assert analysis["moves"][0]["source"] == "book", "the first call waits for the book"
            known = await data(client, "book", moves="f5")
            assert known["found"]
            assert known["children"]

    # The path of a socket has to be short.
    with tempfile.TemporaryDirectory(prefix="d") as short:
        asyncio.run(asyncio.wait_for(run(short), 5 * PATIENCE_S))
        until(lambda: not list(Path(short).iterdir()))


@pytest.mark.slow
def test_the_inspector_of_the_protocol_lists_and_calls_the_tools(daemon: Served) -> None:
    (node,) = programs("node")
    inspector = node_package("@modelcontextprotocol/inspector") / ".bin" / "mcp-inspector"

    def asked(*method: str) -> Any:
        command = [node, str(inspector), "--cli", *COMMAND, daemon.ipc, "--method", *method]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        return json.loads(done.stdout)

    names = [tool["name"] for tool in asked("tools/list")["tools"]]
    assert names == ["analyze", "legal_moves", "book", "explorer", "explain", "openings"]
    legal = asked("tools/call", "--tool-name", "legal_moves", "--tool-arg", "moves=f5")
    assert legal["structuredContent"]["moves"] == ["f4", "d6", "f6"]
    wrong = asked("tools/call", "--tool-name", "legal_moves", "--tool-arg", "moves=f5f5")
    assert wrong["isError"]
    assert wrong["content"][0]["text"] == "F5 (move 2) is illegal: expected one of F4 D6 F6"
