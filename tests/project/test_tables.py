"""docs/ lists the commands and options that there are, in the words of the code.

With WRITE_TABLES set in the environment the lists are written anew instead of compared.
"""

from __future__ import annotations

import os

import client_types
import edax_help
import pytest
from checkout import ROOT
from tables import DOCS, TABLES, block


@pytest.mark.parametrize(("document", "name"), TABLES)
def test_the_document_says_what_the_code_does(document: str, name: str) -> None:
    path, made = DOCS / document, TABLES[document, name]()
    text = path.read_text(encoding="utf-8")
    found = block(name).search(text)
    assert found, f"{document} has no part called {name}"
    if os.environ.get("WRITE_TABLES"):
        path.write_text(text[: found.start()] + made + text[found.end() :], encoding="utf-8")
    else:
        assert found[0] == made


def test_everything_in_edax_s_help_exists_or_has_a_reason() -> None:
    known = edax_help.commands() + edax_help.options()
    missing = {name for name, here in known if not here}
    words = {f"-{name}" for name in edax_help.COMMAND_LINE}
    assert missing == edax_help.REASONS.keys() - words


def test_the_types_of_the_client_library_are_those_of_the_protocol() -> None:
    path = ROOT / "clients" / "shapes.py"
    if os.environ.get("WRITE_TABLES"):
        path.write_text(client_types.text(), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == client_types.text()
