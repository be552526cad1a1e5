"""Command lines of programs, as users of each system write them."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from types import ModuleType

import pytest
from checkout import IMPORT, ROOT


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The functions of Windows; those that need no Windows can be called."""
    monkeypatch.setattr(sys, "platform", "win32")
    return importlib.import_module("desdaemon.protocol.system.platform.windows")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r"C:\edax\wEdax.exe -gtp", [r"C:\edax\wEdax.exe", "-gtp"]),
        (r'"C:\Program Files\edax\wEdax.exe" -l 6', [r"C:\Program Files\edax\wEdax.exe", "-l", "6"]),
        (r"'D:\a b\' \\host\share\#1.exe", ["D:\\a b\\", r"\\host\share\#1.exe"]),
        ('a "" b', ["a", "", "b"]),
    ],
)
def test_backslashes_of_paths_are_kept_on_windows(windows: ModuleType, text: str, words: list[str]) -> None:
    assert windows.command_words(text) == words
    assert windows.command_words(windows.command_text(words)) == words


def test_an_open_quote_is_refused_on_windows(windows: ModuleType) -> None:
    with pytest.raises(ValueError, match="No closing quotation"):
        windows.command_words('"C:\\edax')


def test_there_is_one_reader_of_command_lines() -> None:
    for part in ("protocol", "book", "daemon", "clients"):
        for path in (ROOT / part).rglob("*.py"):
            if path.parent.name != "platform":
                calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
                assert not [call for call in calls if ast.unparse(call.func) in ("shlex.split", "shlex.join")], path


def test_pipes_are_utf_8_whatever_the_locale_says() -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    environment.pop("PYTHONIOENCODING", None)
    code = "from desdaemon.cli.main import _prepare_streams; import sys; _prepare_streams()"
    code += "; print(sys.stdin.readline()); print(chr(0x3B1), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", IMPORT + code],
        input="\u03b1".encode(),
        capture_output=True,
        env=environment,
        check=True,
        timeout=60,
    )
    assert (done.stdout.decode().strip(), done.stderr.decode().strip()) == ("\u03b1", "\u03b1")


def test_a_program_without_a_console_is_killed_on_windows(windows: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    class Process:
        killed = False

        def send_signal(self, number: int) -> None:
            raise SystemError

        def kill(self) -> None:
            self.killed = True

    monkeypatch.setattr(signal, "CTRL_BREAK_EVENT", 1, raising=False)
    process = Process()
    windows.ask_to_end(process, 15)
    assert process.killed
