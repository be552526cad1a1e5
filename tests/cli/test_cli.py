"""The command line: options, sub-commands, exit statuses."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import edax_help
import pytest
from checkout import ROOT, SUPPORT

from desdaemon.api.engine import Engine
from desdaemon.cli.arguments import UnusableFile, UsageError, read_arguments
from desdaemon.cli.main import main
from desdaemon.core.search.loader import EDAX_BYTES, MAGICS
from desdaemon.engine.compiler.library import LibraryError
from desdaemon.engine.evaluation import weights_file
from desdaemon.engine.layout import PLIES
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.version import __version__

SCRIPT = str(SUPPORT / "fake_daemon.py")


def run(*arguments: str, data: bytes = b"", program: str = SCRIPT) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, program, *arguments], input=data, capture_output=True, timeout=60, check=False
    )


@pytest.mark.parametrize("dashes", ["", "-", "--", "---"])
def test_options_take_any_number_of_dashes(dashes: str) -> None:
    words = "l 16|n 2|h 20|level 12|verbose 3|book-usage off|t 5:00|move-time 1.5|alpha -10|selectivity 1|q|cpu"
    arguments = [
        f"{dashes}{word}" if at == 0 else word for line in words.split("|") for at, word in enumerate(line.split())
    ]
    settings = read_arguments(arguments).settings
    assert (settings.level, settings.n_tasks, settings.hash_table_size, settings.verbose) == (12, 2, 20, 0)
    assert (settings.game_time, settings.move_time) == (300_000, 1_500)
    assert (settings.alpha, settings.selectivity, settings.book_usage) == (-10, 87, False)


@pytest.mark.parametrize(
    ("text", "ms"),
    [("1", 1000), ("0.25", 250), (".5", 500), ("2:03", 123_000), ("1:00:00", 3_600_000), ("1:0:0:0.5", 86_400_500)],
)
def test_times_are_read_in_every_form(text: str, ms: int) -> None:
    assert read_arguments(["-t", text]).settings.game_time == ms
    assert read_arguments([f"--game-time={text}"]).settings.game_time == ms
    assert read_arguments(["-t", text, "-t", "infinite"]).settings.game_time == 0


@pytest.mark.parametrize(
    ("arguments", "program_says_edax", "compatible"),
    [
        ([], False, False),
        ([], True, True),
        (["-q"], False, True),
        (["--level", "6"], False, True),
        (["-nodes", "5"], False, False),
        (["-edax-compatible"], False, True),
        (["-edax-compatible", "on"], False, True),
        (["-edax-compatible", "off", "-l", "5"], True, False),
        (["-l", "5", "--edax-compatible=off"], True, False),
    ],
)
def test_moves_are_announced_as_edax_does(arguments: list[str], program_says_edax: bool, compatible: bool) -> None:
    settings = read_arguments(arguments, program_says_edax).settings
    assert settings.edax_compatible == compatible
    assert settings.engine_name == ("Edax" if compatible else "desdaemon")


def test_the_name_of_the_program_chooses_the_protocol(tmp_path: Path) -> None:
    program = tmp_path / "lEdax-x64"
    program.write_text(
        f"import sys; sys.path.insert(0, {str(Path(SCRIPT).parent)!r})\nfrom fake_daemon import main\nmain()"
    )
    assert b"\nEdax plays D3\n" in run(data=b"go\n", program=str(program)).stdout
    assert b"\ndesdaemon plays D3\n" in run(data=b"go\n").stdout
    assert b"\nEdax plays D3\n" in run("-l", "1", data=b"go\n").stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["-l", "99"], '"99"'),
        (["-l"], "-l"),
        (["-nonsense"], '"-nonsense"'),
        (["nonsense"], '"nonsense"'),
        (["--config", "none", "serve", "-l", "3"], "behind the program: desdaemon serve"),
        pytest.param(
            ["book"],
            '"book judge" or "book site"',
            marks=[pytest.mark.needs("book.judge"), pytest.mark.needs("book.site")],
        ),
        (["-ggs", "-ggs-password", "x"], "-ggs-password"),
        (["-book-usage", "maybe"], '"maybe"'),
        (["-solve"], "-solve"),
        (["-t", "1:2:3:4:5"], '"1:2:3:4:5"'),
        (["perft"], "perft"),
        (["perft", "x"], '"x"'),
        (["perft", "3", "--mode"], "--mode"),
        (["perft", "3", "--mode", "3"], '"3"'),
        (["perft", "3", "4"], "perft"),
        (["count"], "count"),
        (["count", "shapes"], "count"),
        (["count", "shapes", "9"], '"9"'),
        (["-count", "games", "5", "6x6"], "count"),
        (["count", "positions", "x"], '"x"'),
        (["count", "positions", "3", "9"], '"9"'),
    ],
)
def test_bad_command_lines_are_refused_in_a_line(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert named in captured.err
    assert re.search("expected|did you mean|is missing: see desdaemon", captured.err)


@pytest.mark.parametrize("arguments", [["--help"], ["help"], ["-?"], ["-q", "-help"], ["-l", "3", "--help", "-no"]])
def test_help_is_printed_wherever_it_is_asked_for(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert "desdaemon [OPTION ...]" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["version"], ["-q", "--version"]])
def test_the_version_is_printed_wherever_it_is_asked_for(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"desdaemon version {__version__}\n"
    assert read_arguments(["-name", "v"]).information == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-v"], f"version {__version__}"),
        (["-version"], f"version {__version__}"),
        (["-o", "/nowhere/at/all"], "/nowhere/at/all: No such file or directory"),
        (["-option-file", "/nowhere/at/all"], "/nowhere/at/all: No such file or directory"),
    ],
)
def test_the_dialogue_goes_on_as_edax_s(arguments: list[str], message: str) -> None:
    done = run(*arguments, "-l", "1", "-q", data=b"go\neof\ngo\n")
    assert (done.returncode, done.stderr.decode()) == (0, f"desdaemon: {message}\n")
    assert done.stdout.count(b"Edax plays") == 1


@pytest.mark.parametrize("name", edax_help.COMMAND_LINE)
def test_the_words_of_edax_s_command_line_are_understood(name: str, tmp_path: Path) -> None:
    """Those that docs/edax.md says to exist are understood, the others are not."""
    file = tmp_path / "options"
    file.write_text("")
    values = {"solve": ["x"], "wtest": ["x"], "bench": ["1"], "o": [str(file)], "option-file": [str(file)]}
    if f"-{name}" in edax_help.REASONS:
        with pytest.raises(UsageError):
            read_arguments([f"-{name}"])
    elif name != "count":
        read_arguments([f"-{name}", *values.get(name, [])])


def test_an_option_names_edax_s_own_protocol() -> None:
    invocation = read_arguments(["-gtp", "-edax"])
    assert (invocation.protocol, invocation.settings.edax_compatible) == ("text", True)


@pytest.mark.parametrize(("what", "last"), [("games", b"perft 3 (mode 1): 56 in "), ("shapes", b"shapes 3: 14\n")])
@pytest.mark.parametrize("command", ["-count", "count"])
def test_positions_are_counted_from_the_command_line(command: str, what: str, last: bytes) -> None:
    done = run(command, what, "3")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.splitlines(keepends=True)[-1].startswith(last)


@pytest.mark.parametrize("option", ["-eval-file", "-solve", "--config"])
def test_missing_files_are_named(option: str) -> None:
    done = run(option, "/nowhere/at/all", "-q", data=b"moves\n")
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr.count(b"\n") == 1
    assert b"/nowhere/at/all" in done.stderr


def test_weights_are_read_with_the_engine(tmp_path: Path) -> None:
    """What is known to be wrong at the start is said there, the rest once there is a prompt; it ends the dialogue."""
    assert EDAX_BYTES == 28 + PLIES * weights_file.EDAX_WEIGHTS_PER_PLY * 2
    assert {weights_file.SHIPPED_MAGIC, weights_file.EDAX_MAGIC} < set(MAGICS)
    file = tmp_path / "eval.xz"
    file.write_bytes(MAGICS[2] + b"but nothing to expand")
    with subprocess.Popen(
        [sys.executable, str(ROOT / "daemon" / "__main__.py"), "-q", "-eval-file", str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.read().strip() == b">"
        complaint = process.stderr.read()
        assert process.wait(60) == 1
    assert complaint.count(b"\n") == 1
    assert b"the xz stream can't be decoded" in complaint


def test_options_are_read_from_files(tmp_path: Path) -> None:
    file = tmp_path / "edax.ini"
    file.write_text("# remark\nlevel = 7\nn-tasks=3\n\nverbose 2 % more\nvv\n unknown-thing 3\nbook-usage\toff\n")
    settings, warnings, *_ = read_arguments(["-o", str(file), "-l", "8"])
    assert (settings.level, settings.n_tasks, settings.verbose, settings.book_usage) == (8, 3, 2, False)
    assert warnings == [f'{file}, line 7: "unknown-thing" is not an option: expected one that help options lists']
    file.write_text("edax-compatible off\n")
    assert not read_arguments(["-o", str(file)]).settings.edax_compatible
    file.write_text("level = 7\nlevel = 70\n")
    with pytest.raises(UnusableFile, match="line 2: level = "):
        read_arguments(["-o", str(file)])
    assert run("-o", str(file)).returncode == 1


def test_perft_and_count_print_the_known_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perft", "6"]) == 0
    assert capsys.readouterr().out == "8200\n"
    assert main(["perft", "9", "--mode", "2"]) == 0
    assert capsys.readouterr().out == "3005320\n"
    assert main(["count", "positions", "8"]) == 0
    assert len(capsys.readouterr().out.split()) == 3
    assert main(["-count", "positions", "6", "1"]) == 0
    assert capsys.readouterr().out == "1773\n"


@pytest.mark.parametrize("command", ["perft", "count positions"])
def test_counting_without_a_compiler_is_told_in_a_line(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def kernels() -> None:
        raise LibraryError("no compiler")

    monkeypatch.setattr("desdaemon.engine.counting.counts.kernels", kernels)
    assert main([*command.split(), "9"]) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"desdaemon {command.split()[0]}: no compiler\n")


def test_the_last_protocol_on_the_command_line_counts() -> None:
    assert read_arguments(["-gtp", "--protocol", "nboard"]).protocol == "nboard"
    assert read_arguments(["-l", "5"], protocol="gtp").protocol == "gtp"
    with pytest.raises(UsageError, match="expected one of text gtp nboard"):
        read_arguments(["--protocol", "smoke"])


@pytest.mark.posix
@pytest.mark.parametrize("option", ["--config", "-option-file"])
def test_a_file_of_settings_without_an_end_is_refused(option: str) -> None:
    done = run(option, "/dev/zero", "-q")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.endswith(b"/dev/zero: expected a file of settings, of at most 1 MiB\n")


def test_edaxs_option_file_in_the_current_folder_is_read_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edax.ini").write_text("# Edax\nlevel = 7\nverbose 0\n")
    answer = run("-verbose", "0", data=b"level\nverbose\ngo\n").stdout.decode()
    assert "level = 7" in answer
    assert "verbose = 0" in answer
    assert "Edax plays D3" in answer
    assert b"level = 9" in run("-level", "9", data=b"level\n").stdout
    (tmp_path / "edax.ini").write_text("level = many\n")
    refused = run("-q")
    assert (refused.returncode, refused.stderr.count(b"\n")) == (1, 1)
    assert b"edax.ini, line 1" in refused.stderr


def test_a_command_line_may_hold_lines_of_the_text_protocol(tmp_path: Path) -> None:
    done = run("-bench", "2")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"2 positions: ")
    failed = run("-wtest", str(tmp_path / "none.wtb"))
    assert (failed.returncode, failed.stderr.count(b"\n")) == (1, 1)


def test_a_dialogue_is_written_down(tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = run("-gtp", "-ui-log-file", str(log), data=b"1 name\nfoo\n")
    assert done.stdout == b'=1 desdaemon\n\n? unknown command "foo"\n\n'
    assert log.read_text() == '< 1 name\n> =1 desdaemon\n> \n< foo\n> ? unknown command "foo"\n> \n'
    refused = run("-ui-log-file", str(tmp_path / "no" / "log"))
    assert refused.returncode == 1


def test_a_python_without_its_lock_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    for arguments in ([], ["perft", "3"], ["serve"], ["--help"]):
        assert main(arguments) == 1
        said = capsys.readouterr()
        assert (said.out, said.err.count("\n")) == ("", 1)
        assert "PYTHON_GIL=1" in said.err
    with pytest.raises(BadInput, match="PYTHON_GIL=1"):
        Engine()
    main(["doctor", "--quick"])
    assert "runs without its global lock" in capsys.readouterr().out
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: True, raising=False)
    assert main(["perft", "3"]) == 0


@pytest.mark.parametrize(
    ("protocol", "closed"),
    [
        *[(each, "1") for each in ("-gtp", "-nboard", "-xboard", "-json", "-cassio", "--version", "doctor --help")],
        *[("", closed) for closed in ("0", "1", "2", "012")],
    ],
)
def test_a_stream_closed_by_the_caller_is_told(protocol: str, closed: str) -> None:
    """Nothing is printed in its place on another one, and no traceback."""
    code = "import os, sys\nfor n in sys.argv.pop(1): os.close(int(n))\nos.execv(sys.executable, sys.argv[1:])"
    command = [sys.executable, "-c", code, closed, sys.executable, "-m", "daemon", *protocol.split()]
    done = subprocess.run(command, cwd=ROOT, input="quit\n", capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr
    assert "1" not in closed or not done.stdout
    if protocol in ("", "-gtp", "--version") and "0" not in closed:
        assert done.stderr == ""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ImportError("x.so: failed to map segment from shared object"), f"{os.strerror(errno.ENOMEM)}: try later"),
        (SystemError("error return without exception set"), f"{os.strerror(errno.ENOMEM)}: try later"),
        (RuntimeError("can't start new thread"), f"{os.strerror(errno.ENOMEM)}: try later"),
        (MemoryError(), f"{os.strerror(errno.ENOMEM)}: try later"),
        (OSError(errno.EMFILE, "x", "module.py"), f"{os.strerror(errno.EMFILE)}: try later"),
        (OSError("a library cannot be loaded"), "a library cannot be loaded"),
    ],
)
def test_what_a_program_lacks_is_said_in_a_line(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*arguments: object) -> int:
        raise error

    monkeypatch.setattr("desdaemon.cli.main._dispatch", fail)
    assert main([]) == 1
    assert capsys.readouterr().err == f"desdaemon: {said}\n"
