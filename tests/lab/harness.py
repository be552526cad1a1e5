"""Record what a program says and makes, to compare it with the recording of another version: `record`, `compare`.

The recording is a folder of text files: help, dialogues in every protocol, replies of every operation over a socket,
digests of books made by a fixed script, the nodes of the signature. Times and speeds are blanked; everything else of
two versions that behave alike is equal. Threads: one, since the nodes of several depend on chance.

    python tests/lab harness record build/before --program '../before/.venv/bin/desdaemon'
    python tests/lab harness record build/after
    python tests/lab harness compare build/before build/after
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zmq

from desdaemon.protocol.wire import codec

OPTIONS = ["--config", "none", "-n-tasks", "1"]
WAIT_S = 120.0

GAME = "f5d6c3d3c4f4f6f3e6e7d7c6b5c5"

TEXT = f"""
play {GAME}
hint 3
go
undo
undo
moves
setboard -XO-OX---XXOOX---XXXOOX-XXXXXXOOXXXOXOOO-XXOOXOO-XOXXO----XXX--- X;
hint 2
mobility
analyze 4
undo
redo
init
count games 5
perft 5
symetry 3
rotate 90
book show
book info
options
nonsense
play a1
level 99
help play
version
quit
"""

BOOK = """
book new 6 8
book deviate 2 2
book info
book show
book enhance 1 1
book verify
book stats
book negamax
book prune
book save {folder}/made.book
book export {folder}/made.dat
book export {folder}/made.txt
book export {folder}/made.egbk3
book new 4 6
book import {folder}/made.dat
book diff {folder}/made.book
quit
"""

GTP = f"""
list_commands
name
protocol_version
boardsize 8
clear_board
{chr(10).join(f"play {'black' if ply % 2 == 0 else 'white'} {GAME[2 * ply : 2 * ply + 2]}" for ply in range(6))}
showboard
reg_genmove black
genmove black
final_undo
known_command play
play black a1
nonsense
quit
"""

NBOARD = f"""
nboard 2
set depth 6
set game (;GM[Othello]PC[NBoard]BO[8 {27 * "-"}O*{6 * "-"}*O{27 * "-"} *]B[F5]W[D6];)
ping 1
hint 3
ping 2
go
ping 3
move E6
ping 4
learn
quit
"""

XBOARD = """
xboard
protover 2
new
variant othello
setboard 8/8/8/3Pp3/3pP3/8/8/8 w - - 0 1
sd 6
ping 1
usermove P@d3
ping 2
force
undo
ping 3
?
nonsense
quit
"""

CASSIO = """
ENGINE-PROTOCOL init
ENGINE-PROTOCOL get-version
ENGINE-PROTOCOL midgame-search ---------------------------OX------XO---------------------------X -64.00 64.00 6 73
ENGINE-PROTOCOL endgame-search XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXOOOXXXXXOOOXXXXXXXXOO--XXX---X -64 64 20 100
ENGINE-PROTOCOL new-position
ENGINE-PROTOCOL quit
"""

REQUESTS: tuple[dict[str, Any], ...] = (
    {"op": "ping"},
    {"op": "hello", "args": {"name": "harness"}},
    {"op": "legal", "args": {"moves": GAME}},
    {"op": "analyze", "args": {"moves": GAME, "level": 6, "multipv": 2}},
    {"op": "analyze", "args": {"moves": "f5d6", "depth": 3, "book": "ignore"}},
    {"op": "analyze", "args": {"moves": GAME, "plies": [0, 1, 5], "level": 2}},
    {"op": "analyze", "args": {"level": "6"}},
    {"op": "text", "args": {"line": "hint 2"}},
    {"op": "text", "args": {"line": "moves"}},
    {"op": "book.get", "args": {"moves": "f5"}},
    {"op": "book.info"},
    {"op": "book.new", "args": {"level": 4, "depth": 8}},
    {"op": "book.deviate", "args": {"relative": 2, "absolute": 2}},
    {"op": "book.show", "args": {"moves": "f5"}},
    {"op": "book.verify"},
    {"op": "jobs"},
    {"op": "status"},
    {"op": "metrics"},
    {"op": "nonsense"},
    {"op": "analyze", "args": {"nonsense": 1}},
)

BLANKED = (
    (re.compile(r"\b\d+:\d\d(?::\d\d)?\.\d+"), "0:00"),
    (re.compile(r"\b\d+(?:\.\d+)?(?: |e\d+ )?(?=(?:ms|s|us|min|%|kN/s|MN/s|N/s|[kMG]?B|MiB|KiB|nodes/s)\b)"), "# "),
    (
        re.compile(r'("(?:time_s|time_ms|ms|nps|uptime_s|started|pid|memory|id|session|process|rss[a-z_]*)": )[^,}]+'),
        r"\1#",
    ),
    (re.compile(r"(desdaemon_\w+(?:\{[^}]*\})?) [\d.e+]+"), r"\1 #"),
    (re.compile(r'("(?:memory_mb|loop|seconds|accounts|queued|running)": )(?:\{[^}]*\}|\[[^]]*\]|[^,}]+)'), r"\1#"),
    (re.compile(r"(?m)(^ *\d+(?:@\d+%)? +[<>]?[+-]\d+ .* \d+ +)\d+ (?=[a-hA-H-])"), r"\1# "),
    (re.compile(r"(?<=\d) {2,}\d+ (?=[a-hA-H][1-8] )"), "  # "),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?"), "DATE"),
    (re.compile(r"/[\w./-]*harness-[\w-]+"), "FOLDER"),
)


def blanked(text: str, folder: Path) -> str:
    """Return ``text`` without what differs from run to run: times, speeds, dates, the folder."""
    text = text.replace(str(folder), "FOLDER")
    for pattern, instead in BLANKED:
        text = pattern.sub(instead, text)
    return text


class Recording:
    """A folder of texts that one program makes."""

    def __init__(self, program: list[str], folder: Path) -> None:
        self.program = program
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.environment = {**os.environ, "DESDAEMON_RUNTIME_DIR": str(self.work / "run"), "COLUMNS": "80"}

    def run(self, arguments: list[str], text: str = "") -> str:
        """Return what the program prints for ``text``, and what it writes to standard error below a rule."""
        done = subprocess.run(
            [*self.program, *arguments],
            input=text.lstrip("\n"),
            capture_output=True,
            text=True,
            timeout=WAIT_S * 5,
            cwd=self.work,
            env=self.environment,
            check=False,
        )
        return f"{done.stdout}\n--- standard error, status {done.returncode}\n{done.stderr}"

    def keep(self, name: str, text: str) -> None:
        """Write a text of the recording."""
        (self.folder / f"{name}.txt").write_text(blanked(text, self.work), "utf-8")

    def helps(self) -> None:
        """Record the help of the program, of every topic and of every sub-command."""
        usage = self.run(["--help"])
        self.keep("help", usage)
        names = re.findall(r"^  desdaemon ((?:[a-z]+)(?: [a-z]+)?)  +", usage, re.MULTILINE)
        for name in names:
            self.keep(f"help-{name.replace(' ', '-')}", self.run([*name.split(), "--help"]))
        self.keep("help-text", self.run(["-q", *OPTIONS], "help\nquit\n"))

    def dialogues(self) -> None:
        """Record a dialogue in every protocol, the text protocol's at four verbosities."""
        for verbosity in range(4):
            arguments = ["-q", *OPTIONS, "-level", "6", "-verbose", str(verbosity), "-book-usage", "off"]
            self.keep(f"text-{verbosity}", self.run(arguments, TEXT))
        for name, text in (("gtp", GTP), ("nboard", NBOARD), ("xboard", XBOARD), ("cassio", CASSIO)):
            self.keep(name, self.run([f"-{name}", *OPTIONS, "-level", "6", "-book-usage", "off"], text))
        lines = "".join(json.dumps({"id": number, **request}) + "\n" for number, request in enumerate(REQUESTS))
        self.keep("json", "".join(sorted(self.run(["--protocol", "json", *OPTIONS], lines).splitlines(keepends=True))))

    def books(self) -> None:
        """Record a dialogue that makes a book, and digests of its files."""
        text = BOOK.format(folder=self.work)
        self.keep("book", self.run(["-q", *OPTIONS, "-book-usage", "off"], text))
        # The first 42 bytes of a .dat have the date; the native file has its own, and a name drawn by chance.
        made = [self.work / f"made.{form}" for form in ("dat", "txt", "egbk3")]
        digests = [f"{path.name} {hashlib.sha256(path.read_bytes()[42:]).hexdigest()}\n" for path in made]
        self.keep("book-files", "".join(digests))

    def socket(self) -> None:
        """Record the replies to every request of `REQUESTS`, one after the other, over a socket."""
        path = self.work / "harness.sock"
        server = subprocess.Popen(
            [*self.program, "serve", "--ipc", str(path), "--data", str(self.work / "data"), *OPTIONS],
            stderr=subprocess.DEVNULL,
            cwd=self.work,
            env=self.environment,
        )
        try:
            until = time.monotonic() + WAIT_S
            while not path.exists() and time.monotonic() < until:
                time.sleep(0.05)
            with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
                dealer.linger = 0
                dealer.connect(f"ipc://{path}")
                replies = [json.dumps(reply, default=str) for reply in self._replies(dealer)]
        finally:
            server.terminate()
            server.wait(WAIT_S)
        self.keep("socket", "\n".join(replies) + "\n")

    def _replies(self, dealer: zmq.Socket[bytes]) -> Iterator[Any]:
        for number, request in enumerate(REQUESTS):
            dealer.send(codec.encode({"v": 1, "id": number, **request}))
            while True:
                if not dealer.poll(int(WAIT_S * 1000)):
                    yield {"id": number, "silence": request["op"]}
                    break
                reply = codec.decode(dealer.recv_multipart()[-1])
                yield reply
                if reply.get("id") == number and reply.get("kind", reply.get("type")) not in ("partial", "event"):
                    break

    def signature(self) -> None:
        """Record the nodes of the engine's fixed searches."""
        self.keep("signature", "\n".join(re.findall(r"signature \d+", self.run(["bench", "signature"]))))


