"""Text sessions: lines of the text protocol from clients, with a board, a game and options for each, limited by role.

The lines of one client run one after the other (`ClientLines` has their order), those of different clients in parallel.
"""

from __future__ import annotations

import copy
import re
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from desdaemon.core.paths import Hidden, confined
from desdaemon.core.search.engine_leases import LeasedEngines
from desdaemon.core.search.workers import EnginePool, step_back
from desdaemon.core.settings import SessionSettings
from desdaemon.core.threads import ThreadPool
from desdaemon.dialogue.dialects.text import TextDialect
from desdaemon.dialogue.session import Session
from desdaemon.protocol.commands.book import ADMIN, EDITOR, READER, find_book_command
from desdaemon.protocol.commands.options import find_option
from desdaemon.protocol.commands.text import find_command, split_line
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.wire.messages import RequestError, allows

from .client_lines import ClientLine, ClientLines

if TYPE_CHECKING:
    from desdaemon.core.books.service import Books
    from desdaemon.core.metrics import ServerMetrics
    from desdaemon.core.requests.request import ClientRecord, PendingRequest
    from desdaemon.core.search.scheduler import Scheduler

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f]")

LARGEST_ANSWER = 1 << 20
"""Characters; games that the engine plays with itself end here."""

MOST_THREADS = 256
"""So many clients' lines that search are carried out at a time; to wait for a turn of the search counts."""

_AT_ONCE = 4
"""Of all other lines: only one thread can run Python, and the more want to, the longer the sockets' loop waits."""

_SEARCHING = frozenset(("go", "hint", "analyze", "eval", "solve", "wtest", "bench", "book"))
_LONG = frozenset(("seek", "perft", "count", "estimate", "mobility"))

_COMMANDS = {
    READER: (
        "init new setboard play undo redo go hint stop force eval moves analyze hmirror vmirror rotate symmetry "
        "version options help opening ouverture resources quit"
    ),
    ADMIN: "load save solve wtest seek perft count estimate mobility bench",
}
COMMAND_ROLES = {name: role for role, names in _COMMANDS.items() for name in names.split()}
"""The least role for a command of the text protocol; one that is not here cannot be given remotely."""

FILE_COMMANDS = frozenset(("load", "save", "solve", "wtest"))
"""Those whose argument is a file."""

NEVER = frozenset(
    ("base", "script-to-obf", "select-hard", "nboard", "protocol_version", "xboard", "engine-protocol", "book")
)
"""What cannot be given remotely: work on many files at once, and other protocols; `book` goes by its commands."""

SHARED_OPTIONS = frozenset(
    ("hash-table-size", "book-tasks", "book-memory", "cluster", "cluster-tls", "cluster-threads")
)
"""Options of the engine's memory and of who searches for book jobs, which are everybody's: setting them changes
nothing."""

OPTION_ROLES = {"auto-store": EDITOR}
"""The least role for an option that does more than change one's own dialogue."""


