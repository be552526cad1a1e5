"""The sessions and programs that README and docs/ show, and a folder to carry them out in.

What is shown stands in fenced blocks; the word after the fence says what becomes of it:

- ``console``: carried out. ``$ `` begins a command, ``strong$ `` and ``laptop$ `` one on the machines of
  docs/remote-analysis.md. Behind a command comes what it prints on standard output. Lines that begin with ``>`` are
  typed into it, and it shows its prompt ``>`` before each of them. A command with ``serve`` or ``desdaemon web`` runs
  until the next one or the end of the document.
- ``python``: carried out, as a program of its own, in the folder of the commands.
  ``python shown`` is a part of one, to be read.
- ``text``: shown only. It must not look like a session. ``json``, ``toml``, ``ini`` and ``sh`` are files.

``...`` in what is printed stands for any text, as a line of its own for any lines. A search's times, nodes and speed,
and this program's version, are not compared. More words after ``console`` or ``python``: ``slow`` (minutes; the test is
marked so) and ``needs=NAME,NAME``: programs, or ``wthor`` for the WTHOR base, without which the block is passed over.

With WRITE_DOCUMENTS in the environment what differs is also written into the document, as after a change of weights.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from checkout import IMPORT, ROOT, SHARED
from processes import two_free_ports

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
KINDS = ("console", "python", "text", "json", "toml", "ini", "sh")
PROMPT = re.compile(r"^(?:strong|laptop)?\$ ", re.MULTILINE)
SESSION = re.compile(r"^\s*(?:(?:strong|laptop)?\$ |>(?!=)\S)", re.MULTILINE)
"""What a line of a session looks like."""

PROGRESS = re.compile(
    r"^Book .*\.\.\.(?:queued|running|[^:]*(?:\d:\d\d left[^:]*)?: \d+ positions?"
    r"(?:, \d+ added, \d+ search(?:es)?)?(?:, [\d.]+/s)?(?:, \d+ workers?, \d+ slots?, \d+% busy)?)$\n?",
    re.MULTILINE,
)
"""What a command that takes longer than usual says meanwhile."""

ELSEWHERE = ("git clone", "make compiled", "make docs", "scp ", "pip install", "cd clients/examples/node", "node ")
"""How commands begin that take a network, a second machine or another clone; they are not carried out."""

PATIENCE_S = 3600


class Block(NamedTuple):
    """A fenced block: its document and first line, its kind, the words behind that, and its text."""

    document: Path
    line: int
    kind: str
    words: tuple[str, ...]
    text: str

    @property
    def needs(self) -> list[str]:
        """What has to be installed."""
        return [name for word in self.words if word.startswith("needs=") for name in word[6:].split(",")]

    @property
    def slow(self) -> bool:
        """Whether it takes minutes."""
        return "slow" in self.words


class Step(NamedTuple):
    """A command, where it stands, the lines typed into it (None: nothing), and what it is said to print."""

    document: Path
    command: str
    line: int
    typed: str | None
    printed: str


def blocks(document: Path) -> list[Block]:
    """The fenced blocks of a document."""
    text = document.read_text("utf-8")
    found = []
    for match in re.finditer(r"^( *)```([^\n]*)\n(.*?)^\1```$", text, re.DOTALL | re.MULTILINE):
        kind, *words = match[2].split() or [""]
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(document, line, kind, tuple(words), re.sub(f"^{match[1]}", "", match[3], flags=re.M)))
    return found


def steps(block: Block) -> list[Step]:
    """The commands of a ``console`` block."""
    found = []
    starts = [match.start() for match in PROMPT.finditer(block.text)]
    for start, end in zip(starts, [*starts[1:], len(block.text)], strict=True):
        command, _, output = block.text[start:end].partition("\n")
        typed = re.findall(r"^>(.+)$", output, re.MULTILINE)
        line = block.line + 1 + block.text.count("\n", 0, start)
        # Where lines are typed, the prompt is all that standard output shows of them.
        shown = re.sub(r"^>.+$", ">", output, flags=re.MULTILINE) if typed else output
        lines = "".join(f"{text}\n" for text in typed) if typed else None
        found.append(Step(block.document, PROMPT.sub("", command), line, lines, shown))
    return found


def essence(text: str, *, typed: bool) -> list[str]:
    """The lines of an output without what differs from run to run."""
    # A search table keeps depth, score and the first move; a proved line of a report its move and score.
    text = re.sub(r" +\d+:\d\d\.\d{3} +\d+ +\d+ (\w\w) .*", r" \1", text)
    text = re.sub(r"^( *\d+  [XO] \w\w +[+-]\d+) .* exact .*$", r"\1", text, flags=re.MULTILINE)
    text = PROGRESS.sub("", text)
    text = re.sub(r"\bdesdaemon \d+\.\d+\.\d+\b", "desdaemon VERSION", text)
    text = re.sub(r" \(\d+(?:\.\d+)? s\)$", "", text, flags=re.MULTILINE)
    lines = [line.rstrip() for line in text.rstrip().splitlines()]
    # The last prompt is shown to nobody who has left.
    while typed and lines and lines[-1] in (">", ""):
        lines.pop()
    return lines


def difference(shown: list[str], printed: list[str]) -> str:
    """Empty where ``printed`` is what ``shown`` says, else a line about the first difference."""
    parts: list[list[str]] = [[]]
    for line in shown:
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    at = 0
    for number, part in enumerate(parts):
        free = number > 0
        last = number == len(parts) - 1
        if last and free:
            start = len(printed) - len(part)
            places = [start] if start >= at else []
        else:
            places = list(range(at, len(printed) - len(part) + 1)) if free else [at]
        fitting = next((place for place in places if _fits(part, printed[place : place + len(part)])), None)
        if fitting is None:
            return _first_difference(part, printed[at:])
        at = fitting + len(part)
    return "" if at == len(printed) else f"printed as well: {printed[at]!r}"


def _fits(part: list[str], lines: list[str]) -> bool:
    return len(part) == len(lines) and all(_same(shown, line) for shown, line in zip(part, lines, strict=True))


def _same(shown: str, line: str) -> bool:
    return shown == line or ("..." in shown and bool(re.fullmatch(re.escape(shown).replace(r"\.\.\.", ".*"), line)))


def _first_difference(part: list[str], lines: list[str]) -> str:
    for at, shown in enumerate(part):
        if at >= len(lines) or not _same(shown, lines[at]):
            # Behind lines left out, the one that comes nearest says most.
            near = next(
                (line for line in lines if line[:12] == shown[:12]), lines[at] if at < len(lines) else "nothing"
            )
            return f"shown {shown!r}, printed {near!r}"
    return f"shown {part!r}, printed {lines!r}"


class Desk:
    """A folder in which a document's commands are carried out, with `desdaemon` on the path and no settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._port = two_free_ports()
        self._server: subprocess.Popen[bytes] | None = None
        binaries = folder / ".venv" / "bin"
        binaries.mkdir(parents=True)
        # With one processor, a selective search prints the same each time.
        one = "sorted(os.sched_getaffinity(0))[os.getpid() % len(os.sched_getaffinity(0))]"
        start = f"import os, runpy, sys; os.sched_setaffinity(0, {{{one}}}); sys.path.insert(0, {str(ROOT)!r})"
        start += "; runpy.run_module('daemon', run_name='__main__')"
        (binaries / "desdaemon").write_text(f'#!/bin/sh\nexec {sys.executable} -P -c "{start}" "$@"\n')
        (binaries / "desdaemon").chmod(0o755)
        self._library = folder / ".python"
        self._library.mkdir()
        # Importing it puts the checkout in its own place.
        (self._library / "desdaemon.py").write_text(IMPORT)
        own = {"XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data", "DESDAEMON_RUNTIME_DIR": "run"}
        paths = [str(binaries), str(Path(sys.executable).parent), os.environ.get("PATH", ""), "/usr/games"]
        self.environment = {
            **os.environ,
            **{name: str(folder / f".{part}") for name, part in own.items()},
            "PATH": os.pathsep.join(paths),
            "LC_ALL": "C.UTF-8",
            "COLUMNS": "80",
        }
        wthor = SHARED / "data" / "wthor"
        if wthor.is_dir():
            (folder / "wthor").symlink_to(wthor)
        for file in wthor.glob("*") if wthor.is_dir() else ():
            (folder / file.name).symlink_to(file)

    def close(self) -> None:
        """End the server that is running; raises AssertionError where it did not end well."""
        server, self._server = self._server, None
        if server is not None:
            server.terminate()
            assert server.wait(60) == 0

    def check(self, step: Step) -> str:
        """Carry out a command; what is wrong with what is shown of it, or nothing."""
        if step.command.startswith(ELSEWHERE):
            return ""
        command = re.sub(r"\bmake -s run ARGS=(\S+)", r".venv/bin/desdaemon \1", step.command)
        if server := re.search(r"desdaemon (serve|web)\b(?!.*--help)", command):
            return self._serve(command, told=server[1] == "web")
        done = self._done(command, step.typed)
        if done.returncode:
            return f"ended with {done.returncode}: {done.stderr}"
        typed = step.typed is not None
        wrong = difference(essence(step.printed, typed=typed), essence(done.stdout, typed=typed))
        if wrong and os.environ.get("WRITE_DOCUMENTS"):
            _rewrite(step, done.stdout)
        return wrong

    def run_program(self, text: str, number: int) -> str:
        """Run a ``python`` block; what went wrong, or nothing."""
        program = self.folder / f"program{number}.py"
        program.write_text(self._here(text), encoding="utf-8")
        done = self._done(f"PYTHONPATH={self._library} {sys.executable} {program}", None)
        return done.stderr if done.returncode else ""

    def _here(self, text: str) -> str:
        return text.replace("6464", str(self._port)).replace("tcp://strong", "tcp://127.0.0.1")

    def _done(self, command: str, typed: str | None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", self._here(command)],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            input=typed or "",
        )

    def _serve(self, command: str, *, told: bool) -> str:
        """Start a server, which is there when its file of the connection is or, where it is ``told``, its address."""
        self.close()
        known = Path(self.environment["DESDAEMON_RUNTIME_DIR"]) / "connection.json"
        log = self.folder / ".log"
        with log.open("wb") as file:
            self._server = subprocess.Popen(
                ["bash", "-c", f"exec {self._here(command.split('#')[0])}"],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                preexec_fn=_heed_interrupts,
            )
        until = time.monotonic() + 60

        def ready() -> bool:
            return "http" in log.read_text() if told else known.exists()

        while not ready() and self._server.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        if ready():
            return ""
        self._server = None
        return f"does not serve: {log.read_text()}"


