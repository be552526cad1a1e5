"""The configuration file: options of the dialogue for every start, in TOML.

It is `$XDG_CONFIG_HOME/desdaemon/config.toml`, in ``~/.config`` without that variable. A key is the name of an option;
a table named after a protocol (or ``serve``) holds options for that protocol alone:

    level = 18
    n-tasks = 4

    [json]
    level = 12

Options of the command line override the file's.
"""

from __future__ import annotations

import os

from desdaemon.core.settings import SHARED_SECRET, SessionSettings, shared_secret
from desdaemon.protocol.commands.options import OPTIONS
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.spelling import did_you_mean
from desdaemon.protocol.system import folders

from .dialects import NAMES as PROTOCOLS

SECTIONS = (*PROTOCOLS, "serve")
"""The tables that the file may have."""

# For a quick start without the file: no pathlib, and tomllib only if there is a file.


def configuration_path() -> str:
    """Return the path of the configuration file that applies without ``--config``; the file need not exist."""
    return os.path.join(folders.configuration(), "config.toml")  # noqa: PTH118


def shown_path() -> str:
    """Return `configuration_path` with ``~`` for the home folder."""
    path, home = configuration_path(), os.path.expanduser("~")  # noqa: PTH111
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path


def configure(settings: SessionSettings, path: str, section: str) -> tuple[set[str], list[str]]:
    """Set the options that the configuration file ``path`` has; those in its table ``section`` override the others.

    Returns the names of options outside all tables and in that table, unknown names included, and warnings about
    unknown names and tables, and about a password that others may read, which is not set. Raises `OSError` if the file
    cannot be read, and `BadInput` if it is no TOML or at the first invalid value, whose key the message names; options
    set before that value stay set.
    """
    import tomllib

    from desdaemon.protocol.texts import settings_text

    with open(path, "rb") as file:  # noqa: PTH123
        status = os.fstat(file.fileno())
        text = settings_text(file, path)
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInput(f"{path}: {error}: expected TOML such as level = 16") from None
    names: set[str] = set()
    warnings: list[str] = []
    tables = {name: table for name, table in content.items() if isinstance(table, dict)}
    for name in tables:
        if name not in SECTIONS:
            meant = did_you_mean(name, SECTIONS, f"one of {' '.join(SECTIONS)}")
            warnings.append(f"{path}: [{name}] is not a section: {meant}")
    plain = {name: value for name, value in content.items() if name not in tables}
    for where, values in (("", plain), (f"[{section}] ", tables.get(section, {}))):
        for name, value in values.items():
            names.add(name)
            warnings += _set(settings, name, value, f"{path}: {where}", status)
    return names, warnings


def _set(settings: SessionSettings, name: str, value: object, where: str, status: os.stat_result) -> list[str]:
    """Set the option ``name``, from a file of this ``status``. Returns a warning if there is none of this name or if
    it is a password that others may read, else []. Raises `BadInput` for an invalid value; messages begin with
    ``where``.
    """
    option = OPTIONS.find(name)
    if option is None:
        meant = did_you_mean(name, [option.name for option in OPTIONS], "one that help options lists")
        return [f"{where}{quoted(name)} is not an option: {meant}"]
    if shared_secret(option, status):
        return [f"{where}{SHARED_SECRET}"]
    if not isinstance(value, bool | int | float | str):
        raise BadInput(f"{where}{name}: expected {option.expected}")
    text = ("on" if value else "off") if isinstance(value, bool) else str(value)
    try:
        settings.set(option, text)
    except BadInput as error:
        raise BadInput(f"{where}{error}") from None
    return []
