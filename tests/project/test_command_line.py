"""Slips are answered with what may have been meant, help fits its terminal, the configuration file is heeded, and the
man page and the completions are those of the tables."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT
from completion_files import MAKERS, PATHS, own_switches, switches
from dialogue import Dialogue

from desdaemon.cli.arguments import UnusableFile, configured, read_arguments
from desdaemon.cli.main import main
from desdaemon.clients.gamefiles.rows import BASE_COMMANDS
from desdaemon.dialogue.commands.help import laid_out, topic
from desdaemon.protocol.commands.book import BOOK_COMMANDS
from desdaemon.protocol.commands.options import OPTIONS
from desdaemon.protocol.commands.sub_commands import SUB_COMMANDS
from desdaemon.protocol.commands.text import COMMANDS
from desdaemon.protocol.spelling import did_you_mean, nearest

NAMES = [command.name for command in SUB_COMMANDS]


@pytest.fixture(autouse=True)
def no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No configuration but what the test writes."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config" / "desdaemon" / "config.toml"


def run(*arguments: str, data: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "daemon" / "__main__.py"), *arguments],
        input=data,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


# Slips


def test_near_names_are_suggested() -> None:
    names = ["hint", "match", "analyze", "book-usage", "go"]
    assert [nearest(word, names) for word in ("hnit", "MATHC", "analise", "book-usge", "anal", "xyz", "g", "")] == [
        "hint",
        "match",
        "analyze",
        "book-usage",
        "analyze",
        "",
        "",
        "",
    ]
    assert did_you_mean("hint", names, "a name") == "expected a name"
    assert did_you_mean("hnit", names, "a name") == 'did you mean "hint"?'


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("hnit 3", "hint"),
        ("levle 10", "level"),
        ("-n-taks 2", "n-tasks"),
        ("book devaite 2 4", "deviate"),
        ("base conver a b", "convert"),
        ("count position 3", "positions"),
        ("help mtach", "match"),
        ("help book stroe", "store"),
        ("help base chek", "check"),
    ],
)
def test_a_slip_in_the_dialogue_is_named(line: str, meant: str) -> None:
    assert f': did you mean "{meant}"?' in Dialogue().refused(line)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["mtach"], "match"),
        (["analise", "x"], "analyze"),
        (["-levle", "3"], "-level"),
        (["--eval-fil", "x"], "--eval-file"),
        (["--protocol", "gpt"], "gtp"),
        (["help", "mathc"], "match"),
        (["match", "a", "b", "--gmaes", "3"], "--games"),
        (["perft", "5", "--mdoe", "2"], "--mode"),
        (["count", "positons", "5"], "positions"),
        (["bench", "slove"], "solve"),
        (["bench", "book", "--repaet", "3"], "--repeat"),
        (["train", "fti"], "fit"),
        (["completions", "bsh"], "bash"),
    ],
)
def test_a_slip_on_the_command_line_is_named(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(arguments)
    except SystemExit as end:
        status = int(end.code or 0)
    told = capsys.readouterr()
    assert (status, told.out, told.err.count("\n")) == (2, "", 1)
    assert f': did you mean "{meant}"?' in told.err


# Help


def help_of(*arguments: str) -> str:
    """What asking for help prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        assert main([*arguments]) == 0
    return out.getvalue()


