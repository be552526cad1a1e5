"""The files of the page, read once, with types and digests; nothing else is served."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import NamedTuple

from desdaemon.protocol.games.judgement import GRADES, HALF_ACCURACY
from desdaemon.protocol.othello.diagrams import board_svg, colour_sheet

_STATIC = Path(__file__).parent / "static"
COLOURS = "colours.css"
"""The style sheet made of the colours that all pictures of boards share."""

_COMMENT = re.compile(r"/\*.*?\*/ ?", re.DOTALL)
_LINE_COMMENT_OR_MARGIN = re.compile(r"^[ \t]+(?://.*)?|^//.*", re.MULTILINE)
_CSS_BLANKS = re.compile(r" *[{};,] *|(?<=:) ")
_JS_TEXT = re.compile(r'("(?:[^"\\]|\\.)*")')
_JS_BLANKS = re.compile(r" *[][{}(),;:?=<>&|!]+ *")
_JS_UNCLEAR = re.compile(r"[`'/\\]")
"""What may begin another kind of text than `_JS_TEXT`, or a pattern."""
_BOARD = "<!-- board -->"
_MODULES = "<!-- modules -->"
_GRADES = "<!-- grades -->"
_TOKEN = "<!-- token -->"
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "webmanifest": "application/manifest+json",
}


class PageFile(NamedTuple):
    """A file: its type, its bytes, plain and gzipped, and its entity tag."""

    type: str
    data: bytes
    gzipped: bytes
    tag: str


def page_files(token: str = "") -> dict[str, PageFile]:
    """Read all files below the folder `static` and return them by name, their path at the gateway, scripts and style
    sheets without comments; ``index.html``, with the ``token`` for its socket, is served as ``/``.
    """
    paths = sorted(path for path in _STATIC.rglob("*") if path.suffix[1:] in _TYPES)
    contents = {path.relative_to(_STATIC).as_posix(): _light(path.name, path.read_bytes()) for path in paths}
    page = contents["index.html"].decode().replace(_BOARD, board_svg()).replace(_MODULES, _module_links(contents))
    page = page.replace(_GRADES, escape(json.dumps({"grades": GRADES, "half": HALF_ACCURACY})))
    contents["index.html"] = page.replace(_TOKEN, token).encode()
    contents[COLOURS] = colour_sheet().encode()
    return {name: _file(name, data) for name, data in contents.items()}


def _light(name: str, data: bytes) -> bytes:
    """Return a script or style sheet without indentation, without comments, except ``//`` after code, and without
    blanks beside signs; lines keep their numbers. Other files are returned unchanged.
    """
    dense = {".css": _dense_rule, ".js": _dense_code}.get(Path(name).suffix)
    if not dense:
        return data
    text = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), data.decode())
    return "\n".join(map(dense, _LINE_COMMENT_OR_MARGIN.sub("", text).split("\n"))).encode()


def _dense_rule(line: str) -> str:
    return _CSS_BLANKS.sub(lambda found: found[0].strip(), line)


def _dense_code(line: str) -> str:
    """Return a line of a script without blanks beside signs, but for texts; unchanged where these are not clear."""
    parts = _JS_TEXT.split(line)
    if any(map(_JS_UNCLEAR.search, parts[::2])):
        return line
    parts[::2] = (_JS_BLANKS.sub(lambda found: found[0].replace(" ", ""), part) for part in parts[::2])
    return "".join(parts)


def _module_links(names: Iterable[str]) -> str:
    """Return, as HTML, links by which a browser loads all modules at once, not one import after another."""
    scripts = [name for name in names if name.endswith(".js")]
    preloads = [f"<link rel=modulepreload href={name}>" for name in scripts]
    return "\n".join([*preloads, '<script type="module" src="main.js"></script>'])


def _file(name: str, data: bytes) -> PageFile:
    digest = hashlib.sha256(data).hexdigest()[:32]
    return PageFile(_TYPES[name.rpartition(".")[2]], data, gzip.compress(data, 9, mtime=0), f'"{digest}"')


def page_weight() -> tuple[int, int]:
    """Return the bytes of all files together, plain and gzipped."""
    files = page_files().values()
    return sum(len(file.data) for file in files), sum(len(file.gzipped) for file in files)
