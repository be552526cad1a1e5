"""docs/text-protocol.md lists the commands and options that there are, in the words of `help`."""

from __future__ import annotations

import re
from pathlib import Path

from desdaemon.protocol.commands import COMMANDS
from desdaemon.protocol.options import OPTIONS, Option
from desdaemon.settings import Settings

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "text-protocol.md"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def command_table() -> str:
    """The commands, a row each."""
    rows = ["| command | also | parameters | what it does |", "| --- | --- | --- | --- |"]
    for command in COMMANDS:
        also = " ".join(f"`{alias}`" for alias in command.aliases)
        parameters = f"`{cell(command.parameters)}`" if command.parameters else ""
        rows.append(f"| `{command.name}` | {also} | {parameters} | {cell(command.help)} |")
    return "\n".join(rows)


def option_table() -> str:
    """The options that do something, a row each."""
    rows = ["| option | also | value | default | what it does |", "| --- | --- | --- | --- | --- |"]
    settings = Settings()
    for option in OPTIONS:
        if not option.idle:
            also = " ".join(f"`{alias}`" for alias in option.aliases)
            default = "" if option.name in ("q", "vv") else settings.text(option)
            rows.append(f"| `{option.name}` | {also} | {values(option)} | {default} | {cell(option.help)} |")
    return "\n".join(rows)


def values(option: Option) -> str:
    if option.kind == "int":
        return f"{option.low} to {option.high}"
    return {"bool": "on, off", "flag": "", "time": "time", "selectivity": "0 to 5, or percent"}.get(option.kind, "file")


def idle_options() -> str:
    """The options that are accepted without any effect."""
    return ", ".join(f"`{option.name}`" for option in OPTIONS if option.idle)


def between(name: str) -> str:
    text = DOCUMENT.read_text(encoding="utf-8")
    found = re.search(f"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", text, re.DOTALL)
    assert found, f"{DOCUMENT.name} has no part called {name}"
    return found[1].strip()


def test_commands() -> None:
    assert between("commands") == command_table()


def test_options() -> None:
    assert between("options") == option_table()


def test_options_without_effect() -> None:
    assert between("idle") == idle_options()