@pytest.mark.parametrize("name", NAMES)
def test_every_program_has_help(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    told = help_of(*name.split(), "--help")
    assert told.lower().startswith(f"usage: desdaemon {name}") or told.startswith(f"desdaemon {name}")
    assert max(map(len, told.splitlines())) < 80
    assert "``" not in told
    assert help_of(*name.split(), "-h") == help_of("help", *name.split()) == told
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("arguments", [["-h"], ["--help"], ["-q", "-h"], ["help"]])
def test_the_option_h_alone_prints_help(arguments: list[str]) -> None:
    assert read_arguments(arguments).information == "help"
    assert read_arguments(["-h", "20"]).settings.hash_table_size == 20


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("arguments", [["--help"], ["help", "book"], ["help", "commands"], ["help", "book", "learn"]])
def test_help_fits_the_terminal(columns: int, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert max(map(len, help_of(*arguments).splitlines())) <= columns


def test_help_in_the_dialogue_is_not_broken_where_nobody_reads_it() -> None:
    """Programs that read the answers get a line for each command."""
    lines = Dialogue().say("help commands").splitlines()
    assert any(len(line) > 120 for line in lines)


@pytest.mark.parametrize("command", BOOK_COMMANDS, ids=lambda command: command.name)
def test_help_of_a_book_command_names_its_parameters(command: object) -> None:
    told = Dialogue().say(f"help book {command.name}")  # type: ignore[attr-defined]
    for parameter in command.parameters:  # type: ignore[attr-defined]
        assert parameter.help in told


def test_each_program_explains_its_options() -> None:
    assert "desdaemon match" in Dialogue().say("help match")
    assert {f"desdaemon {name}" for name in NAMES} <= set(
        re.findall(
            r"desdaemon \w+(?: (?:book|judge|site|server|scheduler|restarts|storm|web|cluster)\b)?",
            Dialogue().say("help programs"),
        )
    )
    assert laid_out(topic("base check")[0])[0].startswith("  base check in empties")
    assert len(topic("")) == 5
    assert {command.name for command in BASE_COMMANDS} <= set(Dialogue().say("help base").split())


@pytest.mark.parametrize("arguments", [["5", "--mode=2"], ["5", "--mode", "2"], ["5", "-mode", "2"], ["--mode=2", "5"]])
def test_perft_counts_in_its_mode(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perft", *arguments]) == 0
    assert capsys.readouterr().out == "1396\n"


# The configuration file


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_options_are_read_from_the_configuration_file(no_settings: Path) -> None:
    assert configured([]).settings.level == 21
    text = 'level = 18\nn-tasks = 4\nmove-time = 2.5\nbook-file = "~/a.book"\necho = true\n[gtp]\nlevel = 12\n'
    written(no_settings, text)
    settings, warnings, *_ = configured(["-n", "3"])
    assert (settings.level, settings.n_tasks, settings.move_time, settings.echo) == (18, 3, 2500, True)
    assert (settings.book_file, settings.level_chosen, warnings) == (str(Path("~/a.book").expanduser()), True, [])
    assert configured(["-gtp"]).settings.level == 12
    assert configured([], section="serve").settings.level == 18
    assert configured([], "desdaemon-gtp").settings.level == 12
    assert configured(["--config", "none"]).settings.level == 21
    other = written(no_settings.parent / "other.toml", "level = 3\nlevle = 2\n[gpt]\n")
    settings, warnings, *_ = configured(["--config", str(other)])
    assert settings.level == 3
    assert len(warnings) == 2
    assert 'did you mean "gtp"?' in warnings[0]
    assert 'did you mean "level"?' in warnings[1]


def test_the_configuration_does_not_decide_whose_name_is_said(no_settings: Path) -> None:
    """Its options may be Edax's: that nobody asked for them on the command line is what counts."""
    written(no_settings, "level = 3\n")
    assert not configured([]).settings.edax_compatible
    assert configured(["-q"]).settings.edax_compatible
    written(no_settings, "edax-compatible = true\n")
    assert configured([]).settings.edax_compatible
    written(no_settings, "edax-compatible = false\n")
    assert not configured(["-q"]).settings.edax_compatible


@pytest.mark.parametrize("text", ["level = 99\n", "level = [1]\n", "level = \n", "[text]\nlevel = 'x'\n", "\x00"])
def test_an_unusable_configuration_is_named(text: str, no_settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(no_settings, text)
    with pytest.raises(UnusableFile, match=re.escape(str(no_settings))):
        configured([])
    assert main(["-q"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert configured(["--config=none"]).settings.level == 21


def test_edax_ini_is_read_where_edax_s_options_are(tmp_path: Path, no_settings: Path) -> None:
    (tmp_path / "edax.ini").write_text("level = 7\n")
    assert configured([]).settings.level == 21
    assert configured(["-book-check", "on"]).settings.level == 21
    assert configured(["-gtp"]).settings.level == 21
    assert [configured(arguments).settings.level for arguments in (["-q"], ["-edax"], ["-n", "2"])] == [7, 7, 7]
    assert configured([], "lEdax").settings.level == 7
    written(no_settings, "level = 9\nn-tasks = 2\n")
    settings = configured(["-q"]).settings
    assert (settings.level, settings.n_tasks) == (7, 2)


# Man page and completions


@pytest.mark.parametrize("what", PATHS)
def test_the_files_are_those_of_the_tables(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With WRITE_TABLES in the environment they are written anew instead."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    path, make = PATHS[what], MAKERS[what]
    if os.environ.get("WRITE_TABLES"):
        path.write_text(make(), encoding="utf-8")
    assert make() == path.read_text(encoding="utf-8")


def completed(*line: str) -> list[str]:
    """What bash offers for the last word of a command line."""
    script = (
        f'source "{PATHS["bash"]}"; COMP_WORDS=({" ".join(map(repr, line))}); COMP_CWORD={len(line) - 1}; '
        '_desdaemon; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes() -> None:
    assert completed("desdaemon", "mat") == ["match"]
    assert {"match", "bench", "-level", "--version", "-gtp"} <= set(completed("desdaemon", ""))
    assert completed("desdaemon", "match", "--game") == ["--games"]
    assert {"--help", "--ply", "--repeat", "--json"} <= set(completed("desdaemon", "bench", "book", "--"))
    assert "new" in completed("desdaemon", "keys", "")
    assert completed("desdaemon", "count", "pos") == ["positions"]


def test_the_man_page_names_everything() -> None:
    page = MAKERS["man"]().replace("\\-", "-")
    for command in SUB_COMMANDS:
        assert f"desdaemon {command.name}" in page
        assert all(switch.name in page for switch in switches(command) if switch.help)
    for option in OPTIONS:
        assert option.idle or f"-{option.name}" in page
    assert len(own_switches()) > len(list(COMMANDS)) / 2
