"""The items of a batch, from a request or a file, and the arguments of `analyze` for all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from desdaemon.core.requests.questions import Terms
from desdaemon.protocol.system import files
from desdaemon.protocol.wire import constants
from desdaemon.protocol.wire.constants import MOST_LINES_OF_FILE
from desdaemon.protocol.wire.messages import RequestError, check_fields
from desdaemon.protocol.wire.positions import read_moves

from .rows import ITEM

if TYPE_CHECKING:
    from desdaemon.core.requests.request import Data

LARGEST_FILE = 64 << 20
_BOARD = 64


def check_arguments(values: Data, level: int) -> None:
    """Check the arguments that apply to all items; raises `RequestError` if one is wrong. If ``values`` has no level,
    depth, nodes, time or game nodes, set its level to ``level``, the daemon's default.
    """
    for name in ("allow", "avoid"):
        read_moves(name, values.get(name) or [])
    Terms(values, level)
    if not any(name in values for name in ("level", "depth", "nodes", "time_ms", "game_nodes")):
        values["level"] = level


def item_data(item: Data) -> Data:
    """Return the fields of a request's item that the batch stores."""
    return {field.name: item[field.name] for field in ITEM if item.get(field.name) is not None}


def _line_items(text: str) -> Iterator[Data]:
    """Yield an item for each line of a file: JSON, a board with its side to move, or moves from the start.

    ``{"moves": "f5d6", "id": 7}``, ``---...--- X`` and ``f5d6`` are such lines. Empty lines, and those that begin with
    # or %, are skipped. The id is the line's number unless JSON gives one. An unreadable line becomes an item whose
    answer is an error.
    """
    for number, line in enumerate(text.splitlines(), 1):
        content = line.strip()
        if not content or content[0] in "#%":
            continue
        if content[0] == "{":
            try:
                item = json.loads(content)
                check_fields(ITEM, item)
            except (ValueError, RequestError, RecursionError):
                item = {"moves": content[: constants.LONGEST_MOVES]}
            item = item_data(item)
            yield {"id": number, **item}
        elif len(content.split()[0]) >= _BOARD:
            yield {"id": number, "board": content.partition(";")[0].strip()[: constants.LONGEST_BOARD]}
        else:
            yield {"id": number, "moves": content[: constants.LONGEST_MOVES]}


def file_items(path: Path, name: str) -> list[Data]:
    """Return an item for each line of a file, which the client calls ``name``; empty lines and comments are skipped.
    Raises `RequestError` if the file cannot be read, is larger than `LARGEST_FILE` bytes or has more than
    `MOST_LINES_OF_FILE` items.
    """
    try:
        with files.open_regular(path) as file:
            content = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise RequestError("not_found", f"{name}: no such file", "file") from None
    except OSError as error:
        raise RequestError("bad_request", f"{name}: {error.strerror}", "file") from None
    if len(content) > LARGEST_FILE:
        raise RequestError("too_large", f"{name}: expected at most {LARGEST_FILE} bytes", "file")
    items = list(_line_items(content.decode("utf-8-sig", "replace")))
    if len(items) > MOST_LINES_OF_FILE:
        message = f"{name}: {len(items)} positions: expected at most {MOST_LINES_OF_FILE}"
        raise RequestError("too_large", message, "file")
    return items
