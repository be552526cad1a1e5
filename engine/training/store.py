"""The files that stages of training exchange, npz archives and JSON, replaced as a whole; progress on stderr."""

from __future__ import annotations

import json
import os
import sys
import time
import zipfile
import zlib
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from desdaemon.protocol.system import files, logs

_RATIO, _FREE = 64, 1 << 28
"""An archive unpacks to so many times its bytes and so many more: a part of zeros packs a thousand times."""

Arrays = dict[str, NDArray[Any]]


class TrainingError(ValueError):
    """Unusable input of a stage; the message names the input and says what was expected."""


def save(path: Path, arrays: Arrays, record: dict[str, Any], *, compress: bool = False) -> None:
    """Write arrays, and the record of how they were made, to an npz file; missing folders are made, an old file is
    replaced as a whole.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    text = np.frombuffer(json.dumps(record, sort_keys=True).encode(), np.uint8)
    write = np.savez_compressed if compress else np.savez
    with files.replacing(path) as stream:
        write(stream, allow_pickle=False, record=text, **arrays)


def save_json(path: Path, content: dict[str, Any], *, indent: int | None = None) -> None:
    """Write a JSON object to ``path``, an old file replaced as a whole."""
    files.replace(path, (json.dumps(content, indent=indent) + "\n").encode())


def load(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """Return arrays and record of a file that `save` wrote. Raises `TrainingError` for any other or missing file."""
    arrays = arrays_of(path)
    record = _record_in(arrays, path)
    del arrays["record"]
    return arrays, record


def record_of(path: Path) -> dict[str, Any]:
    """Return the record alone, without reading the arrays. Raises as `load` does."""
    return _record_in(arrays_of(path, only="record"), path)


def _record_in(arrays: Arrays, path: Path) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(arrays["record"].tobytes())
    except (ValueError, KeyError) as error:
        raise TrainingError(f"{path}: not a file of a training stage: {error}") from error
    return record


def arrays_of(path: Path, only: str = "") -> Arrays:
    """Return the arrays of an npz file by name, or the one named ``only``, if it is there. Raises `TrainingError` if
    the file is missing, damaged or of another kind.
    """
    try:
        with files.open_regular(path) as stream, np.load(stream, allow_pickle=False) as archive:
            most = _FREE + _RATIO * os.fstat(stream.fileno()).st_size
            if sum(member.file_size for member in archive.zip.infolist()) > most:
                raise TrainingError(f"{path}: unpacks to more than {most} bytes")
            return {name: archive[name] for name in archive.files if only in ("", name)}
    # A file of one array (npy) is read as that array, which is no context: TypeError.
    except TrainingError:
        raise
    except (OSError, ValueError, EOFError, TypeError, MemoryError, zipfile.BadZipFile, zlib.error) as error:
        raise TrainingError(f"{path}: not an intact npz file: {error}") from error


def digest(*arrays: NDArray[Any]) -> str:
    """Return a short BLAKE2b digest of the arrays' contents, to tell whether two sets of data are the same."""
    state = blake2b(digest_size=8)
    for array in arrays:
        state.update(np.ascontiguousarray(array).data)
    return state.hexdigest()


class StageProgress:
    """The progress of a stage: lines on stderr with the seconds since it began. Only one thread may use it."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._begun = time.perf_counter()
        self._last = 0.0

    @property
    def seconds(self) -> float:
        """Seconds since the stage began."""
        return time.perf_counter() - self._begun

    def say(self, text: str) -> None:
        """Write a line with ``text`` to stderr."""
        self._last = self.seconds
        logs.echo(f"{self._stage} {self._last:7.1f} s  {text}")

    def now_and_then(self, text: str) -> None:
        """Write a line with ``text`` to stderr, unless the last line, or the stage's beginning, is under two seconds
        old.
        """
        if self.seconds - self._last >= 2.0:
            self.say(text)


def write_line(text: str) -> None:
    """Print a line of a stage's output to stdout."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
