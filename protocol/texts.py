"""Bytes of text files that other programs wrote: UTF-8, with or without a byte order mark."""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from typing import BinaryIO

from desdaemon.protocol.errors import BadInput, quoted

MOST_SETTINGS = 1 << 20
"""Most bytes of a file of settings."""

UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)

_STAND_INS = {
    (b"version https://git-lfs.github.com/", b"version https://hawser.github.com/"): (
        "a pointer of Git LFS, not the file itself: git lfs pull fetches it"
    ),
    (b"/annex/objects/", b"../.git/annex/", b".git/annex/"): (
        "a pointer of git-annex, not the file itself: git annex get fetches it"
    ),
    (
        b"<!doctype html",
        b"<!--",
        b"<html",
        b"<head",
        b"<title",
        b"<body",
        b"<?xml",
    ): "a web page, not the file itself: fetch the file anew",
    (b"pk\x03\x04", b"pk\x05\x06", b"7z\xbc\xaf", b"rar!\x1a"): "an archive of files: unpack it first",
}
"""What stands in the place of a file that was not fetched, by how it begins."""


def stand_in(data: bytes) -> str:
    """Return what stands in the place of a file that begins with ``data``, for a message; "" for a file itself."""
    head = data[:200].removeprefix(BOM_UTF8).lstrip().lower()
    return next((f"this is {what}" for beginnings, what in _STAND_INS.items() if head.startswith(beginnings)), "")


def check_fetched(data: bytes, name: str) -> None:
    """Raise `BadInput`, which names the file ``name``, for a pointer or a web page in the place of the file."""
    if what := stand_in(data):
        raise BadInput(f"{quoted(name)}: {what}")


def without_mark(data: bytes, name: str) -> bytes:
    """Return ``data`` without its byte order mark; raises `BadInput`, which names the file ``name``, for UTF-16, with
    or without its mark, and as `check_fetched` does.
    """
    check_fetched(data, name)
    head = data[:32]
    # Of UTF-16 without a mark every other byte is 0, since files of games and options begin with ASCII.
    if data.startswith(UTF_16) or (len(head) > 1 and any(head[::2]) != any(head[1::2])):
        raise BadInput(f"{quoted(name)}: this is UTF-16: save it as UTF-8")
    return data.removeprefix(BOM_UTF8)


def settings_text(file: BinaryIO, name: str) -> str:
    """Return the text of a file of settings as `decoded` does. Raises `BadInput` also for one that is no such file: of
    more than `MOST_SETTINGS` bytes.
    """
    data = file.read(MOST_SETTINGS + 1)
    if len(data) > MOST_SETTINGS:
        raise BadInput(f"{name}: expected a file of settings, of at most {MOST_SETTINGS >> 20} MiB")
    return decoded(data, name)


def decoded(data: bytes, name: str) -> str:
    """Return UTF-8 as text without its byte order mark; bytes that are no UTF-8 become backslash escapes. Raises
    `BadInput`, which names the file ``name``, for UTF-16.
    """
    return without_mark(data, name).decode("utf-8", "backslashreplace")