def compare(before: Path, after: Path) -> int:
    """Print the differences of two recordings; returns 1 where there are any."""
    status = 0
    names = [{path.name for path in folder.glob("*.txt")} for folder in (before, after)]
    for name in sorted(names[0] ^ names[1]):
        status = 1
        sys.stdout.write(f"{name}: in one recording only\n")
    for name in sorted(names[0] & names[1]):
        left, right = ((folder / name).read_text("utf-8").splitlines() for folder in (before, after))
        for line in difflib.unified_diff(left, right, f"before/{name}", f"after/{name}", n=0, lineterm=""):
            status = 1
            sys.stdout.write(line + "\n")
    return status


def main(arguments: list[str]) -> int:
    """Record a program, or compare two recordings; returns the exit status."""
    parser = argparse.ArgumentParser("tests/lab harness", description="What a program says and makes, recorded.")
    kinds = parser.add_subparsers(dest="kind", required=True)
    record = kinds.add_parser("record")
    record.add_argument("folder", type=Path)
    record.add_argument("--program", default=f"{shlex.quote(sys.executable)} -m desdaemon")
    record.add_argument("--only", nargs="*", default=["helps", "dialogues", "books", "socket", "signature"])
    other = kinds.add_parser("compare")
    other.add_argument("before", type=Path)
    other.add_argument("after", type=Path)
    options = parser.parse_args(arguments)
    if options.kind == "compare":
        return compare(options.before, options.after)
    recording = Recording(shlex.split(options.program), options.folder.resolve())
    for part in options.only:
        sys.stderr.write(f"{part}\n")
        getattr(recording, part)()
    return 0
