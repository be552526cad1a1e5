"""`desdaemon book site`: write a book as static pages."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.commands.options import BUILTIN_BOOK
from desdaemon.protocol.errors import BadInput, escaped, quoted
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system import logs
from desdaemon.protocol.system.terminal import StepProgress


def command_line() -> Parser:
    """Return the parser of `desdaemon book site`."""
    parser = Parser(
        prog="desdaemon book site",
        description="Write a book as pages: positions with their moves, by clicks or by a line. They need no server: "
        "copy the folder to any, or open its index.html.",
    )
    parser.add_argument("folder", metavar="FOLDER", help="folder for the pages: new, empty, or with an earlier site")
    parser.add_argument("--book", default=BUILTIN_BOOK, metavar="FILE", help="the book, by default the one that ships")
    parser.add_argument("--title", metavar="TEXT", help="title of the pages, by default the book's name")
    return parser


def main(arguments: list[str]) -> int:
    """Write the pages and print what they are. Returns the exit status: 1 if the book cannot be read or the folder
    cannot be written.
    """
    asked = command_line().parse_args(arguments)

    from desdaemon.book.errors import BookError
    from desdaemon.book.formats import registry

    from .pages import write

    begun = time.perf_counter()
    try:
        path = registry.shipped() if asked.book == BUILTIN_BOOK else Path(asked.book)
        with StepProgress() as progress, registry.reading(path, progress) as book:
            title = asked.title if asked.title is not None else Path(asked.book).name
            site = write(book, Path(asked.folder), title, progress)
    except (BadInput, BookError) as error:
        logs.message(str(error), level="error")
        return 1
    except OSError as error:
        logs.message(f"{quoted(str(error.filename or asked.folder))}: {error.strerror}", level="error")
        return 1
    sys.stdout.write(
        f"{escaped(asked.folder)}: {plural(site.positions, 'position')} in {plural(site.files, 'file')}, "
        f"{site.bytes / 1e6:.1f} MB, {time.perf_counter() - begun:.1f} s\n"
    )
    return 0
