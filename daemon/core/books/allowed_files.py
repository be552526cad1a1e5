"""Resolve the file names that callers give, and protect the files that no command may overwrite.

A remote client's names lead to files inside the data folder, whatever patterns and links they contain. Any thread may
call these functions.
"""

from __future__ import annotations

import glob
import re
from pathlib import Path

from desdaemon.core.paths import confined, named
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.system import files, platform

_OF_A_BOOK = (".journal", ".lock")


class Forbidden(BadInput):
    """The caller may not use a file. Remote clients may use files in the data folder only, none if there is no data
    folder. No command may write to a file of the daemon or of a book with a journal.
    """


class Files:
    """Turns the file names of callers into paths.

    Remote clients may name only files inside ``data_folder``, no files if it is None. ``reserved`` are the daemon's own
    files and folders. `check_target` protects them: call it before a file is written.
    """

    def __init__(self, data_folder: str | None) -> None:
        self.data_folder = data_folder
        self.reserved: tuple[Path, ...] = ()

    def path(self, name: str, *, remote: bool) -> Path:
        """Return the path that ``name`` stands for: for a ``remote`` caller inside the data folder, otherwise as
        `named` does. Raises `BadInput` as that does; `Forbidden` for a remote caller's name that `confined` refuses,
        such as one that leads outside the data folder, and for every remote name if there is no data folder.
        """
        if not remote:
            return named(name)
        try:
            return confined(name, self._root(name))
        except BadInput as error:
            raise Forbidden(str(error)) from None

    def allow(self, place: str) -> None:
        """Raise `Forbidden` unless a remote caller may name the file at the absolute path ``place``."""
        path, root = Path(place), Path(self._root(place)).resolve()
        self.path(str(path.relative_to(root)) if path.is_relative_to(root) else place, remote=True)

    def matching(self, name: str, *, remote: bool) -> list[Path]:
        """Return the path that ``name`` stands for, whether it exists or not; or, if ``name`` is a pattern and no file
        has that very name, the sorted paths that match it. Raises `BadInput` if none match, and `Forbidden` if `path`
        refuses ``name`` or a match.
        """
        path = self.path(name, remote=remote)
        if path.exists() or not glob.has_magic(name):
            return [path]
        root = self._root(name) if remote else None
        pattern = name if remote else str(path)
        matches = sorted(glob.glob(pattern, root_dir=root))  # noqa: PTH207  the pattern may begin at the root
        if not matches:
            raise BadInput(f"{quoted(name)}: no such files")
        return [self.path(each, remote=remote) for each in matches]

    def inside(self, folder: Path, *, remote: bool) -> list[Path]:
        """Return the sorted entries of a folder that `path` or `matching` returned. Raises `Forbidden` if an entry
        leads a ``remote`` caller outside the data folder, `OSError` if the folder cannot be read.
        """
        entries = sorted(folder.iterdir())
        if not remote:
            return entries
        root = Path(self._root(folder.name)).resolve()
        return [self.path(str(file.relative_to(root)), remote=True) for file in entries]

    def _root(self, name: str) -> str:
        if self.data_folder is None:
            raise Forbidden(f"{quoted(name)}: files cannot be named here: the server has no data folder")
        return self.data_folder

    def check_target(self, path: Path, book_file: Path | None = None) -> None:
        """Raise `Forbidden` if ``path`` is reserved or inside a reserved folder, is a file of the book in use
        (``book_file``, its journals, lock or backups), is a book that some process has in use or whose journal has
        changes that the file lacks, or is itself a journal or lock that exists.
        """
        if not platform.names_file(path) or not path.resolve().name:
            raise Forbidden(f"{quoted(path.name or str(path))}: is {files.NO_NAME}: expected the name of a file")
        target = path.resolve()
        folded = _folded(target)
        taken = [_folded(own_file.resolve()) for own_file in self.reserved]
        if any(folded == own_file or own_file in folded.parents for own_file in taken):
            raise Forbidden(f"{quoted(path.name)}: is one of the daemon's files: choose another name")
        book = _folded(book_file.resolve()) if book_file is not None else None
        own = re.escape(book.name) + r"(\.journal.*|\.lock|\.\d+)?" if book is not None else ""
        if book is not None and folded.parent == book.parent and re.fullmatch(own, folded.name):
            raise Forbidden(f"{quoted(path.name)}: is a file of the book in use: choose another name")
        if folded.suffix in _OF_A_BOOK and target.exists():
            raise Forbidden(f"{quoted(path.name)}: is a file of a book with a journal: choose another name")
        if not target.with_name(f"{target.name}.journal").exists():
            return
        from desdaemon.book.front import in_use

        if why := in_use(target):
            raise Forbidden(f"{quoted(path.name)}: {why}")


def _folded(path: Path) -> Path:
    return Path(platform.folded(str(path)))
