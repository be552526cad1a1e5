"""The file of a batch: its items, and their results as they come.

Each line is a CRC-32 in hexadecimal, a blank and JSON: first a head, then a line for each item, then the results, at
last the final state. The file is created by replacement, then only appended to; a torn last line is cut off before the
next write. Memory holds the offsets of lines, not their content. For one thread at a time.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from array import array
from pathlib import Path
from typing import Any

from desdaemon.protocol.system import files, platform

_VERSION = 1
SUFFIX = ".batch"

Data = dict[str, Any]


class BatchFile:
    """The file of one batch. ``job`` is the batch's number, ``owner`` the key or client that requested it, ``args`` the
    arguments of `analyze` for all items.

    ``state`` is "" until the batch has ended; ``created`` is the time of the request, seconds since 1970. Results are
    numbered in the order of appending. Make a new file by `create`; call `open` on an object for an existing file
    before any other method.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.job = 0
        self.owner = ""
        self.created = 0.0
        self.args: Data = {}
        self.state = ""
        self.answered = bytearray()
        """For each item 1 if its result is in the file, else 0."""
        self._items = array("Q")
        self._results = array("Q")
        self._size = 0
        self._file = -1

    @property
    def items(self) -> int:
        """The number of items."""
        return len(self._items)

    @property
    def results(self) -> int:
        """The number of results in the file."""
        return len(self._results)

    @property
    def size(self) -> int:
        """The length of the file in bytes, without a torn last line."""
        return self._size

    @classmethod
    def create(cls, folder: Path, job: int, owner: str, created: float, args: Data, items: list[Data]) -> BatchFile:
        """Write the file of a new batch to the disk and return it, open. If it raises `OSError`, no file is left."""
        batch = cls(folder / f"{job}{SUFFIX}")
        head = {"version": _VERSION, "job": job, "owner": owner, "created": created, "args": args, "items": len(items)}
        try:
            with files.replacing(batch.path, mode=files.PRIVATE) as file:
                file.write(_line(head))
                for item in items:
                    file.write(_line(item))
        except OSError:
            with contextlib.suppress(OSError):
                batch.path.unlink()
            raise
        batch.open()
        return batch

    def open(self) -> None:
        """Open an existing file, only for reading if it cannot be written, and read its head, its state and the offsets
        of its lines. Results from the first damaged or torn line on are ignored, and overwritten by the next `append`.
        Raises `OSError`, and `ValueError`, `LookupError`, `TypeError` or `OverflowError` if it is no batch.
        """
        self._open()
        try:
            self._scan()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        try:
            self._file = platform.open_file(self.path, os.O_RDWR)
        except OSError:
            # On a read-only disk results can still be read.
            self._file = platform.open_file(self.path, os.O_RDONLY)

    def _scan(self) -> None:
        offset = 0
        with files.open_regular(self.path) as file:
            head = _content(file.readline())
            if head is None or head.get("version") != _VERSION:
                raise ValueError(f"{self.path.name}: no batch of this version")
            offset = file.tell()
            self.job, self.owner, self.args = int(head["job"]), str(head["owner"]), dict(head["args"])
            self.created = float(head["created"])
            for _ in range(int(head["items"])):
                if _content(file.readline()) is None:
                    raise ValueError(f"{self.path.name}: damaged at byte {offset}")
                self._items.append(offset)
                offset = file.tell()
            self.answered = bytearray(len(self._items))
            while (content := _content(file.readline())) is not None:
                if "state" in content:
                    self.state = str(content["state"])
                else:
                    self._results.append(offset)
                    self.answered[int(content["item"])] = 1
                offset = file.tell()
        self._size = offset

    def item(self, number: int) -> Data:
        """Return the item ``number``, from 0, as `create` got it. Raises `OSError`; `ValueError` for a damaged line."""
        return self._read(self._items[number])

    def result(self, place: int) -> Data:
        """Return the result ``place``, from 0. Raises `OSError`, and `ValueError` for a damaged line."""
        return self._read(self._results[place])

    def length(self, place: int) -> int:
        """Return the number of bytes that the result ``place``, from 0, takes in the file."""
        end = self._results[place + 1] if place + 1 < len(self._results) else self._size
        return end - self._results[place]

    def append(self, results: list[Data], state: str = "") -> None:
        """Append results and, if ``state`` is not "", the batch's final state, and sync the file to the disk.

        Raises `OSError`; then nothing counts as appended, and the call may be repeated.
        """
        lines = [_line(result) for result in results] + ([_line({"state": state})] if state else [])
        content = b"".join(lines)
        try:
            # Cut off the torn line that a crash or a failed write has left.
            os.ftruncate(self._file, self._size)
            os.lseek(self._file, self._size, os.SEEK_SET)
            written = 0
            while written < len(content):
                written += os.write(self._file, content[written:])
            platform.sync(self._file)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise
        for result, line in zip(results, lines, strict=False):
            self._results.append(self._size)
            self.answered[result["item"]] = 1
            self._size += len(line)
        if state:
            self._size += len(lines[-1])
            self.state = state

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def remove(self) -> None:
        """Close and delete the file. Raises `OSError` if that fails; if the file is still there, it stays open."""
        self.close()  # Windows deletes no open file.
        try:
            self.path.unlink(missing_ok=True)
        except OSError:
            self._open()
            raise
        platform.sync_folder(self.path.parent)

    def _read(self, offset: int) -> Data:
        os.lseek(self._file, offset, os.SEEK_SET)
        line, length = b"", 1 << 12
        while b"\n" not in line:
            piece = os.read(self._file, length)
            if not piece:
                break
            line += piece
            length *= 4
        content = _content(line.partition(b"\n")[0] + b"\n")
        if content is None:
            raise ValueError(f"{self.path.name}: damaged at byte {offset}")
        return content


def _line(content: Data) -> bytes:
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _content(line: bytes) -> Data | None:
    """Return the JSON of a line; None for a missing, torn or damaged one."""
    if not line.endswith(b"\n") or line[8:9] != b" ":
        return None
    body = line[9:-1]
    if line[:8] != b"%08x" % zlib.crc32(body):
        return None
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
