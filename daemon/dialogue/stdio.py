"""A dialogue over standard input and output: its threads, its exit status, Ctrl-C.

A reader thread splits the input into lines as it arrives, so that a stop gets through during a search; the dialogue's
thread carries the lines out; the main thread only waits, because Python runs signal handlers there.
"""

from __future__ import annotations

import importlib
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from desdaemon.core.books.jobs import BookJob, BookJobs
from desdaemon.core.books.service import Books
from desdaemon.core.search.loader import Abandoned, EngineFailure, EngineSource
from desdaemon.core.settings import SessionSettings
from desdaemon.dialogue.dialects.dialect import InputLine, LineSource
from desdaemon.dialogue.dialects.protocols import spoken
from desdaemon.dialogue.dialects.text import PROMPT, UNUSABLE, TextDialect
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.system import logs, platform

from .interrupt import Interrupt
from .interrupt_listener import InputListener, TextListener
from .output import Counted, Descriptors, DialogueOutput, Prompting
from .session import Session

if TYPE_CHECKING:
    from .line_editor import LineEditor

INTERRUPTED = 130
"""Exit status after Ctrl-C."""

INTERNAL_ERROR = 70
"""Exit status after an internal error."""

STORING_S = 5.0
"""How long the end of a dialogue waits for the searches of a finished game that is being stored."""

_LOADED_LATER = ("numpy", "llvmlite.binding")
"""Libraries whose own libraries look at standard input while they are loaded."""

_CHUNK = 65_536
_SIGNAL_CHECK_S = 0.1


def load_before_reading() -> None:
    """Load what could not be loaded while the reader thread waits for input: nothing, but on Windows."""
    if platform.READING_BLOCKS_LOADING:
        for name in _LOADED_LATER:
            importlib.import_module(name)


class LineQueue:
    """The queue of lines between the reader thread and the dialogue's thread. All methods may be called from any
    thread.
    """

    def __init__(self) -> None:
        self._items: deque[InputLine] = deque()
        self._ready = threading.Condition()
        self._failed: InputLine | None = None

    def put(self, item: InputLine) -> None:
        """Add an item."""
        with self._ready:
            self._items.append(item)
            self._ready.notify()

    def fail(self, item: InputLine) -> None:
        """End the dialogue with this item, before all waiting lines."""
        with self._ready:
            self._failed = item
            self._ready.notify()

    def get(self) -> InputLine:
        """The next item; waits for it."""
        with self._ready:
            while not self._items and not self._failed:
                self._ready.wait()
            return self._failed or self._items.popleft()

    def peek(self) -> InputLine | None:
        """The next item if it is there already; it stays the next."""
        with self._ready:
            return self._failed or (self._items[0] if self._items else None)


def read_lines(descriptor: int, lines: LineQueue, listener: InputListener) -> None:
    """Read a descriptor to its end or to a quit; an unterminated last line counts as a line."""
    reader = _Reader(lines, listener)
    while True:
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            select.select([descriptor], [], [])
            continue
        except OSError:
            data = b""
        if not data or not reader.feed(data):
            break
    reader.close()


def read_typed(editor: LineEditor, prompted: threading.Event, lines: LineQueue, listener: InputListener) -> None:
    """Read lines typed at a terminal to its end or to a quit.

    The line editor is used while a prompt is shown; otherwise plain reads, so that a stop arrives during a search.
    """
    reader = _Reader(lines, listener)
    going_on = True
    while going_on:
        if prompted.wait(_SIGNAL_CHECK_S):
            prompted.clear()
            typed = editor.read()
            data = b"" if typed is None else f"{typed}\n".encode("utf-8", "surrogateescape")
        elif select.select([0], [], [], 0)[0]:
            data = os.read(0, _CHUNK)
        else:
            continue
        going_on = bool(data) and reader.feed(data)
    reader.close()


