"""`desdaemon mcp`: the command line, and the server from its start to the end of its input."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator
from concurrent.futures import CancelledError
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from desdaemon.clients.arguments import Parser
from desdaemon.clients.asynchronous import AsyncClient
from desdaemon.clients.errors import DaemonError, told
from desdaemon.clients.programs.open_book import OpenBook
from desdaemon.clients.programs.own_daemon import add_daemon_options, check_daemon_options, daemon_of
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.system import logs, platform
from desdaemon.protocol.system.terminal import ElapsedTime
from desdaemon.protocol.version import __version__
from desdaemon.protocol.wire.constants import LARGEST_BODY
from desdaemon.protocol.wire.messages import RequestError

from .tools import INSTRUCTIONS, OPENINGS, TOOLS, Tool, named_openings

if TYPE_CHECKING:
    import argparse

    from mcp.server.lowlevel import Server

DESCRIPTION = """\
A server of the Model Context Protocol on standard input and output: language models analyse positions, look them up in
the book and in games, and name openings. Without ENDPOINT a daemon is started for it.
"""
WITHOUT_MCP = 'desdaemon mcp needs the package mcp: pip install "mcp>=2"'
MOST_CALLS = 32
"""Most calls without an answer."""
_BY_THE_BOOK = ("analyze", "explain")
_BOOK_S = 10.0
"""Seconds for which these operations wait for a book that is being opened."""


def command_line() -> Parser:
    """Return the parser of the command line."""
    parser = Parser(prog="desdaemon mcp", description=DESCRIPTION, allow_abbrev=False)
    add_daemon_options(parser)
    return parser


def main(arguments: list[str]) -> int:
    """Serve until the end of the input or a signal. Returns 0, or 1 for an unusable daemon or without the package; a
    bad command line ends the program with status 2. Raises `OSError` for an output that cannot be written.
    """
    parser = command_line()
    named = parser.parse_args(arguments)
    check_daemon_options(parser, named)
    try:
        import mcp.server.lowlevel  # noqa: F401
    except ImportError:
        logs.echo(WITHOUT_MCP)
        return 1
    try:
        with daemon_of(named) as endpoint, asyncio.Runner(loop_factory=platform.event_loop) as runner:
            runner.run(_serve(named, endpoint))
    except (BadInput, DaemonError) as error:
        logs.message(told(error), "desdaemon mcp", level="error")
        return 1
    return 0


async def _serve(named: argparse.Namespace, endpoint: str) -> None:
    from mcp.server.stdio import stdio_server

    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task
    for number in platform.ending_signals():
        platform.on_signal(loop, number, task.cancel)
    with suppress(asyncio.CancelledError):
        with ElapsedTime("connecting"):
            connected = await AsyncClient.connect(endpoint, key=named.key, server_key=named.server_key)
        async with connected as client:
            server = Tools(client).server()
            try:
                async with stdio_server(_lines(loop)) as (incoming, outgoing):  # type: ignore[arg-type]
                    await server.run(incoming, outgoing, server.create_initialization_options())
            except BaseExceptionGroup as group:
                error: BaseException = group
                while isinstance(error, BaseExceptionGroup):
                    error = error.exceptions[0]
                raise error from None


async def _lines(loop: asyncio.AbstractEventLoop) -> AsyncIterator[str]:
    """Yield the lines of standard input, read by a thread that nothing waits for at the end; what is longer than
    `LARGEST_BODY` bytes comes in pieces.
    """
    lines: asyncio.Queue[bytes] = asyncio.Queue(1)

    def read() -> None:
        with os.fdopen(os.dup(0), "rb") as file, suppress(RuntimeError, CancelledError):
            line = b"first"
            while line:
                line = file.readline(LARGEST_BODY)
                # One line is ahead; then the sender waits. Where the loop ends, nothing takes the line.
                with closing(lines.put(line)) as taken:
                    asyncio.run_coroutine_threadsafe(taken, loop).result()

    threading.Thread(target=read, name="standard input", daemon=True).start()
    while line := await lines.get():
        yield line.decode("utf-8", "replace")


class Tools:
    """The tools of a daemon, as the package's server asks for them."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._tools = {tool.name: tool for tool in TOOLS if tool.operation.name in (*client.hello.ops, OPENINGS.name)}
        self._book = OpenBook()
        self._calls = 0
        """Calls without an answer."""

    def server(self) -> Server[Any]:
        """Return a server of the package for these tools."""
        from mcp import types
        from mcp.server.context import ServerRequestContext
        from mcp.server.lowlevel import Server
        from mcp.shared.exceptions import MCPError

        async def list_tools(
            context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
        ) -> types.ListToolsResult:
            return types.ListToolsResult(
                tools=[
                    types.Tool(
                        name=tool.name,
                        description=tool.help,
                        input_schema=tool.takes_schema,
                        output_schema=tool.gives_schema,
                        annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
                    )
                    for tool in self._tools.values()
                ]
            )

        async def call_tool(
            context: ServerRequestContext[Any], params: types.CallToolRequestParams
        ) -> types.CallToolResult:
            tool = self._tools.get(params.name)
            if tool is None:
                expected = ", ".join(self._tools)
                raise MCPError(types.INVALID_PARAMS, f"no tool {quoted(params.name)}: expected one of {expected}")
            try:
                data = await self._answer(tool, params.arguments or {})
            except (BadInput, RequestError, DaemonError) as error:
                return types.CallToolResult(content=[types.TextContent(text=told(error))], is_error=True)
            return types.CallToolResult(
                content=[types.TextContent(text=json.dumps(data, ensure_ascii=False))], structured_content=data
            )

        return Server(
            "desdaemon",
            version=__version__,
            title="desdaemon, an Othello engine",
            instructions=INSTRUCTIONS,
            on_list_tools=list_tools,
            on_call_tool=call_tool,
        )

    async def _answer(self, tool: Tool, args: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a call, which ends the daemon's search if it is cancelled. Raises `BadInput`,
        `RequestError` or `DaemonError`.
        """
        values = tool.read(args)
        if tool.operation is OPENINGS:
            return named_openings(values)
        if self._calls >= MOST_CALLS:
            raise RequestError("busy", f"{MOST_CALLS} calls have no answer yet: try later")
        self._calls += 1
        try:
            if tool.operation.name in _BY_THE_BOOK:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_BOOK_S):
                        await self._book.wait(self._client)
            return dict(await self._client.request(tool.operation.name, values))
        finally:
            self._calls -= 1
