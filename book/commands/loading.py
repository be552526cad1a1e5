"""Book commands about files and whole books: new, load, save, import, export, merge, diff, undo and more."""

from __future__ import annotations

from pathlib import Path

from desdaemon.book.book import Book
from desdaemon.book.changes import GivenCommand
from desdaemon.book.editing.add import add_positions, enumerate_book, fix
from desdaemon.book.exports import await_kernels
from desdaemon.book.formats import registry
from desdaemon.book.formats.losses import assumed_by_reading
from desdaemon.book.options import MAX_DEPTH, BookOptions, default_depth
from desdaemon.book.record import START
from desdaemon.book.storage.observers import MemoryObserver
from desdaemon.core.books.command_run import BookCommandRun
from desdaemon.core.books.jobs import Result
from desdaemon.core.books.service import Caller
from desdaemon.core.metrics import account_of
from desdaemon.protocol.commands.options import BUILTIN_BOOK
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.rows import ADMIN
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.wire.messages import allows

SHOWN = 10
"""The most positions that a result names for each kind of difference; further ones are only counted."""


def _count(book: Book) -> str:
    return plural(len(book), "position")


def run_new(run: BookCommandRun) -> Result:
    level = run.number("level")
    wanted = run.values["depth"]
    depth = wanted if isinstance(wanted, int) else default_depth(level)
    await_kernels(run.progress)
    book = Book(BookOptions().at_level(level).at_depth(depth))
    outcome = add_positions(book, [START], run.worker())
    if outcome.finished:
        run.books.use(registry.Opened(book, None, registry.NATIVE, []), None)
        return {"text": [f"New book {level} {depth}...done, not saved yet (use book save FILE)"]}
    return {"finished": False, "text": [f"New book {level} {depth}...stopped: the book stays what it was"]}


def run_enumerate(run: BookCommandRun) -> Result:
    plies = run.number("plies")
    book = enumerate_book(plies, BookOptions().at_depth(plies), run.progress)
    run.books.use(registry.Opened(book, None, registry.NATIVE, []), None)
    return {"text": [f"Book enumerate {plies}...done: {_count(book)} without scores"]}


def _shown(path: Path) -> Path:
    """Return the name of a book that was read, as the user gives it: the book that ships is called `BUILTIN_BOOK`."""
    return Path(BUILTIN_BOOK) if path == registry.SHIPPED else path


def run_load(run: BookCommandRun) -> Result:
    path = run.source()
    overlay = run.path("overlay") if run.values["overlay"] is not None else None
    store = run.books.store
    if store is not None and store.locked and store.path == (overlay or path).resolve():
        if overlay is None or (store.base is not None and store.base == path.resolve()):
            return {"notes": [], "text": [f"{overlay or path} is the book in use: {_count(run.book)}"]}
        raise BadInput(f"{overlay} is the book in use: load another book before it can lie over {path}")
    if overlay is not None and store is not None and store.path == path.resolve():
        # What the file lacks is written before it becomes a base, which is never written.
        store.fold()
    opened = registry.open_any(path, level=run.number("level"), overlay=overlay, progress=run.progress)
    name = overlay or _shown(path)
    run.books.use(opened, name)
    return {"notes": opened.notes, "text": [*about(name, opened.assumed), f"{name}: {_count(opened.book)}"]}


def about(path: Path, what: str) -> list[str]:
    """Return a list with one line, ``what`` about the file ``path``: data that was lost or assumed in converting a
    book. It is empty if ``what`` is "".
    """
    return [f"{path}: {what}"] if what else []


def run_reopen(run: BookCommandRun) -> Result:
    opened, name = run.books.opened, run.books.file
    if opened is None or not name:
        raise BadInput("book reopen: the book has no file yet: book save FILE gives it one")
    if opened.refusal:
        raise BadInput(f"book reopen: {name} is opened for reading only: {opened.refusal}")
    if opened.store is not None and opened.store.base is not None and opened.store.intrusion:
        opened.store.close()
    elif opened.store is not None and opened.store.locked:
        # Retry what failed before.
        opened.book.recorder.allow()
        return {"notes": [], "text": [f"{name} is open for writing: {_count(opened.book)}"]}
    again = registry.open_any(Path(name), level=max(1, opened.book.options.level), progress=run.progress)
    run.books.use(again, Path(name))
    return {"notes": again.notes, "text": [f"{name}: {_count(again.book)}"]}


def run_save(run: BookCommandRun) -> Result:
    book, books = run.book, run.books
    opened = books.opened
    assert opened is not None
    store = opened.store
    if run.values["file"] is None:
        if not books.file:
            raise BadInput("book save: the book has no file yet: expected book save FILE")
        if opened.refusal:
            raise BadInput(f"book save: {books.file} is opened for reading only: {opened.refusal}")
        path = Path(books.file)
    else:
        path = run.path()
    if store is not None and path.resolve() == store.path:
        store.save(progress=run.progress)
        return {"notes": [], "text": [f"Book saved to {path}: {_count(book)}"]}
    if run.values["file"] is not None:
        books.target(path)
    saved = registry.save(path, book, run.progress)
    text = [*about(path, saved.lost), f"Book saved to {path}: {_count(book)}"]
    # A book that takes changes stays in use, and the new file is a copy.
    refused = books.reason
    if store is not None and books.failure:
        store.rescued()
    if saved.format == registry.NATIVE and (store is None or refused):
        # From now on changes go to its journal.
        if store is not None:
            text.append(f"{path} is the book in use from now on, because {refused}")
        opened = registry.open_any(path)
        if opened.store is not None:
            opened.store.keep(book)
        books.use(opened, path)
        return {"notes": [*saved.notes, *opened.notes], "text": text}
    if store is None:
        books.use(opened._replace(refusal=""), path)
    return {"notes": saved.notes, "text": text}