def _rewrite(step: Step, printed: str) -> None:
    """Put what was printed in the place of each line that begins alike; where none is left out, all of it."""
    printed = PROGRESS.sub("", printed)
    lines = [re.sub(r" \(\d+(?:\.\d+)? s\)$", "", line.rstrip()) for line in printed.splitlines()]
    text = step.document.read_text("utf-8").splitlines(keepends=True)
    first = step.line
    last = next(at for at in range(first, len(text)) if text[at].startswith("```") or PROMPT.match(text[at]))
    shown = [line.rstrip("\n") for line in text[first:last]]
    if "..." not in shown:
        typed = iter((step.typed or "").splitlines())
        new = [f">{next(typed, '')}" if line == ">" and step.typed else line for line in lines]
        while new and new[-1] == ">":
            new.pop()
    else:
        new = [next((line for line in lines if line[:20] == old[:20]), old) if len(old) > 20 else old for old in shown]
    text[first:last] = [f"{line}\n" for line in new]
    step.document.write_text("".join(text), "utf-8")


def _heed_interrupts() -> None:
    """A test run in the background of a shell ignores interrupts, and so would its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def missing(block: Block) -> list[str]:
    """What a block needs and is not here."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/games"])
    here = {"wthor": (SHARED / "data" / "wthor").is_dir()}
    return [name for name in block.needs if not here.get(name, bool(shutil.which(name, path=path)))]


