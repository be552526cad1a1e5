"""`desdaemon shell`: the text protocol of a daemon, on this machine or another, with history and completion.

Each line is sent as the operation `text`: answers go to standard output, error messages to standard error; after an
error the exit status is 1. Their control characters are escaped, because the daemon may be a stranger's. An interrupt
sends `stop`, a second one cancels the command. With ``--json`` a line is an operation and a JSON map of arguments,
every reply is a line of JSON, and an interrupt cancels the request.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from desdaemon.protocol.commands.completion import candidates
from desdaemon.protocol.commands.text import read_line
from desdaemon.protocol.errors import BadInput, escaped, escaped_lines, in_one_line, quoted
from desdaemon.protocol.system import folders, logs, platform
from desdaemon.protocol.system.terminal import ElapsedTime, ProgressLine, paged

from .arguments import Parser, real
from .blocking import Client, Handle
from .errors import DaemonError, told
from .results import Data

PROMPT = "desdaemon> "
_LONGEST_HISTORY = 2_000


def command_line() -> Parser:
    """Return the parser of the command line."""
    parser = Parser("desdaemon shell", description="A prompt for a daemon: the text protocol, or operations as JSON.")
    parser.add_argument(
        "endpoint",
        nargs="?",
        metavar="ENDPOINT",
        help="such as tcp://host:6464; without it the daemon of this user on this machine",
    )
    parser.add_argument("--key", metavar="FILE", help="this client's key, made by `desdaemon keys new`")
    parser.add_argument("--server-key", metavar="KEY", help="the daemon's public key, if the key file lacks it")
    parser.add_argument(
        "--timeout", type=real(0.01, 10**6), default=5.0, metavar="S", help="seconds to wait for it (default 5)"
    )
    parser.add_argument("-c", action="append", dest="lines", metavar="LINE", help="carry out this line; repeatable")
    parser.add_argument("--json", action="store_true", help='lines are operations: analyze {"moves": "f5", "level": 9}')
    return parser


def main(arguments: list[str]) -> int:
    """Run the shell. Returns 0, or 1 if no daemon was reached or a line failed; a bad command line ends it with status
    2.
    """
    named = command_line().parse_args(arguments)
    try:
        with ElapsedTime("connecting"):
            connected = Client.connect(
                named.endpoint,
                key=named.key,
                server_key=named.server_key,
                timeout_s=named.timeout,
                patience_s=named.timeout,
            )
        with connected as client:
            shell = Shell(client, named.json)
            return shell.run(iter(named.lines) if named.lines else shell.typed_lines())
    except DaemonError as error:
        logs.message(error.message, "desdaemon shell", level="error")
        return 1


class Shell:
    """Carries out lines, one after another: text commands or, if ``structured``, operations with arguments as JSON."""

    def __init__(self, client: Client, structured: bool) -> None:
        self.client = client
        self._execute: Callable[[str], bool] = self._operation if structured else self._text
        self._structured = structured
        self._connections = client.connections

    def run(self, lines: Iterator[str]) -> int:
        """Carry out lines to the end, also after a failure. Without ``--json`` the line `quit` ends the run earlier.
        Returns 1 if any line failed, else 0.
        """
        failed = False
        for line in lines:
            if not self._structured and read_line(line).name == "quit":
                break
            if line.strip():
                failed = not self._carry_out(line) or failed
        return int(failed)

    def _carry_out(self, line: str) -> bool:
        if not self.client.connected:
            logs.echo("The daemon is away: waiting for it.")
        try:
            done = self._execute(line)
        except (DaemonError, BadInput) as error:
            logs.echo(escaped_lines(told(error)))
            done = False
        if self.client.connections != self._connections:
            self._connections = self.client.connections
            logs.echo("Reconnected to the daemon: board, game and options are reset.")
        sys.stdout.flush()
        return done

    def _text(self, line: str) -> bool:
        shown = _Shown(line)
        helps = read_line(line).name == "help"
        partials = "text.partials" in self.client.hello.features and not helps
        args = {"line": line, "partials": True} if partials else {"line": line}
        handle = None
        try:
            with _interrupts_later():
                handle = self.client.start("text", args)
            shown.follow(handle)
        except KeyboardInterrupt:
            if handle is None:
                raise
            try:
                self.client.start("text", {"line": "stop"})
                shown.follow(handle)
            except KeyboardInterrupt:
                handle.cancel()
        data = handle.result()
        text = str(data.get("out") or "")
        if not (helps and paged(escaped_lines(text))):
            shown.write(0, text if text.endswith("\n") or not text else text + "\n")
        logs.echo(escaped_lines(str(data.get("err") or "")))
        return not data.get("err")

    def _operation(self, line: str) -> bool:
        request = _operation_of(line)
        handle = None
        try:
            try:
                with _interrupts_later():
                    handle = self.client.start(*request)
                with ElapsedTime(in_one_line(line)) as elapsed:
                    for partial in handle:
                        elapsed.pause()
                        self._tell("partial", partial)
            except KeyboardInterrupt:
                if handle is None:
                    raise
                handle.cancel(keep=True)
            self._tell("final", handle.result())
        except DaemonError as error:
            fields = {"code": error.code, "message": error.message}
            self._tell("error", {**fields, "field": error.field} if error.field else fields)
            return False
        finally:
            for warning in handle.warnings if handle else ():
                logs.echo(escaped_lines(warning))
        return True

    def _tell(self, kind: str, data: Data) -> None:
        sys.stdout.write(json.dumps({"type": kind, "error" if kind == "error" else "data": data}) + "\n")
        sys.stdout.flush()

    def typed_lines(self) -> Iterator[str]:
        """Yield the lines of standard input; at a terminal with a prompt, history and completion."""
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            yield from (line.removeprefix("\ufeff").rstrip("\n") for line in sys.stdin)
            return
        history = Path(folders.state()) / "shell_history"
        try:
            readline = platform.line_editing()
        except ImportError:
            # The console has line editing of its own.
            readline = None
        first_state = None
        if readline is not None:
            readline.set_history_length(_LONGEST_HISTORY)
            with suppress(OSError):
                history.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                history.touch(mode=0o600)
                readline.read_history_file(history)
            readline.set_completer_delims(" ")
            readline.set_completer(lambda text, at: _nth(self.candidates(readline.get_line_buffer(), text), at))
            platform.complete_with_tab(readline)
            first_state = platform.terminal_state(0)
            platform.hide_control_keys(0)
        try:
            yield from self._prompted(readline, history)
        finally:
            if readline is not None:
                platform.restore_terminal(0, first_state)

    def _prompted(self, readline: Any, history: Path) -> Iterator[str]:
        hello = self.client.hello
        sys.stdout.write(escaped(f"{hello.name} {hello.version}, role {hello.role}") + "\n")
        while True:
            try:
                yield input(PROMPT)
            except KeyboardInterrupt:
                sys.stdout.write("\n")
            except EOFError:
                sys.stdout.write("\n")
                return
            finally:
                if readline is not None:
                    with suppress(OSError):
                        readline.write_history_file(history)

    def candidates(self, line: str, word: str) -> list[str]:
        """Return the completions of ``word``, the last word of ``line``: commands, or a command's arguments. With
        ``--json`` only the first word has completions, the operations.
        """
        if not self._structured:
            return candidates(line, word)
        first = not line[: len(line) - len(word)].strip()
        return sorted(name for name in self.client.hello.ops if first and name.startswith(word.lower()))


class _Shown:
    """Prints a command's output as its partials arrive, each part once. Pass the final's output to `write` too, because
    partials may be lost.
    """

    def __init__(self, line: str) -> None:
        """``line`` is the command."""
        self._line = in_one_line(line)
        self._length = 0

    def write(self, start: int, text: str) -> None:
        """Write what is new of ``text``, which begins at character ``start`` of the output. Writes nothing if
        characters before ``start`` have not been written.
        """
        if start <= self._length < start + len(text):
            sys.stdout.write(escaped_lines(text[self._length - start :]))
            sys.stdout.flush()
            self._length = start + len(text)

    def follow(self, handle: Handle[Data, Data]) -> None:
        """Write partials until there are no more; at a terminal with the progress in a line of its own, or with the
        seconds for as long as there is none.
        """
        progress = ProgressLine()
        try:
            with ExitStack() as counting:
                elapsed = counting.enter_context(ElapsedTime(self._line))
                for partial in handle:
                    elapsed.pause()
                    at, out = partial.get("at"), partial.get("out")
                    if not isinstance(at, int) or not isinstance(out, str):
                        continue
                    if not out.endswith("\n"):
                        # A line of the command's own, or the progress, stands where the seconds would.
                        counting.close()
                    progress.show(escaped(str(partial.get("progress", ""))))
                    self.write(at, out)
        finally:
            progress.clear()


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """A context manager: an interrupt in its block counts at the block's end.

    A request is sent by another thread. Whoever is interrupted meanwhile would not know its handle, and could not stop
    what the daemon has begun.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    interrupts: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _frame: interrupts.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if interrupts:
        handler(interrupts[0], None)


def _nth(words: list[str], index: int) -> str | None:
    return words[index] + " " if index < len(words) else None


def _operation_of(line: str) -> tuple[str, dict[str, Any]]:
    """Parse ``analyze {"level": 3}`` into the name and the map, empty if there is none. Raises `BadInput` for arguments
    that are no JSON map.
    """
    op, _, rest = line.strip().partition(" ")
    try:
        args = json.loads(rest) if rest.strip() else {}
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{quoted(rest)}: {error}: expected a JSON map of arguments after {quoted(op)}") from None
    if not isinstance(args, dict):
        raise BadInput(f"{quoted(rest)}: expected a JSON map of arguments after {quoted(op)}")
    return op, args