def run_import(run: BookCommandRun) -> Result:
    path, old_book = run.source(), run.books.book
    loaded = registry.load(path, level=1, progress=run.progress)
    book = loaded.book
    assumed = loaded.assumed
    if loaded.format == registry.TEXT and len(book) > 1:
        # As in Edax: the book grows by one more ply.
        book.options = book.options.at_depth(min(book.options.depth + 1, MAX_DEPTH))
        assumed = assumed_by_reading(book.options, registry.FORMATS[loaded.format])
    if assumed and old_book is not None:
        # The file gives no error bounds: as in Edax they stay those of the book in use before.
        errors = old_book.options[2:4]
        book.options = book.options._replace(midgame_error=errors[0], endcut_error=errors[1])
        assumed = assumed_by_reading(book.options, registry.FORMATS[loaded.format])
    run.books.use(registry.Opened(book, None, loaded.format, loaded.notes), None)
    outcome = fix(book, run.worker())
    name = _shown(path)
    done = f"importing book from {name}... {_count(book)}...{'done' if outcome.finished else 'stopped'}"
    return {"finished": outcome.finished, "notes": loaded.notes, "text": [*about(name, assumed), done]}


def run_export(run: BookCommandRun) -> Result:
    path, book = run.target(), run.book
    saved = registry.save(path, book, run.progress, unnamed=registry.TEXT)
    if run.books.store is not None:
        run.books.store.rescued()
    done = f"exporting book to {path}... {_count(book)}...done"
    return {"notes": saved.notes, "text": [*about(path, saved.lost), done]}


def run_backup(run: BookCommandRun) -> Result:
    path, book = run.target(), run.book
    if run.books.path is None or run.job.alone:
        registry.write_native(path, book, run.progress)
    else:
        run.books.commit()
        with registry.reading(run.books.path, run.progress) as book:
            registry.write_native(path, book, run.progress)
    return {"text": [f"{path}: {_count(book)}, the book in use stays {run.books.file or 'without a file'}"]}


def run_undo(run: BookCommandRun) -> Result:
    opened, path, recorder, replies = run.books.opened, run.books.path, run.book.recorder, run.book.replies
    assert opened is not None
    if isinstance(recorder, MemoryObserver):
        last, rest = _last(run, recorder.undoable(), too_large=recorder.too_large)
        book, before = recorder.undo()
        opened = opened._replace(book=book)
        run.books.use(opened, path)
        book.recorder = before
    else:
        recorder.allow()
        assert opened.store is not None
        assert path is not None
        if intrusion := opened.store.intrusion:
            # What could not be opened again would be lost.
            raise BadInput(f"book undo: {intrusion}")
        commands = opened.store.undoable()
        last, rest = _last(run, commands)
        opened.store.undo()
        opened = registry.open_any(path, progress=run.progress)
        # For these the book was open all the time.
        opened.book.by_hand, opened.book.by_hand_before = run.book.by_hand, run.book.by_hand_before
        run.books.use(opened, path)
    opened.book.replies = replies
    return {"notes": opened.notes, "text": [f"book {last} is taken back: {_count(opened.book)}; {rest}"]}


def _last(run: BookCommandRun, commands: list[GivenCommand], *, too_large: bool = False) -> tuple[str, str]:
    """Return the texts of the last of ``commands``, which may be taken back, and of those before it. Raises `BadInput`
    if there is none, or if it is another client's and the caller no admin.
    """
    caller, what = run.caller, f"book undo: {run.books.path or 'the new book'}: "
    if too_large:
        raise BadInput(f"{what}too large to take commands back in memory: after book save FILE they can be")
    if not commands:
        raise BadInput(f"{what}nothing to take back since it was saved or opened")
    *earlier, last = [_whose(command, caller) for command in commands]
    if commands[-1].client != account_of(caller.client) and not allows(caller.role, ADMIN):
        raise BadInput(f"{what}the last command is book {last}: who gave it takes it back, or an admin")
    rest = "nothing before it, since the book was saved"
    if earlier:
        more = f" and {len(earlier) - SHOWN} more" if len(earlier) > SHOWN else ""
        rest = f"before it: {'; '.join(earlier[: -SHOWN - 1 : -1])}{more}"
    return last, rest


def _whose(command: GivenCommand, caller: Caller) -> str:
    """Return the text of a command, with who gave it unless that was the caller."""
    own = command.client in ("", account_of(caller.client))
    return command.line if own else f"{command.line} (of {command.client})"
