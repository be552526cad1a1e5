"""docs/protocols.md lists the commands that there are, in the words of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from desdaemon.protocol import gtp, nboard
from desdaemon.protocol.commands import Command

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "protocols.md"


def table(commands: tuple[Command, ...]) -> str:
    """The commands, a row each."""
    rows = ["| command | parameters | what it does |", "| --- | --- | --- |"]
    for command in commands:
        names = " ".join(f"`{name}`" for name in (command.name, *command.aliases))
        parameters = f"`{command.parameters}`" if command.parameters else ""
        rows.append(f"| {names} | {parameters} | {command.help} |")
    return "\n".join(rows)


@pytest.mark.parametrize(("name", "commands"), [("gtp", gtp.COMMANDS), ("nboard", nboard.COMMANDS)])
def test_commands(name: str, commands: tuple[Command, ...]) -> None:
    found = re.search(f"<!-- {name} -->\n(.*?)<!-- /{name} -->", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    assert found[1].strip() == table(commands)