class _Reader:
    def __init__(self, lines: LineQueue, listener: InputListener) -> None:
        self._lines = lines
        self._listener = listener
        self._number = 0
        self._begun = b""
        self._dropped = 0
        self._left = False

    def feed(self, data: bytes) -> bool:
        """Add received bytes. Returns False after a quit."""
        *complete, rest = data.split(b"\n")
        for part in complete:
            self._line(self._begun + part)
            self._begun = b""
            if self._left:
                return False
        self._begun += rest
        if len(self._begun) > self._listener.longest:
            self._dropped += len(self._begun) - 1
            self._begun = self._begun[:1]
        return True

    def close(self) -> None:
        """No more input."""
        if self._begun and not self._left:
            self._line(self._begun)
        if not self._left:
            self._lines.put(InputLine(self._number + 1, None))
            self._listener.interrupt.close(leaving=False, absent=not self._listener.scripted)

    def _line(self, data: bytes) -> None:
        self._number += 1
        length, self._dropped = len(data) + self._dropped, 0
        if length > self._listener.longest:
            return self._refuse(f"a line of {length} bytes: expected at most {self._listener.longest}")
        if self._listener.strict:
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                return self._refuse(f"{quoted(data.decode('utf-8', 'backslashreplace'))}: expected UTF-8 text")
            text = text.removesuffix("\r")
            if any(c < " " and c != "\t" for c in text):
                return self._refuse(f"{quoted(text)}: expected text without control characters")
        else:
            text = data.decode("utf-8", "backslashreplace").replace("\t", " ")
            text = "".join(c for c in text if c >= " " and c != "\x7f")
        self._lines.put(InputLine(self._number, text, line=self._listener.read(text)))
        self._listener.interrupt.heard(self._number)
        self._left = self._listener.hear(self._number, text)
        protocol = self._listener.following(text)
        if protocol:
            self._listener = _listener(protocol, self._listener.interrupt)
        return None

    def _refuse(self, error: str) -> None:
        self._lines.put(InputLine(self._number, "", error))
        self._listener.interrupt.heard(self._number)


def _listener(protocol: str, interrupt: Interrupt) -> InputListener:
    return (TextListener if protocol == "text" else spoken(protocol).listener)(interrupt)


def guard_stdout() -> int:
    """Move standard output to a private descriptor for the answers; all other output to it goes to standard error."""
    try:
        answers = os.dup(1)
    except OSError:
        answers = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(2, 1)
    except OSError:
        # Standard error is closed: there is nowhere else to send it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return answers


def serve(
    settings: SessionSettings,
    engines: EngineSource,
    protocol: str = "text",
    beside: Callable[[Session, Books], Callable[[], None]] | None = None,
) -> int:
    """The dialogue on standard input and output in a protocol of `protocols.NAMES`; returns the exit status.

    ``beside`` opens sockets that share the session's engine and book, and returns a function that closes them.
    """
    editor = _editor() if protocol == "text" else None
    output: DialogueOutput = Descriptors(guard_stdout(), 2)
    books = Books(BookJobs())
    session = Session(settings, engines, books=books)
    lines = LineQueue()
    source: LineSource = lines
    if settings.ui_log_file:
        from .transcript import DialogueLog, LoggedOutput, LoggedSource

        transcript = DialogueLog(settings.ui_log_file)
        output, source = LoggedOutput(output, transcript), LoggedSource(lines, transcript)
    if not keep_files(session, output):
        return UNUSABLE
    prompting = Prompting(output, PROMPT) if editor else None
    output = prompting or output
    end_other = beside(session, books) if beside else None

    storing: list[BookJob] = []

    def converse(protocol: str, first: InputLine | None = None) -> int:
        logs.redirect(on_compiler if protocol == "nboard" else None)
        if protocol != "text":
            report_compiling(None)
            if first is None:
                session.open_book(on_note)
            store_finished_games(session, storing)
            return spoken(protocol).dialect(session, output).run(source, first)
        dialect = TextDialect(session, output)
        dialect.scripted = not os.isatty(0)

        def on_prompt() -> None:
            report_compiling(prompting.free if prompting else None)
            session.prepare(on_failure)
            dialect.open_book()

        status = dialect.run(source, on_prompt)
        return converse(dialect.successor, dialect.last) if dialect.successor else status

    def on_note(note: str) -> None:
        # NBoard reads standard error together with the answers.
        if protocol == "nboard":
            output.write(f"warning {note}\n")
            output.flush()
        else:
            output.error(f"WARNING: {note}")

    def on_compiler(text: str) -> None:
        # NBoard reads standard error together with the answers.
        output.write(f"status {text}\n")
        output.flush()

    def on_failure(message: str) -> None:
        lines.fail(InputLine(0, None, message, UNUSABLE))

    def dialogue() -> int:
        listener = _listener(protocol, session.interrupt)
        if editor and prompting:
            reading = partial(read_typed, editor, prompting.prompted, lines, listener)
        else:
            reading = partial(read_lines, 0, lines, listener)
        load_before_reading()
        threading.Thread(target=reading, name="reader", daemon=True).start()
        status = converse(protocol)
        if end_other:
            end_other()
        until = time.monotonic() + STORING_S
        for job in storing:
            job.wait(max(0.0, until - time.monotonic()))
        books.jobs.close()
        for note in books.close():
            on_note(note)
        return status

    restore = editor.restore if editor else _nothing
    return run_beside_signals(dialogue, session, engines, output, gently=protocol == "text", at_end=restore)


def _nothing() -> None:
    return


def report_compiling(free: Callable[[], bool] | None) -> None:
    """Say how the compiler's messages go with this dialogue (`notice.in_dialogue`)."""
    # Imported here: a start to the first prompt needs none of it.
    from desdaemon.engine.compiler import notice

    notice.in_dialogue(free)


