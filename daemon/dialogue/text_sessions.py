"""Text sessions: each remote client has a game and options, and sends lines that its role allows.

Lines of one client run one after another, those of different clients in parallel. `ClientLines` decides; `TextSessions`
has the lock and the threads, and stops the searches of cancelled lines.
"""

from __future__ import annotations

import copy
import re
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from desdaemon.core.paths import confined
from desdaemon.core.search.shared_engines import SharedEngines
from desdaemon.core.search.workers import HelperPool
from desdaemon.core.settings import SessionSettings
from desdaemon.core.threads import ThreadPool, step_back
from desdaemon.protocol.commands.options import file_name
from desdaemon.protocol.commands.text import TextLine, read_line
from desdaemon.protocol.errors import BadInput, lacking, quoted
from desdaemon.protocol.rows import COUNTS, EDITOR, SEARCHES, SHORT
from desdaemon.protocol.wire.messages import RequestError, allows

from .dialects.text import TextDialect
from .session import Session

if TYPE_CHECKING:
    from desdaemon.core.books.service import Books
    from desdaemon.core.metrics import ServerMetrics
    from desdaemon.core.requests.request import ClientRecord, PendingRequest

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f]")
_NOTHING = re.compile(r"(?!)")

LARGEST_ANSWER = 1 << 20
"""Characters of a line's output beyond which the engine makes no more moves by itself."""

MOST_THREADS = 256
"""Most lines that search at a time, those that wait for search threads included."""

_AT_ONCE = 4
"""Most lines that run at a time among those that neither search nor count; of those that count, one runs at a time.
Only one thread runs Python at a time: with more lines, the sockets' loop would wait longer.
"""


class ReplyText:
    """Collects the output of a line: ``out``, ``err``, and in ``all`` both in order."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.err: list[str] = []
        self.all: list[str] = []
        self.size = 0
        self.follower: Callable[[str, str], None] | None = None
        """Called at each flush with the new part of ``out`` and "", or with "" and a line of progress; None if nobody
        wants them.
        """
        self._followed = 0

    def write(self, text: str) -> None:
        self.out.append(text)
        self.all.append(text)
        self.size += len(text)

    def error(self, line: str) -> None:
        self.err.append(line + "\n")
        self.all.append(line + "\n")

    def flush(self) -> None:
        if self.follower is not None and self._followed < len(self.out):
            self.follower("".join(self.out[self._followed :]), "")
            self._followed = len(self.out)

    def show_progress(self, text: str) -> None:
        """Call ``follower``, if there is one, with a line of progress; do nothing for ""."""
        if self.follower is not None and text:
            self.follower("", text)

    def take(self) -> Printed:
        """Return the output since the last call; forget it, and ``follower``."""
        printed = Printed("".join(self.out), "".join(self.err), "".join(self.all))
        for texts in (self.out, self.err, self.all):
            texts.clear()
        self.size = self._followed = 0
        self.follower = None
        return printed


class Printed(NamedTuple):
    """The output of a line: answers, error messages, and both in order."""

    out: str
    err: str
    all: str


class LineReceiver(NamedTuple):
    """Gets a line's output. ``done`` is called at the end with all of it. Before that ``more``, if not None, is called
    with two texts, one of which is "": a new part of the answers, and a line of progress.
    """

    done: Callable[[Printed], None]
    more: Callable[[str, str], None] | None


class ClientLine:
    """A line that waits, runs or has ended. Any thread may read ``cancelled``."""

    __slots__ = ("cancelled", "line", "number", "outlives", "receiver")

    def __init__(self, number: int, line: TextLine, outlives: bool, receiver: LineReceiver) -> None:
        self.number = number
        """Number of the line among its client's lines, 1 for the first."""
        self.line = line
        self.outlives = outlives
        """Whether the line is carried out even if its client has gone."""
        self.cancelled = False
        self.receiver = receiver


