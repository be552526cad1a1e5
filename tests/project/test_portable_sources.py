"""What the sources do to files, programs and signals is what Windows can do too, or in `protocol.system.platform`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TypeGuard

import pytest
from checkout import ROOT
from test_file_writing import product

PLATFORM = ROOT / "protocol/system/platform"
SIGNALS = {"SIGINT", "SIGTERM", "SIG_IGN", "SIG_DFL"}
"""The signals that all systems have; others are asked for by `getattr`, or by `platform`."""


def arguments(call: ast.Call) -> dict[str | None, ast.expr]:
    return {keyword.arg: keyword.value for keyword in call.keywords}


def name_of(call: ast.Call) -> tuple[str, str]:
    """The name of a function, after that of what it belongs to; "" where that has no name."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return getattr(function.value, "id", ""), function.attr
    return "", getattr(function, "id", "")


def _mode(call: ast.Call, owner: str, name: str) -> str | None:
    """The mode in which a call opens a file; None if it opens none, or in a mode that is computed."""
    place = 1 if owner == "os" or isinstance(call.func, ast.Name) else 0
    given = arguments(call).get("mode") or (call.args[place] if len(call.args) > place else ast.Constant("r"))
    return given.value if name in ("open", "fdopen") and isinstance(given, ast.Constant) else None


def opened_as_text(call: ast.Call) -> bool:
    """The bytes of a text depend on the country that Windows is set to, unless an encoding is named."""
    owner, name = name_of(call)
    if name in ("read_text", "write_text") and isinstance(call.func, ast.Attribute):
        return not (call.args[name == "write_text" :] or "encoding" in arguments(call))
    # A method `open` without a mode is mostly not a path's.
    if (owner, name) == ("os", "open") or (isinstance(call.func, ast.Attribute) and not call.args):
        return False
    mode = _mode(call, owner, name)
    return mode is not None and set(mode) <= set("rwaxt+") and "encoding" not in arguments(call)


def opened_by_number(call: ast.Call) -> bool:
    """`os.open` translates line ends, lets children inherit the file, and lets nobody rename it."""
    return name_of(call) == ("os", "open") and not (call.args and ast.unparse(call.args[0]) == "os.devnull")


def renamed(call: ast.Call) -> bool:
    """A file that is open, or that a virus scanner looks at, is replaced by `platform.take_place` alone."""
    return name_of(call) in {("os", "replace"), ("os", "rename"), ("os", "renames"), ("shutil", "move")}


def made_with_a_name(call: ast.Call) -> bool:
    """It cannot be opened a second time on Windows."""
    return name_of(call)[1] == "NamedTemporaryFile"


def told_in_the_countrys_letters(call: ast.Call) -> bool:
    """Programs of ours read and write UTF-8 where no terminal is."""
    given = arguments(call)
    as_text = {"text", "universal_newlines", "errors"} & given.keys()
    return name_of(call)[0] == "subprocess" and bool(as_text) and "encoding" not in given


def started_by_a_shell(call: ast.Call) -> bool:
    """Each system has its own shell, its own sessions and no `fork` in common."""
    kinds = {"shell", "preexec_fn", "start_new_session", "process_group", "creationflags", "close_fds", "pass_fds"}
    return name_of(call) == ("os", "system") or (
        name_of(call)[0] == "subprocess" and bool(kinds & arguments(call).keys())
    )


def split_as_a_shell_does(call: ast.Call) -> bool:
    """A backslash is a letter of a path on Windows: `platform.command_words` and `command_text`."""
    return name_of(call)[0] == "shlex"


def sent(call: ast.Call) -> bool:
    """`os.kill` ends a process of Windows whatever the signal, 0 too."""
    return name_of(call) in {("os", "kill"), ("os", "killpg"), ("signal", "pthread_kill"), ("signal", "alarm")}


RULES: list[Callable[[ast.Call], bool]] = [
    opened_as_text,
    opened_by_number,
    renamed,
    made_with_a_name,
    told_in_the_countrys_letters,
    started_by_a_shell,
    split_as_a_shell_does,
    sent,
]


