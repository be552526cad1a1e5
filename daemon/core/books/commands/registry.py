"""The handler of each book command, by its name, and the messages for the book library's errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from desdaemon.book.errors import BookError, Damaged, NotInBook, OutOfRange, ReadOnly, WriteFailed
from desdaemon.protocol.errors import BadInput, Unfinished

from . import changing, games, growing, looking
from . import loading as files
from .context import Work

WORK: dict[str, Work] = {
    **files.WORK,
    **games.WORK,
    **looking.WORK,
    **growing.WORK,
    **changing.WORK,
}


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn the book library's errors in the command ``name`` into `BadInput`, and into `Unfinished` where nothing is
    wrong with the command."""
    try:
        yield
    except (Damaged, ReadOnly, WriteFailed) as error:
        raise Unfinished(str(error)) from error
    except (NotInBook, OutOfRange) as error:
        # These name neither a file nor a command.
        raise BadInput(f"book {name}: {error}") from error
    except BookError as error:
        raise BadInput(str(error)) from error