class ClientLines:
    """The waiting lines of a client, and the running one. A state machine, for one thread at a time.

    When the client goes, lines that outlive it are still carried out, and so are the earlier lines that change the
    board they work on. All others are cancelled: those that only ask, and those after the last line that outlives the
    client. Of ``play f5``, ``hint 3``, ``book store``, ``undo`` the first and third are carried out; without ``book
    store`` none is.

    Call `next`, which returns the line to begin, after `ended`, and after `put` if its second result is True.
    """

    def __init__(self) -> None:
        self.running: ClientLine | None = None
        self._waiting: deque[ClientLine] = deque()
        self._number = 0
        self._claimed = False
        """Whether a line runs, or `next` is about to be called."""
        self.deserted = False
        """Whether the client has gone and has sent nothing since."""
        self._gap = False
        """Whether a line was refused, so that later ones work on another board than the client thinks."""
        self._closed = False
        """Whether no other line may begin: one was refused, and the client cannot know it. Implies ``_gap``."""

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def idle(self) -> bool:
        """Whether no line runs or is about to begin."""
        return not self._claimed

    def put(self, line: TextLine, receiver: LineReceiver) -> tuple[ClientLine, bool]:
        """Add a line. Returns the line, cancelled already if no more lines may begin, and whether to call `next`."""
        self._number += 1
        self.deserted = False
        item = ClientLine(self._number, line, line.outlives and not self._gap, receiver)
        item.cancelled = self._closed
        self._waiting.append(item)
        begins = not self._claimed
        self._claimed = True
        return item, begins

    def next(self) -> ClientLine | None:
        """Return the line to carry out now; None if no line waits or all that wait were cancelled."""
        assert self._claimed
        assert self.running is None
        while self._waiting:
            line = self._waiting.popleft()
            if not line.cancelled:
                self.running = line
                return line
        self._claimed = False
        self._gap = self._closed
        return None

    def ended(self) -> None:
        """Note that the running line has ended; call `next` then."""
        assert self.running is not None
        self.running = None

    def cancel(self, line: ClientLine) -> None:
        """Cancel a line whose output nobody waits for. It will not begin; if it runs, the caller must stop it."""
        line.cancelled = True

    def refuse(self, *, gone: bool) -> None:
        """Note that a line was refused. Until all lines are over, later lines do not outlive the client.

        ``gone`` says that the client has gone and cannot hear of it; then no later line begins.
        """
        self._closed = self._closed or gone
        self._gap = self._closed or self._claimed

    def leave(self) -> ClientLine | None:
        """Note that the client has gone. Cancels its lines without an effect besides the reply, and all lines after the
        last one that outlives the client. Returns the running line if the caller must stop it, else None.
        """
        self.deserted = True
        running = self.running
        lines = [line for line in (running, *self._waiting) if line is not None and not line.cancelled]
        last = max((line.number for line in lines if line.outlives), default=0)
        for line in lines:
            line.cancelled = line.line.asks or line.number > last
        return running if running in lines and running is not None and running.cancelled else None


class _TextSession:
    """A client's text session: its dialogue and its lines."""

    def __init__(self, dialect: TextDialect, transcript: ReplyText) -> None:
        self.dialect = dialect
        self.transcript = transcript
        self.lines = ClientLines()

    def stop(self, line: ClientLine) -> None:
        """Stop the search of a line. If the line has not begun, its first search will be stopped."""
        self.dialect.session.interrupt.stop(line.number + 1, only=line.number, abandon=True)


