"""`python tests/lab draws`: docstrings, test names and sentences of documents, drawn at random to be read by a person.

A hundred of each, read as a newcomer would, say more about wording than any count of words. The same seed draws the
same of the same tree.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path

from checkout import ROOT

from desdaemon.engine.training.store import write_line
from desdaemon.protocol.command_line import Parser, whole


def _named(path: Path) -> Iterator[tuple[str, ast.AST]]:
    """Yield the module of a file and every class and function in it, each with its name."""
    tree = ast.parse(path.read_text("utf-8"))
    yield path.stem, tree
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, node


def _sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def docstrings() -> Iterator[tuple[str, str]]:
    """Yield the docstrings of the product, each with its file and name."""
    for path in _sources("protocol", "engine", "book", "daemon", "clients"):
        for name, node in _named(path):
            if text := ast.get_docstring(node):  # type: ignore[arg-type]
                yield f"{path.relative_to(ROOT)}:{name}", text


def test_names() -> Iterator[tuple[str, str]]:
    """Yield the names of tests, each with its file."""
    for path in _sources("tests"):
        for name, node in _named(path):
            if name.startswith("test_") and not isinstance(node, ast.Module):
                yield str(path.relative_to(ROOT)), name


def sentences() -> Iterator[tuple[str, str]]:
    """Yield the sentences of the documents outside tables and code, each with its file."""
    for path in [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)
        for paragraph in re.split(r"\n\s*\n", text):
            if not paragraph.lstrip().startswith(("|", "#", "    ")):
                for sentence in re.split(r"(?<=[.:?!])\s+(?=[A-Z`*])", " ".join(paragraph.split())):
                    if len(sentence.split()) > 3:
                        yield str(path.relative_to(ROOT)), sentence


DRAWN = {"docstrings": docstrings, "names": test_names, "sentences": sentences}


def main(arguments: list[str]) -> int:
    """Print what was drawn; returns the exit status."""
    parser = Parser(prog="python tests/lab draws", description=__doc__)
    parser.add_argument("kind", choices=sorted(DRAWN))
    parser.add_argument("--count", type=whole(1, 10_000), default=100)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    found = list(DRAWN[asked.kind]())
    for place, text in random.Random(asked.seed).sample(found, min(asked.count, len(found))):
        write_line(f"{place}\n    " + text.replace("\n", "\n    "))
    return 0
