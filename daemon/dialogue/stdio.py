"""A dialogue over standard input and output: its threads, exit status, Ctrl-C.

A reader thread splits the input into lines as they arrive, so that a stop takes effect during a search; the dialogue's
thread carries lines out; the main thread only waits, because Python runs signal handlers there.
"""

from __future__ import annotations

import importlib
import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from desdaemon.core.books.jobs import BookJob, BookJobs
from desdaemon.core.books.service import Books
from desdaemon.core.search.loader import EngineSource, build_engine
from desdaemon.core.settings import SessionSettings
from desdaemon.protocol.errors import BadInput, lacking
from desdaemon.protocol.system import logs, platform
from desdaemon.protocol.system.interpreter import SIGNALS_S

from .dialects import BY_NAME, spoken
from .dialects.text import PROMPT, UNUSABLE, TextDialect
from .session import Session
from .streams import (
    DescriptorOutput,
    DialogueOutput,
    InputLine,
    InputListener,
    LineQueue,
    LineReader,
    TextListener,
    read_lines,
)

if TYPE_CHECKING:
    from .terminal import LineEditor, PromptingOutput

INTERRUPTED = 130
"""Exit status after Ctrl-C."""

INTERNAL_ERROR = 70
"""Exit status after an internal error."""

STORING_S = 5.0
"""Seconds that the end of a dialogue waits for the jobs that store finished games."""

_LOADED_LATER = ("numpy", "llvmlite.binding")
"""Libraries that look at standard input while they are loaded."""


def serve(
    settings: SessionSettings,
    engines: EngineSource,
    protocol: str = "text",
    beside: Callable[[Session, Books], Callable[[], None]] | None = None,
) -> int:
    """Hold a dialogue on standard input and output in ``protocol``. Returns the exit status; raises `OSError` if a file
    of the options cannot be opened. Ctrl-C may end the process instead, see `run_beside_signals`.

    ``beside`` opens sockets that share the session's engine and book, and returns a function that closes them.
    """
    editor = _editor() if protocol == "text" else None
    attended = os.isatty(0) and os.isatty(1)
    output: DialogueOutput = DescriptorOutput(guard_stdout(), 2)
    books = Books(BookJobs())
    session = Session(settings, engines, books=books)
    lines = LineQueue()
    if settings.ui_log_file:
        from .log_files import LogFile, LoggedOutput

        log = LogFile("ui-log-file", settings.ui_log_file, output.error)
        output = LoggedOutput(output, log)
        lines.on_taken = lambda line: log.write(line.text or line.error, "< ")
    if not open_files(session, output):
        return UNUSABLE
    dialogue = _StandardDialogue(session, books, output, lines, protocol, editor, attended)
    if beside:
        dialogue.close_beside = beside(session, books)
    gently, restore = protocol == "text", editor.restore if editor else _nothing
    return run_beside_signals(dialogue.run, session, dialogue.output, gently=gently, at_end=restore)


class _StandardDialogue:
    """A dialogue on the standard streams. `run` has a thread of its own."""

    def __init__(
        self,
        session: Session,
        books: Books,
        output: DialogueOutput,
        lines: LineQueue,
        protocol: str,
        editor: LineEditor | None,
        attended: bool,
    ) -> None:
        """``protocol`` is the first one; a line of the text protocol may change it. ``editor``, if there is one, shows
        the prompt and reads the lines. ``attended`` says that both streams are a terminal.
        """
        self.output = output
        self.close_beside: Callable[[], None] = _nothing
        self._session = session
        self._books = books
        self._lines = lines
        self._protocol = protocol
        self._editor = editor
        self._attended = attended
        self._prompting: PromptingOutput | None = None
        """The output, if a line editor shows the prompt; else None."""
        self._storing: list[BookJob] = []
        """Jobs that store finished games."""
        if editor:
            from .terminal import PromptingOutput

            self.output = self._prompting = PromptingOutput(output, PROMPT, lines.peek)

    def run(self) -> int:
        """Hold the dialogue, then close the sockets beside it, the jobs and the book. Returns the exit status."""
        load_before_reading()
        threading.Thread(target=self._read, name="reader", daemon=True).start()
        status = self._converse(self._protocol)
        self.close_beside()
        until = time.perf_counter() + STORING_S
        for job in self._storing:
            job.wait(max(0.0, until - time.perf_counter()))
        self._books.jobs.close()
        for note in self._books.close():
            self._on_note(note)
        return status

    def _read(self) -> None:
        """Read lines, on the reader's thread."""
        reader = LineReader(self._lines, self._listener(self._protocol), self._listener)
        if self._editor and self._prompting:
            from .terminal import read_typed

            read_typed(self._editor, self._prompting, reader)
        else:
            read_lines(0, reader)

    def _listener(self, protocol: str) -> InputListener:
        return (TextListener if protocol == "text" else spoken(protocol).listener)(self._session.interrupt)

    def _converse(self, protocol: str, first: InputLine | None = None) -> int:
        """Answer lines in a protocol, ``first`` before the others. Returns the exit status."""
        session = self._session
        word = BY_NAME[protocol].status
        logs.redirect((lambda text: self._answer(word, text)) if word else None)
        if protocol != "text":
            report_compiling(None)
            if first is None:
                session.open_book(self._on_note)
            self._store_finished_games()
            return spoken(protocol).dialect(session, self.output).run(self._lines, first)
        dialect = TextDialect(session, self.output)
        dialect.scripted = not os.isatty(0)
        dialect.attended = self._attended
        if self._prompting:
            dialect.paged = self._prompting.paged

        def on_prompt() -> None:
            report_compiling(self._prompting.free if self._prompting else None)
            session.prepare(self._on_failure)
            dialect.open_book()

        status = dialect.run(self._lines, on_prompt)
        return self._converse(dialect.successor, dialect.last) if dialect.successor else status

    def _store_finished_games(self) -> None:
        """Have each finished game stored in the book while `auto-store` is on; the text dialect does that itself."""
        session, others = self._session, self._session.on_game_over

        def on_game_over() -> None:
            others()
            if session.settings.auto_store:
                from .commands.book import store_game, usable_book

                books = usable_book(session)
                if books is not None:
                    self._storing.append(store_game(session, books))

        session.on_game_over = on_game_over

    def _on_note(self, note: str) -> None:
        warning = BY_NAME[self._protocol].warning
        if warning:
            self._answer(warning, note)
        else:
            self.output.error(f"WARNING: {note}")

    def _answer(self, word: str, text: str) -> None:
        self.output.write(f"{word} {text}\n")
        self.output.flush()

    def _on_failure(self, message: str) -> None:
        self._lines.fail(InputLine(0, None, message, UNUSABLE))


