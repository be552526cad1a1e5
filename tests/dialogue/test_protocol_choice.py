"""How a protocol is asked for: by option, by the program's name, by the first line."""

from __future__ import annotations

import json

import pytest
from live import converse

from desdaemon.cli.arguments import protocol_of_program, read_arguments
from desdaemon.cli.main import usage
from desdaemon.dialogue.commands.help import joined
from desdaemon.dialogue.dialects import MODULES, NAMES

FIRST = {
    "gtp": (b"protocol_version\nname\nquit\n", b"= 2\n\n= desdaemon\n\n= \n\n"),
    "nboard": (b"nboard 2\nping 3\nquit\n", b"set myname desdaemon\npong 3\n"),
    "xboard": (b"xboard\nping 3\nquit\n", b"pong 3\n"),
    "cassio": (b"ENGINE-PROTOCOL init\nENGINE-PROTOCOL quit\n", b"ready.\nbye bye.\n"),
}


@pytest.mark.parametrize("protocol", NAMES)
def test_by_option(protocol: str) -> None:
    asked = [[f"-{protocol}"], [f"--{protocol}"], ["--protocol", protocol], [f"-protocol={protocol}"]]
    assert {read_arguments(arguments).protocol for arguments in asked} == {protocol}
    assert read_arguments([]).protocol == "text"
    text = joined([usage()], 0)
    assert "{" not in text
    assert protocol == "text" or protocol in text


@pytest.mark.parametrize("protocol", MODULES)
def test_by_the_name_of_the_program(protocol: str) -> None:
    assert protocol_of_program(f"desdaemon-{protocol}") == protocol
    assert protocol_of_program(f"Des{protocol.upper()}.exe") == protocol
    assert protocol_of_program("desdaemon") == "text"


@pytest.mark.parametrize("protocol", FIRST)
def test_by_the_first_line(protocol: str) -> None:
    lines, answers = FIRST[protocol]
    whole = converse(lines, f"-{protocol}")
    assert whole.stdout.replace(b"= \n", b"=\n") == answers.replace(b"= \n", b"=\n")
    assert (whole.stderr, whole.returncode) == (b"", 0)
    found = converse(lines, "-q")
    assert (found.stdout, found.stderr, found.returncode) == (b">\n" + whole.stdout, b"", 0)


def test_an_object_in_json_is_a_first_line() -> None:
    line = json.dumps({"v": 1, "id": 7, "op": "ping"}).encode() + b"\n"
    answers = [converse(line, *arguments) for arguments in (["-json"], ["-q"])]
    replies = [json.loads(answer.stdout.removeprefix(b">\n").splitlines()[0]) for answer in answers]
    assert replies[0] == replies[1]
    assert (replies[0]["id"], replies[0]["type"]) == (7, "final")


@pytest.mark.parametrize("line", ["protocol_version now", "nboard 9", "ping 3"])
def test_other_lines_stay_in_the_text_protocol(line: str) -> None:
    answer = converse(f"{line}\nmoves\n".encode(), "-q")
    assert answer.stderr.count(b"\n") == 1
    assert b"D3 C4 F5 E6" in answer.stdout
