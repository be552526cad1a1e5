"""The zip for Windows under Wine, its answers compared with Linux's: `make windows`. Needs Debian's package wine.

``python .ci/wine.py ZIP FOLDER [STEP ...]``; the steps are those of `STEPS`, all but `tests-all` by default, in a fresh
prefix. TESTS names the folders and files of tests that the step `tests` runs. FOLDER/tests.log and FOLDER/*.txt stay.

The zip is unpacked into FOLDER. Standard streams are pipes throughout: Wine gives Python no files as such.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import random
import re
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Without the options of whoever runs this.
LINUX = ["env", "XDG_CONFIG_HOME=none", str(Path(sys.executable).with_name("desdaemon"))]
SITE = "Lib/site-packages"
KILLS, SAVES = 20, 4
# The code in the zip by its kind, and what a processor that runs it has.
KINDS = {"x86-64-v2": "sse4_2", "x86-64-v3": "avx2", "x86-64-v4": "avx512vl"}
PATIENCE_S = 300
FOLDERS = "tests/protocol tests/book tests/engine tests/core tests/dialogue tests/guis tests/clients/gamefiles"
SYSTEM_TESTS = (
    "tests/protocol/test_held_files.py tests/book/storage tests/core/test_file_arguments.py "
    "tests/dialogue/test_file_names.py tests/dialogue/test_kept_files.py tests/dialogue/test_stdio.py "
    "tests/dialogue/test_driving_programs.py tests/guis/test_driving_guis.py"
)
TOOLS = ("pytest", "pytest-timeout", "hypothesis", "colorama")
FORUM = ROOT.parent / "shared/data/problems/fforum-1-19.obf"
# Two late positions, for where those of the forum are not at hand.
PROBLEMS = """O--OOOOX-OOOOOOXOOXXOOOXOOXOOOXXOOOOOOXX---OOOOX----O--X-------- X
--XXXXX--OOOXX-O-OOOXXOX-OXOXOXX-OXXXXXX--OOOOX---XOX------X---- O
"""
DIALOGUES = {
    "text": (["-q", "-l", "8"], "hint 3\nplay f5d6c3\ngo\nundo\nmoves\nnonsense\nquit\n"),
    "edax": (["-l", "6", "-q", "-h", "18"], "play f5\ngo\nquit\n"),
    "gtp": (["-gtp", "-l", "8"], "name\nplay b f5\ngenmove w\nshowboard\nfinal_score\nquit\n"),
    "nboard": (["-nboard"], "nboard 2\nset depth 8\nmove f5\ngo\nhint 2\nping 1\nquit\n"),
    "xboard": (["-xboard"], "xboard\nprotover 2\nvariant othello\nsd 6\nnew\nusermove f5\nquit\n"),
    "json": (["-json"], '{"v": 1, "id": 1, "op": "legal", "args": {"moves": "f5d6"}}\n'),
}


class Fault(Exception):
    """What is not as it should be."""


class Wine:
    """A prefix, and the unpacked zip in it."""

    def __init__(self, archive: Path, folder: Path) -> None:
        self.archive, self.folder = archive, folder
        self.home = folder / archive.stem
        self.work = folder / "work"
        self.environment = {
            **os.environ,
            "WINEPREFIX": str(folder / "prefix"),
            "WINEARCH": "win64",
            "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": "mscoree,mshtml=",
        }

    def command(self, program: str = "desdaemon.exe") -> list[str]:
        return ["wine", str(self.home / program)]

    def of_kind(self, kind: str) -> list[str]:
        """The program with the code for that kind of processors."""
        return ["env", f"NUMBA_CPU_NAME={kind}", *self.command()]

    def python(self, *words: str) -> list[str]:
        """The program without its launcher: what is killed is then desdaemon itself."""
        return [*self.command("python/python.exe"), "-X", "utf8", *words]

    @contextlib.contextmanager
    def started(self, words: list[str], folder: Path | None = None) -> Iterator[subprocess.Popen[str]]:
        """Start a program in the folder of work; at the end of the block it has ended, with what it has started."""
        process = subprocess.Popen(
            words,
            cwd=folder or self.work,
            env=self.environment,
            text=True,
            encoding="utf-8",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
                self.end()
            with contextlib.suppress(BrokenPipeError, ValueError):
                process.communicate()

    def pythons(self) -> list[str]:
        """The command lines of the processes of Python that run in the prefix."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                ours = f"WINEPREFIX={self.folder / 'prefix'}".encode() in (process / "environ").read_bytes().split(
                    b"\0"
                )
                line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                if ours and "python.exe" in line:
                    found.append(line)
        return found

    def end(self) -> None:
        """End what still runs in the prefix."""
        subprocess.run(["wineserver", "-k"], env=self.environment, check=False)


