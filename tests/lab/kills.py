"""`python tests/lab hostile kills`: programs that write results, killed while they do.

Each has its results of an earlier run, and is killed at a random moment, or soon after a new file has appeared beside
them. Every file must be the old one or a new one, whole, and what was left goes with the next run.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
from synthetic_book import synthetic_book

from desdaemon.book.explorer.index import GamesIndex
from desdaemon.book.formats import registry
from desdaemon.clients.bench.daemon import PROGRAM, random_line
from desdaemon.engine.evaluation.weights import SHIPPED
from desdaemon.engine.training import store

from .findings import Findings

_PLIES, _GAMES, _ROWS = 50, 400, 20_000
_LONGEST_S = 300.0
_AFTER_S = 0.004
"""Seconds within which a program is killed after a new file was seen: most of them are written for as long."""
_LOOK_S = 0.0005
_RUN = "from desdaemon.cli.main import program; program()"


class Killed(NamedTuple):
    """A program whose results, all in one folder, come from one of two inputs."""

    arguments: Callable[[Path, str], list[str]]
    """Its arguments, from the folder of the results and "old" or "new", with which the names of its input begin."""
    typed: str = ""
    code: str = ""
    """What its process runs first."""
    goes_on: bool = False
    """Whether a killed run is gone on with, and its end is that of a run that was not killed."""


def _analyze(out: Path, input: str) -> list[str]:
    return ["analyze", "--level", "1", "--html", f"{out}/x.html", "--json", f"{out}/x.json", f"{input}-game.txt"]


def _analyze_all(out: Path, input: str) -> list[str]:
    return ["analyze", "--all", "--level", "1", "--html", str(out), "--json", f"{out}/x.jsonl", f"{input}-few.txt"]


def _campaign(out: Path, input: str) -> list[str]:
    options = ["--weights", str(SHIPPED), "--perturbed", "6", "--workers", "1", "--shards", "1"]
    return ["train", "campaign", str(out), "old-few.txt", *options]


_AT_ONCE = "from desdaemon.protocol.system import platform; platform.lower_process = lambda priority: None"
"""At idle priority a campaign would take hours on a busy machine."""

PROGRAMS = {
    "analyze": Killed(_analyze),
    "analyze --all": Killed(_analyze_all),
    "exercises": Killed(
        lambda out, input: ["exercises", "--level", "1", "--out", f"{out}/x.html", f"{input}-few.txt"],
    ),
    "match --page": Killed(
        lambda out, input: ["match", "self -l 1", "self -l 1", "--games", "2", "--page", str(out)],
    ),
    "book site": Killed(lambda out, input: ["book", "site", "--book", f"{input}.book", str(out)]),
    "book export": Killed(
        lambda out, input: ["-q", "--config", "none", "-book-file", f"{input}.book"],
        "book export {out}/x.book\nbook export {out}/x.egbk3\nbook export {out}/x.txt\nquit\n",
    ),
    "games index": Killed(lambda out, input: ["games", "index", "--out", f"{out}/games.index", f"{input}.txt"]),
    "train campaign": Killed(_campaign, code=_AT_ONCE, goes_on=True),
}


def kills(findings: Findings, times: int, names: tuple[str, ...] = tuple(PROGRAMS)) -> None:
    """Kill each program ``times`` times."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _make_inputs(folder, names)
        for name in names:
            with contextlib.chdir(folder):
                _kill(findings, name, times)


def _make_inputs(folder: Path, names: tuple[str, ...]) -> None:
    for seed, input in enumerate(("old", "new")):
        lines = [random_line(random.Random(f"{seed} {number}"), _PLIES) for number in range(_GAMES)]
        for kind, count in (("-game", 1), ("-few", 4), ("", _GAMES)):
            (folder / f"{input}{kind}.txt").write_text("\n".join(lines[:count]) + "\n")
        if any(name.startswith("book") for name in names):
            registry.write_native(folder / f"{input}.book", synthetic_book(_ROWS + 5_000 * seed, 1))


