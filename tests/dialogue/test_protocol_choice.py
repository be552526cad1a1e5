"""How a protocol is asked for: by option, by the program's name, by the first line."""

from __future__ import annotations

import json

import pytest
from live import converse

from desdaemon.cli.arguments import protocol_of_program, read_arguments
from desdaemon.cli.main import usage
from desdaemon.dialogue.commands.help import joined
from desdaemon.dialogue.dialects import NAMES


@pytest.mark.parametrize("protocol", NAMES)
def test_an_option_chooses_the_protocol(protocol: str) -> None:
    asked = [[f"-{protocol}"], [f"--{protocol}"], ["--protocol", protocol], [f"-protocol={protocol}"]]
    assert {read_arguments(arguments).protocol for arguments in asked} == {protocol}
    assert read_arguments([]).protocol == "text"
    text = joined([usage()], 0)
    assert "{" not in text
    assert protocol == "text" or protocol in text


@pytest.mark.parametrize("protocol", NAMES[1:])
def test_the_name_of_the_program_chooses_the_protocol(protocol: str) -> None:
    assert protocol_of_program(f"desdaemon-{protocol}") == protocol
    assert protocol_of_program(f"Des{protocol.upper()}.exe") == protocol
    assert protocol_of_program("desdaemon") == "text"


def test_an_object_in_json_is_a_first_line() -> None:
    line = json.dumps({"v": 1, "id": 7, "op": "ping"}).encode() + b"\n"
    answers = [converse(line, *arguments) for arguments in (["-json"], ["-q"])]
    replies = [json.loads(answer.stdout.removeprefix(b">\n").splitlines()[0]) for answer in answers]
    assert replies[0] == replies[1]
    assert (replies[0]["id"], replies[0]["type"]) == (7, "final")
