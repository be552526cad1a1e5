"""The values of the options, and the reader of Edax's option files."""

from __future__ import annotations

import os
from typing import TypeVar

from desdaemon.protocol.commands.options import OPTIONS, parse_value
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.rows import Option, Value
from desdaemon.protocol.spelling import did_you_mean

T = TypeVar("T")

_UNSET = -1
MOST_THREADS = 256


class SessionSettings:
    """The present value of every option of `desdaemon.protocol.commands.options`. Durations are in ms, 0 for none;
    ``speed`` is in nodes a second, ``book_memory`` in MiB; the table has 2 to the power ``hash_table_size`` entries.

    ``depth`` (plies) and ``selectivity`` (percent) are -1 if the level decides. ``level_chosen`` is set once somebody
    has set the level; until then the level does not bound a search that has a clock.
    """

    def __init__(self) -> None:
        self.level = 21
        self.level_chosen = False
        self.depth = _UNSET
        self.selectivity = _UNSET
        self.nodes = 0
        self.move_time = 0
        self.game_time = 0
        self.speed = 10_000_000
        self.alpha = -64
        self.beta = 64
        self.mode = 3
        self.n_tasks = 0
        self.deterministic = False
        self.hash_table_size = 21
        self.eval_file = ""
        self.verbose = 1
        self.noise = 0
        self.width = 80
        self.echo = False
        self.keep_going = False
        self.edax_compatible = False
        self.pass_name = "auto"
        self.repeat = 0
        self.auto_start = False
        self.auto_swap = False
        self.auto_quit = False
        self.ponder = False
        self.ui_log_file = ""
        self.game_file = ""
        self.search_log_file = ""
        self.book_usage = True
        self.book_file = ""
        self.book_overlay = ""
        self.book_randomness = 0
        self.book_choice = "value"
        self.book_seed = 0
        self.book_reject = 0
        self.book_least_level = -1
        self.book_registered_only = False
        self.book_learn_results = False
        self.book_check = False
        self.book_tasks = 0
        self.book_memory = 0
        self.auto_store = False
        self._others: dict[str, Value] = {}
        """What was set of options that have no attribute here: of satellites, and those without effect."""

    @property
    def engine_name(self) -> str:
        """The engine's name in announcements: Edax or desdaemon."""
        return "Edax" if self.edax_compatible else "desdaemon"

    @property
    def threads(self) -> int:
        """Number of threads of a search: ``n_tasks``, or with 0 one for each processor, but no more than there are
        processors, nor than `MOST_THREADS`; 1 if ``deterministic``.
        """
        from desdaemon.protocol.system.processors import processors

        return 1 if self.deterministic else min(self.n_tasks or MOST_THREADS, processors(), MOST_THREADS)

    @property
    def timed(self) -> bool:
        """Whether a time for each move or for the game is set."""
        return bool(self.move_time or self.game_time)

    def set(self, option: Option, text: str) -> None:
        """Give an option the value that ``text`` spells. Switching on ``q`` or ``vv`` sets the verbosity to 0 or 2;
        setting the level sets ``level_chosen`` too.

        Raises `BadInput`, changing nothing, if ``text`` is no valid value or ``alpha`` would not be less than ``beta``.
        """
        value = parse_value(option, text)
        if option.name == "alpha" and isinstance(value, int) and value >= self.beta:
            raise BadInput(f"alpha = {quoted(text)}: expected less than beta, which is {self.beta}")
        if option.name == "beta" and isinstance(value, int) and value <= self.alpha:
            raise BadInput(f"beta = {quoted(text)}: expected more than alpha, which is {self.alpha}")
        if option.name in ("q", "vv"):
            if value:
                self.verbose = 0 if option.name == "q" else 2
        elif option.idle or option.default is not None:
            self._others[option.key] = value
        else:
            setattr(self, option.key, value)
            if option.name == "level":
                self.level_chosen = True

    def value(self, option: Option, kind: type[T]) -> T:
        """Return the value of a satellite's option. ``kind`` is the type of the option's default."""
        value: T = self._others.get(option.key, option.default)  # type: ignore[assignment]
        return value

    def files(self) -> list[str]:
        """Return the files that options name, as they are now."""
        return [value for option in OPTIONS if option.kind == "path" and (value := self.text(option))]

    def text(self, option: Option) -> str:
        """Return an option's value as a user would type it, times in seconds; "" for an option that has no effect and
        was not set. Not for ``q`` and ``vv``.
        """
        theirs = option.idle or option.default is not None
        value: Value = self._others.get(option.key, option.default) if theirs else getattr(self, option.key)
        if isinstance(value, bool):
            return "on" if value else "off"
        if option.kind == "time" and isinstance(value, int):
            return f"{value / 1000:.3f}" if value else "infinite"
        return "" if value is None else str(value)

    def listed(self) -> list[tuple[Option, str]]:
        """Return every option that has an effect, except ``q`` and ``vv``, with its value as a user would type it."""
        return [(option, self.text(option)) for option in OPTIONS if not option.idle and option.name not in ("q", "vv")]


SHARED_SECRET = "others may read the password: chmod 600 it"


def shared_secret(option: Option, status: os.stat_result) -> bool:
    """Return whether an option is a password, in a file of this ``status`` that others may read."""
    if option.name != "ggs-password":
        return False
    from desdaemon.protocol.system import platform

    return platform.open_to_others(status, 0o077)


def read_option_file(settings: SessionSettings, path: str) -> tuple[set[str], list[str]]:
    """Set options from a file of lines ``name = value`` or ``name value``, where ``#`` or ``%`` begins a comment. A
    flag's name alone switches it on.

    Returns the names that were set, and a warning for each unknown name and for a password that others may read, which
    is not set. Raises `OSError` if the file cannot be read, and `BadInput` for UTF-16, a file too large, or at the
    first bad value; the options before that stay set.
    """
    from desdaemon.protocol.texts import settings_text

    with open(path, "rb") as file:  # noqa: PTH123  pathlib costs start-up time
        status = os.fstat(file.fileno())
        lines = settings_text(file, path).splitlines()
    names: set[str] = set()
    warnings: list[str] = []
    for number, line in enumerate(lines, 1):
        body = line.split("#", 1)[0].split("%", 1)[0].strip()
        if not body:
            continue
        name, value = _split_setting(body)
        option = OPTIONS.find(name)
        if option is None:
            meant = did_you_mean(name, [option.name for option in OPTIONS], "one that help options lists")
            warnings.append(f"{path}, line {number}: {quoted(name)} is not an option: {meant}")
            continue
        if shared_secret(option, status):
            warnings.append(f"{path}, line {number}: {SHARED_SECRET}")
            continue
        if option.kind == "flag" and not value:
            value = "on"
        try:
            settings.set(option, value)
        except BadInput as error:
            raise BadInput(f"{path}, line {number}: {error}") from None
        names.add(option.name)
    return names, warnings


def _split_setting(body: str) -> tuple[str, str]:
    name, equals, value = body.partition("=")
    if not equals or len(name.split()) != 1:
        name, value = (*body.split(None, 1), "")[:2]
    return name.strip().lstrip("-"), value.strip()
