"""One word for one thing: words that were replaced by those of docs/glossary.md do not come back.

`NAMES` are parts of identifiers in the product's code, `PHRASES` words of its comments, strings and docstrings and of
the documents. Each names what is said instead.
"""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkout import ROOT

NAMES = {
    "Door": "Endpoint",
    "LentEngines": "EngineLeases",
    "Porter": "ZapAuthenticator",
    "cushion": "reserve",
    "anew": "again, new",
    "dear": "costly",
    "doors": "endpoints",
    "furnish": "build_services",
    "heed": "apply, handle",
    "honesty": "selectivity_check",
    "lateness": "overhead",
    "lent": "leased",
    "nobody": "no client, none",
    "porter": "authenticator",
    "room": "capacity, buffer, session",
    "rooms": "sessions, services",
    "somebody": "a client, a user",
    "told": "reported, sent, result",
    "traits": "metadata",
    "whoever": "the client, the caller",
    "withdraw": "cancel, remove",
}
"""Whole identifiers, or parts of them between underscores; leading underscores do not count."""

PHRASES = {
    "comes? upon": "find",
    "cushion": "reserve",
    "dear": "costly",
    "from afar": "remotely",
    "furnish": "build",
    "heed": "apply, handle",
    "honesty": "calibration",
    "how it goes": "progress",
    "in good order": "cleanly",
    "keeps its word": "is calibrated",
    "lateness": "move overhead",
    "lent": "leased",
    "porter": "authenticator",
    "stand-ins?": "reduced search",
    "stands? in for": "replaces",
    "anew": "again",
    "answerable for": "charged for",
    "as it goes on": "in progress",
    "come about": "arise, be reached",
    "how far it is": "progress",
    "how it is going": "progress",
    "is of no use": "cannot be used",
    "let go of": "release, close",
    "their like": "the same kind",
    "under way": "in flight, in progress",
    "what is due": "stale scores",
    "withdraw": "cancel, remove",
}
"""As regular expressions; between two words there may be any white space, and capitals do not matter."""

PRODUCT = ("daemon", "protocol", "engine", "book", "clients")
SOURCES = sorted(path for package in PRODUCT for path in (ROOT / package).rglob("*.py"))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("book/*.md")])


@functools.cache
def pattern(phrase: str) -> re.Pattern[str]:
    """A phrase, as it may be broken over the lines of a text or a comment."""
    spaced = phrase.replace(" ", r"\s+(?:#\s+)?")
    return re.compile(rf"(?<![\w-])(?:{spaced})(?![\w-])", re.IGNORECASE)


def retired_phrases(text: str, first_line: int) -> Iterator[str]:
    """``line: phrase -> replacement`` for each occurrence; the text begins on ``first_line``."""
    for phrase, instead in PHRASES.items():
        for match in pattern(phrase).finditer(text):
            line = first_line + text.count("\n", 0, match.start())
            yield f"{line}: {match[0]!r} -> {instead}"


def retired_names(identifier: str) -> Iterator[str]:
    """``name -> replacement`` for an identifier or the first of its parts that is retired."""
    for part in (identifier.lstrip("_"), *identifier.lower().split("_")):
        if part in NAMES:
            yield f"{identifier} -> {NAMES[part]}"
            return


OPENINGS = {"How", "What", "When", "Where", "Which", "Who", "Whom", "Whose", "Why"}
"""First words of a docstring that name no thing: it has to be read to its end to learn what it is about."""


def riddles(path: Path) -> Iterator[str]:
    """``line: name: docstring`` of every module, class and function whose docstring begins with one of `OPENINGS`."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node) or ""
            if re.split(r"\W", text, maxsplit=1)[0] in OPENINGS:
                name = getattr(node, "name", "the module")
                yield f"{getattr(node, 'lineno', 1)}: {name}: {text.splitlines()[0]}"


def label(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("package", PRODUCT)
def test_code_uses_no_retired_word(package: str) -> None:
    found = []
    for path in SOURCES:
        if not path.is_relative_to(ROOT / package):
            continue
        for token in tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline):
            if token.type == tokenize.NAME:
                found += [f"{label(path)}:{token.start[0]}: {hit}" for hit in retired_names(token.string)]
            elif token.type in (tokenize.STRING, tokenize.COMMENT):
                found += [f"{label(path)}:{hit}" for hit in retired_phrases(token.string, token.start[0])]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("package", PRODUCT)
def test_docstrings_name_the_thing_first(package: str) -> None:
    """`The reason why ...`, `Whether ...`, `Return ...`: what it is, or what it does."""
    paths = [path for path in SOURCES if path.is_relative_to(ROOT / package)]
    assert not [f"{label(path)}:{riddle}" for path in paths for riddle in riddles(path)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=label)
def test_documents_use_no_retired_word(document: Path) -> None:
    found = [f"{label(document)}:{hit}" for hit in retired_phrases(document.read_text("utf-8"), 1)]
    assert not found, "\n".join(found)


def test_a_retired_word_is_found() -> None:
    assert list(retired_names("_Porter")) == ["_Porter -> ZapAuthenticator"]
    assert list(retired_names("list_rooms")) == ["list_rooms -> sessions, services"]
    assert not list(retired_names("Headroom"))
    assert list(retired_phrases("one\nWhat is\n# due", 7)) == ["8: 'What is\\n# due' -> stale scores"]
    assert not list(retired_phrases("a reporter", 1))
