"""Bytes of text files that other programs wrote: UTF-8, with or without a byte order mark."""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE

from desdaemon.protocol.errors import BadInput, quoted

UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)


def without_mark(data: bytes, name: str) -> bytes:
    """Return ``data`` without its byte order mark; raises `BadInput`, which names the file ``name``, for UTF-16, with
    or without its mark.
    """
    head = data[:32]
    # Of UTF-16 without a mark every other byte is 0, since files of games and options begin with ASCII.
    if data.startswith(UTF_16) or (len(head) > 1 and any(head[::2]) != any(head[1::2])):
        raise BadInput(f"{quoted(name)}: this is UTF-16: save it as UTF-8")
    return data.removeprefix(BOM_UTF8)


def decoded(data: bytes, name: str) -> str:
    """Return UTF-8 as text without its byte order mark; bytes that are no UTF-8 become backslash escapes. Raises
    `BadInput`, which names the file ``name``, for UTF-16.
    """
    return without_mark(data, name).decode("utf-8", "backslashreplace")