def _editor() -> LineEditor | None:
    """The line editor, if the standard streams are a terminal and readline is installed; else None."""
    if not all(map(os.isatty, (0, 1, 2))):
        return None
    from desdaemon.protocol.commands.completion import candidates

    from .line_editor import LineEditor, history_file

    try:
        return LineEditor(PROMPT, history_file(), candidates)
    except ImportError:
        return None


def store_finished_games(session: Session, storing: list[BookJob]) -> None:
    """Apply the option `auto-store` in a protocol that has no command for it; the jobs are appended to ``storing``."""
    others = session.on_game_over

    def on_game_over() -> None:
        others()
        if session.settings.auto_store:
            from .book_lines import store_beside

            storing.extend(store_beside(session))

    session.on_game_over = on_game_over


def keep_files(session: Session, output: DialogueOutput) -> bool:
    """Open the log of searches and the file of games that the options name. Returns False for an invalid name.

    Raises `OSError` for a file that cannot be opened.
    """
    settings = session.settings
    if settings.search_log_file:
        from desdaemon.dialogue.search_log import SearchLog

        session.search_log = SearchLog(settings.search_log_file)
    if settings.game_file:
        from desdaemon.dialogue.commands.game_files import GameFile

        try:
            kept = GameFile(settings.game_file, session, lambda message: output.error(f"WARNING: {message}"))
        except BadInput as error:
            output.error(f"desdaemon: -{error}")
            return False
        session.on_game_over = kept.add
    return True


def solve(settings: SessionSettings, engines: EngineSource, path: str) -> int:
    """Solve a file of problems; returns the exit status."""
    from desdaemon.dialogue.commands.problems import solve_file

    output = Descriptors(guard_stdout(), 2)
    session = Session(settings, engines)
    if not keep_files(session, output):
        return UNUSABLE
    dialect = TextDialect(session, output)

    def work() -> int:
        try:
            solve_file(dialect, path)
        except Abandoned:
            return INTERRUPTED
        except (BadInput, EngineFailure) as error:
            output.error(f"desdaemon: {error}")
            return UNUSABLE
        except OSError as error:
            if error.filename is None:
                raise
            output.error(f"desdaemon: {error.filename}: {error.strerror}")
            return UNUSABLE
        return 0

    return run_beside_signals(work, session, engines, output)


def carry_out(settings: SessionSettings, engines: EngineSource, line: str) -> int:
    """Run one line of the text protocol; returns the exit status."""
    output = Counted(Descriptors(guard_stdout(), 2))
    session = Session(settings, engines)
    if not keep_files(session, output):
        return UNUSABLE
    dialect = TextDialect(session, output)

    def work() -> int:
        dialect.execute(line)
        return UNUSABLE if output.errors else 0

    return run_beside_signals(work, session, engines, output)


def run_beside_signals(
    work: Callable[[], int],
    session: Session,
    engines: EngineSource,
    output: DialogueOutput,
    *,
    gently: bool = True,
    at_end: Callable[[], None] = _nothing,
) -> int:
    """Run ``work`` on a thread of its own and return its exit status; Ctrl-C and a lost output end the process.

    ``gently``: a Ctrl-C during a search only ends that search, with its results so far. ``at_end`` is called before the
    process ends in any way.
    """
    outcome: list[int] = []
    done = threading.Event()

    def target() -> None:
        try:
            outcome.append(work())
        except OSError as error:
            # Nobody reads the answers any more, or they have nowhere to go.
            if not isinstance(error, BrokenPipeError):
                output.error(f"desdaemon: {error}")
            outcome.append(UNUSABLE)
        except Exception:
            import traceback

            output.error(traceback.format_exc().rstrip())
            outcome.append(INTERNAL_ERROR)
        finally:
            done.set()

    thread = threading.Thread(target=target, name="dialogue", daemon=True)
    while True:
        try:
            # Inside the `try`: the thread may have work to interrupt before `start` returns.
            if thread.ident is None:
                thread.start()
            # The system may hand a signal to any thread, but only this one heeds it, and only when it is not asleep.
            while not done.wait(_SIGNAL_CHECK_S):
                pass
            break
        except KeyboardInterrupt:
            if not (gently and session.interrupt.stop_command()):
                session.interrupt.stop_all()
                at_end()
                leave(INTERRUPTED)
            session.settings.mode = 3
    at_end()
    status = outcome[0] if outcome else UNUSABLE
    if engines.busy:
        # An interpreter that ends while a thread is inside the compiler aborts; this leaves without unwinding.
        leave(status)
    return status


def leave(status: int) -> NoReturn:
    """End the process at once."""
    logs.flush()
    os._exit(status)