class TextSessions:
    """The text sessions of all clients that send requests, and the threads that run their lines. Any thread may
    use it.
    """

    def __init__(
        self,
        settings: SessionSettings,
        helpers: HelperPool,
        books: Books,
        health: ServerMetrics,
        data_folder: str,
        hidden: re.Pattern[str],
    ) -> None:
        """``settings`` are those of new clients; matches of ``hidden`` are removed from remote clients' output."""
        self._settings = settings
        self._helpers = helpers
        self._books = books
        self._health = health
        self._data_folder = data_folder
        self._hidden = hidden
        self._lock = threading.Lock()
        threads = ((SEARCHES, MOST_THREADS), (COUNTS, 1), (SHORT, _AT_ONCE))
        self._pools = {work: ThreadPool(most, "text", step_back, begun=True) for work, most in threads}

    def request(self, request: PendingRequest, line: TextLine) -> None:
        """Queue the line of a request, to be run and replied to on another thread. A request with a negative id is a
        line that was sent alone, without a request. Raises `RequestError` if the client's role does not allow the line,
        or if it has control characters or names a file that the client may not use.
        """
        line = self._checked(request.client, line)
        bare = isinstance(request.id, int) and request.id < 0
        hidden = self._hidden if request.client.remote else _NOTHING
        sent = 0

        def done(printed: Printed) -> None:
            printed = Printed(*(hidden.sub("", text) for text in printed))
            request.final({"all": printed.all} if bare else {"out": printed.out, "err": printed.err})

        def more(text: str, progress: str) -> None:
            nonlocal sent
            text = hidden.sub("", text)
            request.partial({"at": sent, "out": text, **({"progress": progress} if progress else {})})
            sent += len(text)

        # Dropping the request ends no work: `leave` decides which lines are carried out.
        request.outlives = True
        receiver = LineReceiver(done, more if request.values.get("partials") else None)
        request.attach(self._put(request.client, line, receiver))

    def refused(self, client: ClientRecord) -> None:
        with self._lock:
            self._session_of(client).lines.refuse(gone=client.departed)

    def settings_of(self, client: ClientRecord) -> SessionSettings:
        """Return the options of a client's session, which is made if there is none."""
        with self._lock:
            return self._session_of(client).dialect.session.settings

    def _session_of(self, client: ClientRecord) -> _TextSession:
        session: _TextSession | None = client.texts
        if session is None:
            session = client.texts = self._new_session(client)
        return session

    def _checked(self, client: ClientRecord, line: TextLine) -> TextLine:
        """Check a line and return it; a file that a remote client names is replaced by its path inside the data folder.
        Raises `RequestError` for control characters and, for remote clients, if the role does not allow it or the file
        may not be used.
        """
        if _CONTROL.search(line.text):
            raise RequestError(
                "bad_request", f"{quoted(line.text)}: expected one line without control characters", "line"
            )
        if not client.remote:
            return line
        line = checked_line(line, client.role, self._data_folder)
        if line.name == "save" and line.rest:
            try:
                self._books.target(Path(line.rest))
            except BadInput as error:
                raise RequestError("forbidden", str(error), "line") from None
        return line

    def _put(self, client: ClientRecord, line: TextLine, receiver: LineReceiver) -> Callable[[], None]:
        """Queue a line. The line `stop` also ends the running search at once. Returns a function that cancels the line.

        The receiver of a line that was cancelled before it began is not called.
        """
        with self._lock:
            session = self._session_of(client)
            client_line, begins = session.lines.put(line, receiver)
        if line.name == "stop":
            session.dialect.session.interrupt.stop(client_line.number)
        if begins:
            self._begin_next(client, session)

        def cancel() -> None:
            with self._lock:
                session.lines.cancel(client_line)
            session.stop(client_line)

        return cancel

    def _new_session(self, client: ClientRecord) -> _TextSession:
        transcript = ReplyText()
        settings = copy.deepcopy(self._settings)
        session = Session(settings, SharedEngines(self._helpers, client.account, client.number), books=self._books)
        session.name, session.remote, session.role = client.name, client.remote, client.role
        return _TextSession(TextDialect(session, transcript), transcript)

    def _begin_next(self, client: ClientRecord, session: _TextSession) -> None:
        """Pass the next line of a session, if one waits, to the pool for its kind of work."""
        with self._lock:
            item = session.lines.next()
        if item is not None:
            self._pools[item.line.work].submit(partial(self._carry_out, client, session, item))

    def _carry_out(self, client: ClientRecord, session: _TextSession, client_line: ClientLine) -> None:
        dialect, state = session.dialect, session.dialect.session
        if not allows(client.role, EDITOR):
            # It may have been set when the client had another role.
            state.settings.auto_store = False
        session.transcript.follower = client_line.receiver.more
        dialect.show_progress = session.transcript.show_progress if client_line.receiver.more else None
        state.interrupt.begin(client_line.number)
        if not client_line.cancelled:
            self._guarded(session, client_line, lambda: dialect.run_line(client_line.line))
        if state.own_turn or (dialect.moved and state.game.position.over):
            self._pools[SEARCHES].submit(partial(self._play_on, client, session, client_line))
        else:
            self._finish(client, session, client_line)

    def _play_on(self, client: ClientRecord, session: _TextSession, client_line: ClientLine) -> None:
        self._guarded(session, client_line, lambda: self._settle(session, client_line))
        self._finish(client, session, client_line)

    def _guarded(self, session: _TextSession, client_line: ClientLine, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            reason = lacking(error)
            if not reason:
                self._health.mistake("text")
            session.dialect.warn(f"{quoted(client_line.line.text)}: {reason or 'an internal error'}")

    def _finish(self, client: ClientRecord, session: _TextSession, client_line: ClientLine) -> None:
        dialect = session.dialect
        if dialect.successor:
            dialect.successor = ""
            dialect.warn(f"{quoted(client_line.line.text)}: other protocols are for standard input only")
        printed = session.transcript.take()
        if dialect.leaving is not None:
            fresh = self._new_session(client)
            session.dialect, session.transcript = fresh.dialect, fresh.transcript
        with self._lock:
            session.lines.ended()
        client_line.receiver.done(printed)
        self._begin_next(client, session)

    def _settle(self, session: _TextSession, client_line: ClientLine) -> None:
        """Let the engine make its moves (`TextDialect.settle`) while no other line waits and the client is there. After
        more than `LARGEST_ANSWER` characters of output the engine plays neither side.
        """
        dialect, lines = session.dialect, session.lines
        while dialect.leaving is None and not (client_line.cancelled or lines.deserted):
            if not dialect.step(bool(lines), ending=False):
                return
            if session.transcript.size > LARGEST_ANSWER:
                dialect.session.settings.mode = 3
                dialect.warn(f"more than {LARGEST_ANSWER} characters: the engine plays no further by itself")

    def leave(self, client: ClientRecord) -> None:
        session: _TextSession | None = client.texts
        if session is None:
            return
        with self._lock:
            stopped = session.lines.leave()
        if stopped is not None:
            session.stop(stopped)

    def forget(self, client: ClientRecord) -> None:
        """Cancel the lines of a client that has gone, except those that outlive it, and forget its session."""
        self.leave(client)
        client.texts = None

    def close(self) -> None:
        """Start no more lines; running ones go on."""
        for pool in self._pools.values():
            pool.close()


def checked_line(line: TextLine, role: str, data_folder: str) -> TextLine:
    """Return a line with its file inside the data folder. Raises `RequestError` if ``role`` does not allow it, no
    remote client may use its command or set its option, or its file is outside.

    A line that is no command passes: the dialogue reports it. A line for an option that all clients share becomes
    empty.
    """
    option, needed = line.option, line.role
    name = line.name or (option.name if option is not None else "")
    if option is not None and line.rest and option.kind == "path":
        raise RequestError("forbidden", f"{name}: remote clients cannot set it", "line")
    if needed is None:
        raise RequestError("forbidden", f"{name}: not available to remote clients", "line")
    if not allows(role, needed):
        command = f"book {line.book.name}" if line.book is not None else name
        raise RequestError("forbidden", f"{command} needs the role {needed}; yours is {role}", "line")
    if option is not None and line.rest and option.shared:
        return read_line("")
    if line.command is not None and line.command.files and line.rest:
        try:
            name = file_name(line.rest)
            if '"' in name:
                # The command would take the quotes for its own.
                raise BadInput(f"{quoted(name)}: expected a name without quotes")
            file, here = confined(name, data_folder), Path.cwd()
        except BadInput as error:
            raise RequestError("forbidden", str(error), "line") from None
        path = str(file.relative_to(here) if file.is_relative_to(here) else file)
        return line._replace(text=f"{line.word} {path}", rest=path)
    return line