def _nothing() -> None:
    return


def _editor() -> LineEditor | None:
    """Return a line editor if the standard streams are a terminal and readline is installed; else None."""
    if not all(map(os.isatty, (0, 1, 2))):
        return None
    from desdaemon.protocol.commands.completion import candidates

    from .terminal import LineEditor, history_file

    try:
        return LineEditor(PROMPT, history_file(), candidates)
    except ImportError:
        return None


def guard_stdout() -> int:
    """Return a private descriptor of standard output, for answers alone. All other output to standard output goes to
    standard error from now on. Output to a closed stream is dropped.
    """
    try:
        answers = os.dup(1)
    except OSError:
        answers = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(2, 1)
    except OSError:
        # Standard error is closed: output that is no answer is dropped.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return answers


def load_before_reading() -> None:
    """On Windows, load libraries that cannot be loaded any more while the reader thread waits for input."""
    if platform.READING_BLOCKS_LOADING:
        for name in _LOADED_LATER:
            importlib.import_module(name)


def report_compiling(free: Callable[[], bool] | None) -> None:
    """Let the compiler report its progress in this dialogue. ``free`` returns whether the cursor's line is free for
    that; None without a line editor. See `notice.in_dialogue`.
    """
    # Imported here: the first prompt does not need it.
    from desdaemon.engine.compiler import notice

    notice.in_dialogue(free)


def open_files(session: Session, output: DialogueOutput) -> bool:
    """Make the session write the files of the options `search-log-file` and `game-file`. Returns False, after an error
    message, if the name of the game file has no known format.

    Raises `OSError` if the search log cannot be opened; the game file is opened when a game is over.
    """
    settings = session.settings
    if settings.search_log_file:
        from .log_files import SearchLog

        session.search_log = SearchLog(settings.search_log_file, output.error)
    if settings.game_file:
        from .commands.game_files import GameFile

        try:
            file = GameFile(settings.game_file, session, lambda message: output.error(f"WARNING: {message}"))
        except BadInput as error:
            output.error(f"desdaemon: -{error}")
            return False
        session.on_game_over = file.add
    return True


def carry_out(settings: SessionSettings, line: str) -> int:
    """Carry out one line of the text protocol. Returns the exit status: 0, `UNUSABLE` if the line gave a warning, or
    another status of `run_beside_signals`.
    """

    def work(dialect: TextDialect) -> int:
        dialect.execute(line)
        return UNUSABLE if dialect.warned else 0

    return run_without_input(settings, work)


def run_without_input(settings: SessionSettings, work: Callable[[TextDialect], int]) -> int:
    """Do ``work`` in place of a dialogue. Returns the exit status: `UNUSABLE` if a file of the options cannot be used,
    or that of `run_beside_signals`.
    """
    output = DescriptorOutput(guard_stdout(), 2)
    session = Session(settings, EngineSource(build_engine))
    if not open_files(session, output):
        return UNUSABLE
    dialect = TextDialect(session, output)
    return run_beside_signals(lambda: work(dialect), session, output)


def run_beside_signals(
    work: Callable[[], int],
    session: Session,
    output: DialogueOutput,
    *,
    gently: bool = True,
    at_end: Callable[[], None] = _nothing,
) -> int:
    """Do ``work`` on a thread of its own. Returns the exit status that ``work`` returns, `UNUSABLE` after an `OSError`
    such as a lost output, `INTERNAL_ERROR` after another exception.

    Ctrl-C ends the process with `INTERRUPTED`. With ``gently`` the first one during a command only stops its search,
    which returns the results so far; the engine then plays neither side. ``at_end`` is called before this returns or
    the process ends.
    """
    outcome: list[int] = []
    done = threading.Event()

    def target() -> None:
        try:
            outcome.append(work())
        except OSError as error:
            # Nobody reads the answers any more, or they cannot be written.
            if not platform.reader_left(error):
                reason = lacking(error) or f"{error.filename or 'standard output'}: {error.strerror}"
                output.error(f"desdaemon: {reason}")
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
            # Within the `try`, because Ctrl-C may come before `start` returns.
            if thread.ident is None:
                thread.start()
            while not done.wait(SIGNALS_S):
                pass
            break
        except KeyboardInterrupt:
            if not (gently and session.interrupt.stop_command()):
                session.interrupt.stop_all()
                at_end()
                leave(INTERRUPTED)
            session.settings.mode = 3
    at_end()
    return outcome[0] if outcome else UNUSABLE


def leave(status: int) -> NoReturn:
    """End the process at once with the exit status ``status``; only the log is written out before."""
    logs.flush()
    os._exit(status)