def run(wine: Wine, words: list[str], given: str = "", status: int | None = 0) -> str:
    """The output of a program, of Windows or of Linux, errors included. Raises `Fault` for another exit status."""
    with wine.started(words) as process:
        try:
            out, _ = process.communicate(given, PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Fault(f"{words} has not ended in {PATIENCE_S} s") from None
    if status is not None and process.returncode != status:
        raise Fault(f"{words} ended with {process.returncode}:\n{out}")
    return out


def untimed(text: str) -> str:
    """Text without times, speeds, names of programs and the blanks that depend on them."""
    text = re.sub(r"\d+:\d\d\.\d{3}(\s+\d+)\s+(?:\d+\s+)?(?=[a-zA-Z])", r"TIME\1 ", text)
    text = re.sub(r"(?m)^(nodestats \d+) .*", r"\1", text)
    text = re.sub(r"\d+:\d\d\.\d{3}|\d+ nodes/s|\d+\.\d+ s\b", "TIME", text)
    text = re.sub(r"(?m)^(Date: ).*|(wEdax-x86-64|desdaemon)(\.exe)?", r"\1", text)
    return re.sub(r"[ \t]+", " ", text)


def same(wine: Wine, arguments: list[str], given: str = "", name: str = "") -> str:
    """Run the same on Windows and on Linux. Raises `Fault` where they do not say the same, but for times."""
    ours = run(wine, [*LINUX, *arguments], given)
    theirs = run(wine, [*wine.command(), *arguments], given)
    if untimed(theirs) != untimed(ours):
        lines = difflib.unified_diff(untimed(ours).split("\n"), untimed(theirs).split("\n"), "Linux", "Windows")
        raise Fault("\n".join([f"{name or arguments}:", *lines]))
    return theirs


def tell(text: str) -> None:
    sys.stdout.write(text.rstrip("\n") + "\n")
    sys.stdout.flush()


class Session:
    """A dialogue that is read while it goes on; `text` is what it has said."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.text = ""
        self._process = process
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.text += line

    def send(self, given: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(given)
        self._process.stdin.flush()

    def until(self, piece: str) -> None:
        """Wait until it has said that. Raises `Fault` if it does not."""
        end = time.monotonic() + PATIENCE_S
        while piece not in self.text:
            if time.monotonic() > end or not self._reader.is_alive():
                raise Fault(f"{piece!r} is not in:\n{self.text}")
            time.sleep(0.01)

    def kill(self) -> int:
        """Kill the process, as TerminateProcess does; return the last number of positions that it told of."""
        self._process.kill()
        self._reader.join()
        return max(map(int, re.findall(r"book now has (\d+)", self.text)), default=0)


@contextlib.contextmanager
def session(wine: Wine, *arguments: str) -> Iterator[Session]:
    """Begin a dialogue at a low level; it is killed at the end of the block."""
    with wine.started(wine.python("-m", "desdaemon", "-q", "-n", "1", "-l", "1", *arguments)) as process:
        said = Session(process)
        try:
            yield said
        finally:
            said.kill()


def prefix(wine: Wine) -> None:
    """A fresh prefix, and the zip unpacked, with what Wine needs."""
    sys.path.insert(0, str(ROOT / "tests/support"))
    from windows_failures import WITHOUT_MAXRT

    wine.end()
    for folder in (wine.folder / "prefix", wine.home, wine.work):
        shutil.rmtree(folder, ignore_errors=True)
    wine.work.mkdir(parents=True)
    with zipfile.ZipFile(wine.archive) as archive:
        archive.extractall(wine.folder)
    zmq = wine.home / "python" / SITE / "zmq"
    with (zmq / "__init__.py").open("a", encoding="utf-8") as source:
        source.write(WITHOUT_MAXRT)
    # Bytecode of the zip is not compared with its source.
    (zmq / "__pycache__/__init__.cpython-311.pyc").unlink()
    run(wine, ["wineboot", "-i"])


def starts(wine: Wine) -> None:
    """How long the first start after unpacking and later ones take, with a first hint, while Wine runs already."""
    with wine.started(["wine", "cmd"]):
        for number in range(1, 4):
            begun = time.monotonic()
            run(wine, ["wine", "cmd", "/c", "exit"])
            tell(f"start {number} of an empty program: {time.monotonic() - begun:.1f} s")
            begun = time.monotonic()
            run(wine, [*wine.command("wEdax-x86-64.exe"), "-q", "-l", "6"], "hint 1\nquit\n")
            tell(f"start {number} of the program, a hint of level 6, the end: {time.monotonic() - begun:.1f} s")


def doctor(wine: Wine) -> None:
    """No faults, and nothing that has to be compiled on any kind of processor."""
    tell(run(wine, [*wine.command(), "doctor", "--quick"]))
    for kind in KINDS:
        said = run(wine, [*wine.of_kind(kind), "doctor", "--quick"])
        tell("\n".join(line for line in said.splitlines() if re.search(r"processor|compiled code|faults", line)))
        if "0 faults" not in said or "need no compiling" not in said:
            raise Fault(f"doctor finds faults, or compiled code is missing for {kind}")


def perft(wine: Wine) -> None:
    """The same numbers as on Linux."""
    tell(same(wine, ["perft", "10"]) + same(wine, ["count", "positions", "8"]))


def solve(wine: Wine) -> None:
    """The same scores, nodes and lines as on Linux, by each kind of code that this processor runs."""
    (wine.work / "problems.obf").write_bytes(FORUM.read_bytes() if FORUM.exists() else PROBLEMS.encode())
    words = ["-n", "1", "-l", "60", "-solve", "problems.obf"]
    said = same(wine, words)
    tell(said)
    flags = Path("/proc/cpuinfo").read_text("utf-8").split()
    for kind in (kind for kind, flag in KINDS.items() if flag in flags):
        theirs = run(wine, [*wine.of_kind(kind), *words])
        tell(f"{kind}: {theirs.splitlines()[-2]}")
        if untimed(theirs) != untimed(said):
            raise Fault(f"the code for {kind} searches otherwise:\n{theirs}")


def dialogues(wine: Wine) -> None:
    """Each protocol, word for word as on Linux; the zip's program for Edax's users speaks as Edax does."""
    for name, (arguments, given) in DIALOGUES.items():
        tell(f"{name}: {len(same(wine, ['-n', '1', *arguments], given).splitlines())} lines are the same")
    if "Edax plays" not in run(wine, [*wine.command("wEdax-x86-64.exe"), "-q"], "play f5\nlevel 1\ngo\nquit\n"):
        raise Fault("wEdax-x86-64.exe does not announce its moves as Edax")


def book(wine: Wine) -> None:
    """A book made, saved four times in one session, killed with what it learnt since, opened on both systems."""
    grow = "book save grown.book\nbook deviate {0} {0}\n"
    given = "book new 2 10\n" + "".join(grow.format(number) for number in range(SAVES + 1))
    with session(wine) as said:
        said.send(given)
        said.until(f"Book deviate {SAVES} {SAVES}...finished")
        told = said.kill()
    tell(said.text)
    if said.text.count("Book saved") != SAVES + 1:
        raise Fault("not every save came to its end")
    agree(wine, "grown.book", told)


def killed(wine: Wine) -> None:
    """Twenty kills at random moments of a session that learns and saves: no position that was told of is lost."""
    for left in wine.work.glob("killed.book*"):
        left.unlink()
    run(wine, [*wine.command(), "-q", "-n", "1"], "book new 1 20\nbook save killed.book\nquit\n")
    chance = random.Random(7)
    known: set[str] = set()
    for number in range(KILLS):
        with session(wine, "-book-file", "killed.book") as said:
            said.send("book export before.txt\n")
            said.until("...done")
            before = boards(wine.work / "before.txt")
            if not known <= before:
                raise Fault(f"lost on Windows: {sorted(known - before)}")
            for _ in range(40):
                said.send(f"init\nbook deviate 0 1\nbook save\nplay {random_game(chance)}\nbook store\n")
            if number % 2:
                said.until("book now has")
            time.sleep(chance.uniform(0, 4))
            told = said.kill()
        known = agree(wine, "killed.book", told, linux_only=number % 5 != 4)
        if not before <= known:
            raise Fault(f"lost: {sorted(before - known)}")
        tell(f"kill {number + 1}: {len(before)} before, {told} told, {len(known)} there")


def boards(path: Path) -> set[str]:
    """The positions of a book that was exported as text."""
    return {line.partition(",")[0] for line in path.read_text("utf-8").splitlines()}


def agree(wine: Wine, name: str, told: int, *, linux_only: bool = False) -> set[str]:
    """Open copies of a book and its journal on both systems; return its positions. Raises `Fault` where either finds
    damage, fewer than ``told``, or other ones than the other.
    """
    found: dict[str, set[str]] = {}
    for system, command in (("linux", LINUX), ("windows", wine.command())):
        if system == "windows" and linux_only:
            continue
        for file in wine.work.glob(f"{name}*"):
            shutil.copy(file, wine.work / f"{system}-{file.name}")
        given = f"book verify\nbook export {system}.txt\nquit\n"
        said = run(wine, [*command, "-q", "-book-file", f"{system}-{name}"], given)
        found[system] = boards(wine.work / f"{system}.txt")
        if "no errors" not in said or len(found[system]) < told:
            raise Fault(f"{name} on {system}, {told} positions told of, {len(found[system])} there:\n{said}")
        for file in wine.work.glob(f"{system}-{name}*"):
            file.unlink()
    if found.get("windows", found["linux"]) != found["linux"]:
        raise Fault(f"{name} has other positions on Windows than on Linux")
    return found["linux"]


def random_game(chance: random.Random) -> str:
    """A few moves that may be played one after the other."""
    from desdaemon import Board

    board = Board()
    for _ in range(8):
        board = board.play(chance.choice(board.legal))
    return board.line


def drivers(wine: Wine) -> None:
    """The recorded dialogues of programs that drive an engine: those for Edax with the program of its name."""
    sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/dialogue")]
    import live
    import test_driving_programs as driving
    from windows_failures import reason

    live.TIMEOUT = driving.HANGS_S = PATIENCE_S
    os.environ.update(wine.environment)
    os.chdir(wine.work)
    failed = []
    for program, path in (("wEdax-x86-64.exe", "dialogue/driving_programs"), ("desdaemon.exe", "guis/driving_guis")):
        live.COMMAND = wine.command(program)
        for talk in driving.talks(ROOT / f"tests/{path}.txt"):
            called = driving.name(talk)
            if reason(f"tests/dialogue/test_driving_programs.py::it[{called}]"):
                continue
            try:
                driving.drive(talk)
                tell(f"{program} as {called} wants it")
            except AssertionError as error:
                failed.append(f"{program}, {called}: {error}")
    if failed:
        raise Fault("\n".join(failed))


def xboard(wine: Wine) -> None:
    """XBoard, which talks as WinBoard does, has two of them play two games; on Debian: xboard, xvfb."""
    if not (shutil.which("Xvfb") and Path("/usr/games/xboard").exists()):
        tell("not tried: xboard and xvfb are not installed")
        return
    command = shlex.join([*wine.command(), "-xboard"])
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-m",
        "slow",
        "-p",
        "no:cacheprovider",
        "tests/guis/test_xboard_match.py",
    ]
    environment = {**wine.environment, "XBOARD_ENGINE": command}
    told = subprocess.run(
        words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    tell(told.stdout.decode("utf-8", "replace"))
    if told.returncode or b"1 passed" not in told.stdout:
        raise Fault("XBoard's match went wrong")


def match(wine: Wine) -> None:
    """Two programs by their paths, with backslashes."""
    path = str(wine.home / "wEdax-x86-64.exe").replace("/", "\\")
    said = run(wine, [*wine.command(), "match", f"Z:{path} -gtp -l 3", "self -l 1", "--games", "2"])
    tell(said)
    if said.count("lost by fault: none") != 2:
        raise Fault("a program lost by a fault")


def free_port() -> int:
    """A port of this machine that nobody uses, nor the one after it, where a server has its events. Not one of those
    that Linux gives to connections: another program's might have it before the server does.
    """
    while True:
        port = random.randrange(10000, 32000)
        with socket.socket() as one, socket.socket() as after, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            after.bind(("127.0.0.1", port + 1))
            return port


def serve(wine: Wine) -> None:
    """A server with keys, and clients of both systems; the last one ends it."""
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    shutil.rmtree(wine.work / "served", ignore_errors=True)
    (wine.work / "served").mkdir()
    key = ["keys", "new", "laptop", "--role", "admin", "--file", "served/laptop.key", "--keys", "served/keys"]
    tell(run(wine, [*wine.command(), *key]))
    # Windows knows no such permissions, and Linux takes no key that others may read.
    (wine.work / "served/laptop.key").chmod(0o600)
    words = ["serve", "--bind", endpoint, "--keys", "served/keys", "--data", "served", "-n", "1", "-l", "5"]
    with wine.started([*wine.command(), *words]) as server:
        assert server.stdout is not None
        for line in server.stdout:
            tell(line)
            if "listening" in line:
                break
        else:
            raise Fault("the server has ended")
        shell = ["shell", endpoint, "--key", "served/laptop.key", "--timeout", "60"]
        analyze = [*shell, "--json", "-c", 'analyze {"moves": "f5", "level": 5}']
        ours, theirs = (run(wine, [*command, *analyze]) for command in (LINUX, wine.command()))
        tell(ours)
        if json.loads(ours)["data"]["moves"][0]["move"] != json.loads(theirs)["data"]["moves"][0]["move"]:
            raise Fault(f"the server answers Windows otherwise:\n{theirs}")
        tell(run(wine, [*LINUX, *shell, "--json", "-c", "shutdown {}"]))
        out, _ = server.communicate(timeout=PATIENCE_S)
        tell(out)
        if server.returncode:
            raise Fault(f"the server ended with {server.returncode}")


def web(wine: Wine) -> None:
    """The board of `board.exe`: its page, fetched as a browser would."""
    with wine.started([*wine.command("board.exe"), "--no-browser", "--listen", f"127.0.0.1:{free_port()}"]) as board:
        assert board.stdout is not None
        for line in board.stdout:
            tell(line)
            if line.startswith("http"):
                break
        address = line.strip()
        # The first answer lets this browser in, and sends it on.
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        browser.open(address, timeout=PATIENCE_S).close()
        with browser.open(address.partition("?")[0], timeout=PATIENCE_S) as answer:
            page = answer.read().decode()
    tell(f"{len(page)} characters from {address.partition('?')[0]}")
    if "style.css" not in page:
        raise Fault(f"no page:\n{page}")


def parents(wine: Wine) -> None:
    """A killed board and a killed supervisor of a server leave nothing that runs."""
    shutil.rmtree(wine.work / "supervised", ignore_errors=True)
    (wine.work / "supervised").mkdir()
    place = f"127.0.0.1:{free_port()}"
    supervised = ["serve", "--supervise", "--bind", f"tcp://{place}", "--data", "supervised", "-n", "1", "-l", "5"]
    boards = [*wine.command("board.exe"), "--no-browser", "--listen", f"127.0.0.1:{free_port()}"]
    for words, ready in ((boards, "http"), ([*wine.command(), *supervised], "listening")):
        with wine.started(words) as parent:
            assert parent.stdout is not None
            for line in parent.stdout:
                tell(line)
                if ready in line:
                    break
            number = len(wine.pythons())
            parent.kill()
            end = time.monotonic() + PATIENCE_S
            while (left := wine.pythons()) and time.monotonic() < end:
                time.sleep(0.1)
        tell(f"{number} processes of Python before the kill, {len(left)} after it")
        if number < 2 or left:
            raise Fault(f"{words}: {number} processes before the kill, left are {left}")


def tests(wine: Wine) -> None:
    """What most depends on the system: files, streams, programs. Or what TESTS names, one after the other."""
    run_tests(wine, os.environ.get("TESTS", "").split() or [SYSTEM_TESTS])


def tests_all(wine: Wine) -> None:
    """All tests that do not need POSIX, folder by folder: an hour and more."""
    run_tests(wine, FOLDERS.split())


def run_tests(wine: Wine, given: list[str]) -> None:
    """Run tests with the zip's Python and code, but for those that need POSIX; FOLDER/tests.log has each."""
    place = wine.folder / "tests"
    shutil.rmtree(place, ignore_errors=True)
    ours = wine.home / "python" / SITE / "desdaemon"
    shutil.copytree(
        wine.home / "python",
        place / "python",
        ignore=lambda folder, _: {"desdaemon"} if folder.endswith(SITE) else set(),
    )
    # With it Python finds neither what lies beside a script nor what PYTHONPATH names.
    (place / "python/python311._pth").unlink()
    (place / "python" / SITE / "site.pth").write_text("../../../site\n")
    platform = ("--platform", "win_amd64", "--python-version", "3.11", "--only-binary", ":all:")
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "install"]
    subprocess.run([*pip, "--target", str(place / "site"), *platform, *TOOLS], check=True)
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, files.split("\0")):
        (place / "checkout" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, place / "checkout" / name)
    if (ROOT.parent / "shared").is_dir():
        (place / "shared").symlink_to(ROOT.parent / "shared")
    shipped = "engine/compiler/shipped"
    shutil.copytree(ours / shipped, place / "checkout" / shipped)
    options = ["-v", "-p", "no:cacheprovider", "-m", "not slow", "-rfE", "--tb=short", "--durations=20"]
    command = ["wine", str(place / "python/python.exe"), "-X", "utf8", "-m", "pytest", *options]
    faults = []
    with (wine.folder / "tests.log").open("w", encoding="utf-8") as log:
        for names in given:
            with wine.started([*command, *names.split()], place / "checkout") as process:
                assert process.stdout is not None
                for line in process.stdout:
                    log.write(line)
                    log.flush()
            tell(f"{names}: {line.strip(' =')}, {posix_tests(names)} are for POSIX")
            # What crashes may end with status 0, after its debugger.
            if process.returncode or not re.search(r"\d+ passed", line):
                faults.append(names)
    if faults:
        raise Fault(f"tests of {faults} failed: {log.name} says which")