def _kill(findings: Findings, name: str, times: int) -> None:
    program, out = PROGRAMS[name], Path(name.replace(" ", ""))
    dice = random.Random(name)
    began = time.monotonic()
    old, new = (_whole_run(program, folder, input) for folder, input in ((out, "old"), (Path(f"{out}-new"), "new")))
    usual_s = (time.monotonic() - began) / 2
    found = dict.fromkeys(("killed", "ended before", "left a new file"), 0)
    files = dict.fromkeys(("old", "new"), 0)
    for number in range(times):
        if not program.goes_on:
            _reset(out, old)
        elif not number or _state(out).keys() >= new.keys():
            shutil.rmtree(out)
        least = len(_state(out)) + dice.randrange(len(new)) if program.goes_on else 0
        after_s = usual_s * dice.random() if number % 2 else None
        killed = _killed(program, out, after_s, least, dice.random() ** 2 * _AFTER_S)
        found["killed" if killed else "ended before"] += 1
        found["left a new file"] += any(_left(out))
        for path, content in _state(out).items():
            whole = content in (old.get(path), new.get(path)) or _is_whole(out / path)
            findings.expect(whole, f"{name}: {path} is neither the old file nor a new one")
            files["old" if content == old.get(path) else "new"] += 1
        missing = old.keys() - _state(out).keys() if not program.goes_on else ()
        findings.expect(not missing, f"{name}: {sorted(missing)[:9]} are gone")
    last = _whole_run(program, out, "new")
    findings.expect(not any(_left(out)), f"{name}: {list(_left(out))[:9]} stay after the next run")
    findings.expect(last.keys() == new.keys() or not program.goes_on, f"{name}: {last.keys() ^ new.keys()}")
    if program.goes_on:
        same = [path for path, content in last.items() if path.endswith(".npz") and _numbers(out / path)]
        findings.expect(
            all(_numbers(out / path) == _numbers(Path(f"{out}-new") / path) for path in same),
            f"{name}: other results than without kills",
        )
    findings.counts["kills"] += found["killed"]
    findings.counts["files, each whole"] += sum(files.values())
    findings.counts["kills that left a new file"] += found["left a new file"]
    sys.stdout.write(f"  {name}: {_told(found)}; files: {_told(files)}\n")
    sys.stdout.flush()


def _told(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counts.items())


@contextlib.contextmanager
def _running(program: Killed, out: Path, input: str) -> Iterator[subprocess.Popen[bytes]]:
    """The program; whatever it has started ends with the block."""
    out.mkdir(exist_ok=True)
    with tempfile.TemporaryFile() as typed, tempfile.TemporaryFile() as said:
        typed.write(program.typed.format(out=out).encode())
        typed.seek(0)
        begin = [sys.executable, "-P", "-c", f"{program.code}\n{_RUN}"] if program.code else PROGRAM
        command = [*begin, *program.arguments(out, input)]
        process = subprocess.Popen(command, stdin=typed, stdout=said, stderr=subprocess.STDOUT)
        try:
            yield process
        finally:
            children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
            process.kill()
            process.wait()
            # A program that talks to the killed one ends by itself.
            _, stay = psutil.wait_procs(children, _LONGEST_S)
            if stay:
                raise AssertionError(f"{command}: {stay} go on")
            if process.returncode > 0:
                said.seek(0)
                raise AssertionError(f"{command}: {said.read()[-600:].decode()}")


def _whole_run(program: Killed, out: Path, input: str) -> dict[str, bytes]:
    with _running(program, out, input) as process:
        process.wait(_LONGEST_S)
    return _state(out)


def _killed(program: Killed, out: Path, after_s: float | None, least: int, later_s: float) -> bool:
    """Kill a run with the new input after some time; None: ``later_s`` after a new file was seen beside ``least``
    others. Returns False where it had ended.
    """
    with _running(program, out, "new") as process:
        due = time.monotonic() + (_LONGEST_S if after_s is None else after_s)
        while process.poll() is None and time.monotonic() < due:
            if after_s is None and any(_left(out)) and (not least or len(_state(out)) >= least):
                time.sleep(later_s)
                break
            time.sleep(_LOOK_S)
        return process.poll() is None


def _left(out: Path) -> Iterator[str]:
    """The names of new files that no file has been replaced by yet."""
    for _, _, files in os.walk(out):
        yield from (file for file in files if file.startswith(".") and file.endswith(".new"))


def _state(out: Path) -> dict[str, bytes]:
    """The results by their names."""
    found = {}
    for folder, _, files in os.walk(out):
        for file in files:
            if not file.startswith("."):
                found[str((Path(folder) / file).relative_to(out))] = (Path(folder) / file).read_bytes()
    return found


def _reset(out: Path, state: dict[str, bytes]) -> None:
    """Make the results those of an earlier run; what killed ones have left stays."""
    for path in _state(out).keys() - state.keys():
        (out / path).unlink()
    for path, content in state.items():
        (out / path).write_bytes(content)


def _numbers(path: Path) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in store.load(path)[0].items()}


def _is_whole(path: Path) -> bool:
    """Return whether a file, which differs from run to run by dates and times, has its end."""
    content = path.read_bytes()
    try:
        match path.suffix:
            case ".html":
                return content.rstrip().endswith(b"</html>")
            case ".json":
                return bool(json.loads(content))
            case ".jsonl":
                return all(json.loads(line) for line in content.splitlines()) and content.endswith(b"\n")
            case ".npz":
                return bool(store.load(path))
            case ".index":
                return GamesIndex(path).positions > 0
            # Over a book that is there, the old one is kept as NAME.1.
            case ".book" | ".egbk3" | ".1":
                return len(registry.load(path).book) > 0
    except Exception:
        return False
    return False
