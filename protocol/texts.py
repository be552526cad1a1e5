"""Text that other programs wrote: UTF-8, with a byte order mark or without."""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE

from desdaemon.protocol.errors import BadInput, quoted

UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)


def without_mark(data: bytes, name: str) -> bytes:
    """Return the bytes of a text without the byte order mark. Raises `BadInput` for UTF-16."""
    if data.startswith(UTF_16):
        raise BadInput(f"{quoted(name)}: this is UTF-16: save it as UTF-8")
    return data.removeprefix(BOM_UTF8)


def decoded(data: bytes, name: str) -> str:
    """Return a text, what is not UTF-8 in it escaped. Raises `BadInput` for UTF-16."""
    return without_mark(data, name).decode("utf-8", "backslashreplace")