def _monotonic(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and (getattr(node.value, "id", ""), node.attr) == ("time", "monotonic")


COARSE = "durations by a clock that ticks 64 times a second"


def coarse(nodes: list[ast.AST]) -> Iterator[ast.Attribute]:
    """Where a duration is measured by `time.monotonic`, which ticks every 15.6 ms on Windows up to Python 3.12: a
    difference that is not only compared, and the clock itself given to others. `time.perf_counter` ticks finely.
    """
    compared = {id(side) for node in nodes if isinstance(node, ast.Compare) for side in ast.iter_child_nodes(node)}
    calls = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if _monotonic(node) and id(node) not in calls:
            yield node
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and id(node) not in compared:
            yield from (
                part.func for part in ast.walk(node.left) if isinstance(part, ast.Call) and _monotonic(part.func)
            )


def broken(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """The lines that break a rule: the line, what is used, the rule."""
    nodes = list(ast.walk(tree))
    yield from ((node.lineno, node.attr, COARSE) for node in coarse(nodes))
    for node in nodes:
        if isinstance(node, ast.Call):
            for rule in RULES:
                if rule(node):
                    yield node.lineno, name_of(node)[1], rule.__name__
        elif (
            isinstance(node, ast.Attribute)
            and getattr(node.value, "id", "") == "signal"
            and node.attr.startswith("SIG")
            and node.attr not in SIGNALS
        ):
            yield node.lineno, node.attr, "a signal that not all systems have"


def test_the_product_asks_for_what_all_systems_have() -> None:
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for path in product():
        if PLATFORM not in path.parents:
            for line, name, rule in broken(ast.parse(path.read_text("utf-8"))):
                found.setdefault((path.relative_to(ROOT).as_posix(), name), []).append((line, rule))
    assert not found


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("open(name)", opened_as_text),
        ('Path(name).open("a")', opened_as_text),
        ('os.fdopen(number, "w")', opened_as_text),
        ("path.read_text()", opened_as_text),
        ('path.read_text(errors="replace")', opened_as_text),
        ("path.write_text(text)", opened_as_text),
        ("os.open(name, os.O_WRONLY)", opened_by_number),
        ("os.replace(new, old)", renamed),
        ("tempfile.NamedTemporaryFile()", made_with_a_name),
        ("subprocess.run(words, text=True)", told_in_the_countrys_letters),
        ("subprocess.Popen(words, start_new_session=True)", started_by_a_shell),
        ("subprocess.run(text, shell=True)", started_by_a_shell),
        ("shlex.split(text)", split_as_a_shell_does),
        ("os.kill(process, 0)", sent),
    ],
)
def test_each_kind_is_found(line: str, rule: Callable[[ast.Call], bool]) -> None:
    assert [each for _, _, each in broken(ast.parse(line))] == [rule.__name__]


def test_a_signal_that_windows_lacks_is_found() -> None:
    assert list(broken(ast.parse("signal.signal(signal.SIGHUP, ignored)")))


@pytest.mark.parametrize(
    "line", ["told = time.monotonic() - begun", "say(before + time.monotonic() - begun)", "Order(time.monotonic)"]
)
def test_a_coarse_clock_is_found(line: str) -> None:
    assert [each for _, _, each in broken(ast.parse(line))] == [COARSE]


@pytest.mark.parametrize(
    "line",
    [
        'open(name, "rb")',
        'open(name, encoding="utf-8")',
        'Path(name).open("ab")',
        "store.open()",
        'path.read_text("utf-8")',
        'path.write_text(text, "utf-8")',
        "os.open(os.devnull, os.O_WRONLY)",
        'subprocess.run(words, text=True, encoding="utf-8")',
        "signal.signal(signal.SIGTERM, end)",
        "time.monotonic() - since < every",
        "wait(until - time.monotonic())",
        "told = time.perf_counter() - begun",
    ],
)
def test_what_all_systems_have_is_left_alone(line: str) -> None:
    assert not list(broken(ast.parse(line)))
