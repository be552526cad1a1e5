"""What every protocol does: its commands are known, bad lines do not end it, and it works without an engine."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest
from collected import Collected
from fake_engine import build_fake
from live import Live, converse
from test_file_names import MARK
from test_session import ponders
from waits import until

from desdaemon.core.search.loader import EngineConfig, EngineFailure, EngineSource, LoadedEngine
from desdaemon.core.settings import SessionSettings
from desdaemon.dialogue.dialects.text import TextDialect
from desdaemon.dialogue.session import Session
from desdaemon.dialogue.text_sessions import checked_line
from desdaemon.guis.cassio import CassioDialect
from desdaemon.guis.codecs import cassio, gtp, nboard, xboard
from desdaemon.guis.gtp import GtpDialect
from desdaemon.guis.nboard import NBoardDialect
from desdaemon.guis.xboard import XBoardDialect
from desdaemon.protocol.commands import text
from desdaemon.protocol.commands.text import read_line
from desdaemon.protocol.errors import lacking
from desdaemon.protocol.wire.messages import RequestError

DIALECTS = {
    "text": (TextDialect, text.COMMANDS),
    "gtp": (GtpDialect, gtp.COMMANDS),
    "nboard": (NBoardDialect, nboard.COMMANDS),
    "xboard": (XBoardDialect, xboard.COMMANDS),
    "cassio": (CassioDialect, cassio.COMMANDS),
}


@pytest.mark.parametrize("protocol", DIALECTS)
def test_every_command_of_the_table_is_known(protocol: str) -> None:
    made, commands = DIALECTS[protocol]
    for command in commands:
        for name in (command.name, *getattr(command, "aliases", ())):
            output = Collected()
            session = Session(SessionSettings(), EngineSource(build_fake))
            # Those that go on until the next line end at once.
            session.interrupt.stop_all()
            made(session, output).execute(f"ENGINE-PROTOCOL {name}" if protocol == "cassio" else f"{name} nonsense")
            assert not re.search(r"(?i)unknown command", "".join(output.take())), name


def no_engine(config: EngineConfig) -> LoadedEngine:
    raise EngineFailure("no engine today")


@pytest.mark.parametrize(
    ("protocol", "line", "message", "next_line", "answer"),
    [
        ("text", "hint", "WARNING: no engine today\n", "moves", "D3 C4 F5 E6\n"),
        ("gtp", "genmove b", "? cannot search: no engine today\n\n", "play b F5", "=\n\n"),
        ("nboard", "go", "warning go: cannot search: no engine today\n", "ping 3", "pong 3\n"),
        ("xboard", "protover 2", "tellusererror cannot search: no engine today\n", "ping 3", "pong 3\n"),
    ],
)
def test_commands_say_that_no_engine_is_there(
    protocol: str, line: str, message: str, next_line: str, answer: str
) -> None:
    output = Collected()
    dialect = DIALECTS[protocol][0](Session(SessionSettings(), EngineSource(no_engine)), output)
    dialect.execute(line)
    assert "".join(output.take()).endswith(message)
    dialect.execute(next_line)
    assert output.take() == (answer, "")


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, "x", "module.py"), MemoryError()])
@pytest.mark.parametrize(
    ("protocol", "line", "said"),
    [
        ("text", "hint", "WARNING: "),
        ("gtp", "genmove b", "? "),
        ("gtp", "lz-analyze", "lz-analyze: "),
        ("nboard", "hint 1", "warning hint: "),
        ("xboard", "go", "tellusererror "),
        ("cassio", f"ENGINE-PROTOCOL midgame-search {'-' * 27}OX------XO{'-' * 27}X -64 64 8 100", "ERROR: "),
    ],
)
def test_what_a_search_lacks_is_said_in_a_line_and_the_dialogue_goes_on(
    protocol: str, line: str, said: str, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = Collected()
    session = Session(SessionSettings(), EngineSource(build_fake))

    def fail(*arguments: object, **options: object) -> None:
        raise error

    for name in ("search", "choose", "limits"):
        monkeypatch.setattr(session, name, fail)
    dialect = DIALECTS[protocol][0](session, output)
    dialect.execute(line)
    until(lambda: "try later" in "".join(output.out + output.err))
    told = "".join(output.take())
    assert f"{said}{lacking(error)}\n" in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("protocol", "ping", "said", "answer"),
    [
        (
            "gtp",
            b"3 na\x07me",
            (rb"\? syntax error: a line of \d+ bytes", rb"\?2 unknown command"),
            b"=3 desdaemon\n\n",
        ),
        ("nboard", b"ping\0 7", (rb"warning a line of \d+ bytes", rb"warning unknown command"), b"pong 7\n"),
        ("xboard", b"ping 7", (rb"Error \(a line of \d+ bytes", rb"Error \(unknown command"), b"pong 7\n"),
    ],
)
def test_long_and_broken_lines_are_refused(
    protocol: str, ping: bytes, said: tuple[bytes, bytes], answer: bytes
) -> None:
    done = converse(b"1 " + b"x" * 1_000_000 + b"\n2 \xff\xfe\n" + ping + b"\n", f"-{protocol}")
    assert re.match(said[0] + rb"[^\n]*\n+" + said[1], done.stdout)
    assert done.stdout.endswith(answer)
    assert (done.stderr, done.returncode) == (b"", 0)


@pytest.mark.parametrize(
    ("protocol", "lines", "end"),
    [
        ("xboard", b"xboard\nprotover 2\nnew\nhard\nP@f5\n", b"move P@"),
        ("xboard", b"new\nanalyze\n", b""),
        (
            "cassio",
            b"ENGINE-PROTOCOL midgame-search " + b"-" * 27 + b"OX------XO" + b"-" * 27 + b"X -64 64 8 100\n",
            b"ready.\n",
        ),
        ("nboard", b"nboard 2\r\nset depth 5\r\ngo\r\nquit\r\nping 2\r\n", b"status\n"),
        ("nboard", b"ping 1\n", b"pong 1\n"),
    ],
)
def test_the_end_of_the_input_ends_the_process(protocol: str, lines: bytes, end: bytes) -> None:
    with Live(f"-{protocol}", "-level", "4", "-book-file", "/nowhere/book.dat") as live:
        live.send(lines)
        live.until(end)
        assert live.end()[2] == 0


@pytest.mark.parametrize(
    ("protocol", "lines", "answer"),
    [
        ("gtp", b"genmove b\n", b"= D3\n\n"),
        ("nboard", b"nboard 2\ngo\nmove D3\n", b"\nstatus\n"),
        ("xboard", b"new\nhard\ngo\n", b"move P@d3\n"),
    ],
)
def test_the_engine_thinks_in_the_opponents_time_until_a_line_comes(protocol: str, lines: bytes, answer: bytes) -> None:
    ponders(protocol, lines, answer)


@pytest.mark.parametrize(
    ("protocol", "line", "answer"),
    [
        ("-gtp", "1 protocol_version", b"=1 2"),
        ("-xboard", "protover 2", b"feature"),
        ("-nboard", "ping 7", b"pong 7"),
        ("-cassio", "ENGINE-PROTOCOL get-search-infos", b"ready"),
    ],
)
def test_the_input_may_begin_with_a_byte_order_mark(protocol: str, line: str, answer: bytes) -> None:
    marked = converse(f"{MARK}{line}\n".encode(), protocol)
    assert answer in marked.stdout
    assert marked.stderr == b""


@pytest.mark.parametrize("line", ["nboard 2", "protocol_version", "xboard", "engine-protocol init"])
def test_a_remote_client_cannot_switch_to_it(line: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError) as caught:
        checked_line(read_line(line), "admin", str(tmp_path))
    assert caught.value.code == "forbidden"