def posix_tests(names: str) -> int:
    """How many of the tests say that they need POSIX; whole files of them are not even seen on Windows."""
    words = [
        "-m",
        "pytest",
        *names.split(),
        "-m",
        "posix and not slow",
        "--collect-only",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    found = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return sum("::" in line for line in found.splitlines())


STEPS: dict[str, Callable[[Wine], None]] = {
    step.__name__.replace("_", "-"): step
    for step in (
        *(
            prefix,
            starts,
            doctor,
            perft,
            solve,
            dialogues,
            drivers,
            xboard,
            book,
            killed,
            match,
            serve,
            web,
            parents,
            tests,
        ),
        tests_all,
    )
}


def main(archive: Path, folder: Path, names: list[str]) -> int:
    """Run those steps; returns the number that failed."""
    if not shutil.which("wine"):
        raise SystemExit("wine is missing: apt-get install wine")
    wine = Wine(archive, folder)
    begun = time.monotonic()
    faults = 0
    chosen = names or [name for name in STEPS if name != "tests-all"]
    took = []
    for name in chosen:
        began = time.monotonic()
        tell(f"== {name} ({began - begun:.0f} s)")
        try:
            STEPS[name](wine)
        except (Fault, OSError, ValueError) as error:
            tell(f"FAULT: {error}")
            faults += 1
        took.append(f"{name} {time.monotonic() - began:.0f}")
    wine.end()
    tell(f"== seconds: {', '.join(took)}")
    tell(f"== {faults} of {len(chosen)} steps failed ({time.monotonic() - begun:.0f} s)")
    return min(faults, 1)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3:]))