def carry_out(document: Path, folder: Path, *, slow: bool) -> None:
    """Carry out a document's sessions and programs in order, without the slow ones or with them; fails with a list."""
    desk = Desk(folder)
    wrong = []
    passed_over = []
    try:
        for number, block in enumerate(blocks(document)):
            if block.kind not in ("console", "python") or "shown" in block.words or (block.slow and not slow):
                continue
            if missing(block):
                passed_over.append(f"line {block.line}: {', '.join(missing(block))}")
            elif block.kind == "python":
                found = desk.run_program(block.text, number)
                wrong += [f"{document.name}:{block.line}: {found}"] if found else []
            else:
                for step in steps(block):
                    found = desk.check(step)
                    wrong += [f"{document.name}:{step.line}: {step.command}: {found}"] if found else []
    finally:
        desk.close()
    wrong += [f"{document.name}: an example leaves {path.name} behind" for path in folder.rglob("*.unsaved-*")]
    assert not wrong, "\n".join(wrong)
    if passed_over:
        pytest.skip(f"not all carried out: {'; '.join(passed_over)}")


def tables(text: str) -> Iterator[tuple[int, list[str]]]:
    """The runs of lines that begin with ``|``, fenced blocks left out, with the number of their first line."""
    fenced = False
    run: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        fenced ^= line.lstrip().startswith("```")
        if line.startswith("|") and not fenced:
            run.append(line)
        elif run:
            yield number - len(run), run
            run = []