class ReplyText:
    """Collects the output of a command: ``out`` and ``err``, and both in order in ``all``."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.err: list[str] = []
        self.all: list[str] = []
        self.size = 0

    def write(self, text: str) -> None:
        """See `output.Output`."""
        self.out.append(text)
        self.all.append(text)
        self.size += len(text)

    def error(self, line: str) -> None:
        """See `output.Output`."""
        self.err.append(line + "\n")
        self.all.append(line + "\n")

    def flush(self) -> None:
        """See `output.Output`."""

    def take(self) -> Printed:
        """Return and remove the output collected so far."""
        printed = Printed("".join(self.out), "".join(self.err), "".join(self.all))
        for kept in (self.out, self.err, self.all):
            kept.clear()
        self.size = 0
        return printed


class Printed(NamedTuple):
    """The output of a line of the text protocol: answers, error messages, and both in order."""

    out: str
    err: str
    all: str


class _TextSession:
    """A client's text session: dialogue, and the lines that wait or run; the receiver of a line is called with its
    `Printed`.
    """

    def __init__(self, dialect: TextDialect, transcript: ReplyText) -> None:
        self.dialect = dialect
        self.transcript = transcript
        self.lines = ClientLines()


class TextSessions:
    """The text sessions of all remote clients, and the thread pools that run their lines. Any thread."""

    def __init__(
        self,
        settings: SessionSettings,
        engines: EnginePool,
        scheduler: Scheduler,
        books: Books,
        health: ServerMetrics,
        data_folder: str,
        hidden: Hidden,
    ) -> None:
        """``settings`` are those of a new client; ``hidden`` removes the daemon's own folders from the output for
        remote ones.
        """
        self._settings = settings
        self._engines = engines
        self._scheduler = scheduler
        self._books = books
        self._health = health
        self._data_folder = data_folder
        self._hidden = hidden
        self._lock = threading.Lock()
        self._searching = ThreadPool(MOST_THREADS, "text", step_back)
        self._long = ThreadPool(1, "text", step_back)
        self._short = ThreadPool(_AT_ONCE, "text", step_back)

    def request(self, request: PendingRequest) -> None:
        """The operation `text`, and bare lines, whose ids are negative. Raises `RequestError`."""
        line = self.checked(request.client, request.values["line"])
        bare = isinstance(request.id, int) and request.id < 0

        def done(printed: Printed) -> None:
            request.final({"all": printed.all} if bare else {"out": printed.out, "err": printed.err})

        request.outlives = _is_about_the_book(line)
        request.attach(self.put(request.client, line, done))

    def settings_of(self, client: ClientRecord) -> SessionSettings:
        """The options of a client's session."""
        with self._lock:
            return self._session_of(client).dialect.session.settings

    def _session_of(self, client: ClientRecord) -> _TextSession:
        session: _TextSession | None = client.texts
        if session is None:
            session = client.texts = self._new_session(client)
        return session

    def checked(self, client: ClientRecord, text: str) -> str:
        """Check a line against the client's role and confine its files; raises `RequestError`."""
        text = text.rstrip("\r\n")
        if _CONTROL.search(text):
            raise RequestError("bad_request", f"{quoted(text)}: expected one line without control characters", "line")
        if not client.remote:
            return text
        line = checked_line(text, client.role, self._data_folder)
        word, rest = split_line(line)
        command = find_command(word)
        if command is not None and command.name == "save" and rest:
            try:
                self._books.target(Path(rest))
            except BadInput as error:
                raise RequestError("forbidden", str(error), "line") from None
        return line

    def put(self, client: ClientRecord, line: str, done: Callable[[Printed], None]) -> Callable[[], None]:
        """Queue a line; ``done`` is called with its output. Returns a function that cancels the line.

        ``done`` is not called for a line that was cancelled before it started.
        """
        with self._lock:
            session = self._session_of(client)
            item, begins = session.lines.put(line, outlives=_is_about_the_book(line), receiver=done)
        command = find_command(split_line(line)[0])
        if command is not None and command.name == "stop":
            session.dialect.session.interrupt.stop(item.number)
        if begins:
            self._begin_next(client, session)

        def cancel() -> None:
            with self._lock:
                session.lines.cancel(item)
            session.dialect.session.interrupt.stop(item.number + 1, only=item.number, abandon=True)

        return cancel

    def _new_session(self, client: ClientRecord) -> _TextSession:
        transcript = ReplyText()
        settings = copy.deepcopy(self._settings)
        session = Session(
            settings, LeasedEngines(self._engines, self._scheduler, client.account, client.number), books=self._books
        )
        session.name, session.remote = client.name, client.remote
        return _TextSession(TextDialect(session, transcript), transcript)

    def _begin_next(self, client: ClientRecord, session: _TextSession) -> None:
        """Give the next line of a session to the thread pool for its kind."""
        with self._lock:
            item = session.lines.next()
        if item is not None:
            self._pool(item.text).submit(partial(self._carry_out, client, session, item))

    def _pool(self, line: str) -> ThreadPool:
        command = find_command(split_line(line)[0])
        name = command.name if command is not None else ""
        return self._searching if name in _SEARCHING else self._long if name in _LONG else self._short

    def _carry_out(self, client: ClientRecord, session: _TextSession, item: ClientLine) -> None:
        dialect, state = session.dialect, session.dialect.session
        if not allows(client.role, EDITOR):
            # Whoever set it, and whatever the client was allowed then.
            state.settings.auto_store = False
        state.interrupt.begin(item.number)
        if not item.cancelled:
            self._guarded(session, item, lambda: dialect.execute(item.text))
        if state.own_turn or state.game.position.over:
            self._searching.submit(partial(self._play_on, client, session, item))
        else:
            self._finish(client, session, item)

    def _play_on(self, client: ClientRecord, session: _TextSession, item: ClientLine) -> None:
        self._guarded(session, item, lambda: self._settle(session, item))
        self._finish(client, session, item)

    def _guarded(self, session: _TextSession, item: ClientLine, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception:
            dialect = session.dialect
            self._health.mistake("text", session.lines.story.text(), dialect.session.interrupt.story())
            dialect.warn(f"{quoted(item.text)}: an internal error")

    def _finish(self, client: ClientRecord, session: _TextSession, item: ClientLine) -> None:
        dialect = session.dialect
        if dialect.successor:
            dialect.successor = ""
            dialect.warn(f"{quoted(item.text)}: no other protocol can be spoken here")
        printed = session.transcript.take()
        if dialect.leaving is not None:
            fresh = self._new_session(client)
            session.dialect, session.transcript = fresh.dialect, fresh.transcript
        with self._lock:
            session.lines.ended()
        item.receiver(Printed(*map(self._hidden.removed, printed)) if client.remote else printed)
        self._begin_next(client, session)

    def _settle(self, session: _TextSession, item: ClientLine) -> None:
        """Let the engine make the moves that follow from the mode, as long as no other line waits."""
        dialect = session.dialect
        while dialect.leaving is None and not item.cancelled and dialect.step(bool(session.lines), ending=False):
            if session.transcript.size > LARGEST_ANSWER:
                dialect.session.settings.mode = 3
                dialect.warn(f"more than {LARGEST_ANSWER} characters: the engine plays no further by itself")

    def forget(self, client: ClientRecord) -> None:
        """Close the session of a client."""
        session, client.texts = client.texts, None
        if session is None:
            return
        with self._lock:
            stops = session.lines.forget()
        if stops:
            session.dialect.session.interrupt.stop_all()

    def close(self) -> None:
        """Stop running lines and start no others."""
        for pool in (self._searching, self._long, self._short):
            pool.close()


def _is_about_the_book(line: str) -> bool:
    command = find_command(split_line(line)[0])
    return command is not None and command.name == "book"


def checked_line(line: str, role: str, data_folder: str) -> str:
    """Check a line for a role and confine its files; raises `RequestError`.

    A line that is no command passes: the dialogue reports it.
    """
    word, rest = split_line(line)
    option = find_option(word.lstrip("-"))
    if option is not None and rest:
        if option.kind == "path":
            raise RequestError("forbidden", f"{option.name}: cannot be set remotely", "line")
        if option.name in SHARED_OPTIONS:
            return "# " + line
        least = OPTION_ROLES.get(option.name, READER)
        if not allows(role, least):
            raise RequestError("forbidden", f"{option.name} takes the role {least}, not {role}", "line")
    command = find_command(word)
    if command is None:
        return line
    needed = COMMAND_ROLES.get(command.name)
    if command.name == "book":
        found = find_book_command(rest.split(" ", 1)[0].lower())
        needed = found.role if found else READER
    if needed is None:
        raise RequestError("forbidden", f"{command.name}: cannot be asked for remotely", "line")
    if not allows(role, needed):
        raise RequestError("forbidden", f"{command.name} takes the role {needed}, not {role}", "line")
    if command.name in FILE_COMMANDS and rest:
        try:
            file, here = confined(rest, data_folder), Path.cwd()
            return f"{word} {file.relative_to(here) if file.is_relative_to(here) else file}"
        except BadInput as error:
            raise RequestError("forbidden", str(error), "line") from None
    return line
