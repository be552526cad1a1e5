"""Installs what `make dist` has made in every way that people do, in a home folder of its own, without a network.

``python .ci/installs.py DIST WHEELS TOOLS PYTHON WAY ...``; a way is ``uv``, ``pipx``, ``user`` or ``sdist``. For each:
the first hint (which compiles), the second start, `desdaemon doctor`, the uninstalling, and what it left.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HINT = "hint 1\nquit\n"
# A shell without a network device, where the system can make one.
WITHOUT_NETWORK = ("unshare", "-n") if shutil.which("unshare") and os.geteuid() == 0 else ()


class Home:
    """A home folder, with nothing of the user's in the environment."""

    def __init__(self, folder: Path, wheels: Path) -> None:
        self.folder = folder
        self.environment = {
            "HOME": str(folder),
            "PATH": f"{folder / '.local/bin'}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(wheels),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "UV_OFFLINE": "1",
            "UV_NO_INDEX": "1",
            "UV_FIND_LINKS": str(wheels),
            "UV_PYTHON_DOWNLOADS": "never",
            "PIP_ROOT_USER_ACTION": "ignore",
        }

    def run(self, *command: str, text: str = "", **more: str) -> str:
        """What a command says; ends this program where it fails."""
        done = subprocess.run(
            [*WITHOUT_NETWORK, *command],
            env={**self.environment, **more},
            cwd=self.folder,
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def files(self) -> set[str]:
        """Everything in it that is no folder."""
        return {path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if not path.is_dir()}


def timed(home: Home, program: str) -> tuple[float, str]:
    """Seconds of a hint, and its line at depth 5 without the time."""
    began = time.monotonic()
    said = home.run(program, "-q", "-l", "5", text=HINT)
    return time.monotonic() - began, next((line.strip() for line in said.splitlines() if line.split()[:1] == ["5"]), "")


def one(way: str, dist: Path, wheels: Path, tools: Path, python: str) -> None:
    """Install, use and uninstall in one way, and tell about it."""
    [wheel], [archive] = dist.glob("*.whl"), dist.glob("*.tar.gz")
    with tempfile.TemporaryDirectory(prefix=f"desdaemon-{way}-") as place:
        home = Home(Path(place), wheels)
        program = str(home.folder / ".local/bin/desdaemon")
        more: dict[str, str] = {}
        if way == "uv":
            home.run(str(tools / "bin/uv"), "tool", "install", "--python", python, str(wheel))
            remove = [str(tools / "bin/uv"), "tool", "uninstall", "desdaemon"]
        elif way == "pipx":
            home.run(str(tools / "bin/pipx"), "install", "--python", python, str(wheel))
            remove = [str(tools / "bin/pipx"), "uninstall", "desdaemon"]
        elif way == "user":
            more = {"PIP_BREAK_SYSTEM_PACKAGES": "1"}
            home.run(python, "-m", "pip", "install", "--user", str(wheel), **more)
            names = [line.split("==")[0] for line in home.run(python, "-m", "pip", "freeze", "--user").splitlines()]
            names = [name.split(" @ ")[0] for name in names]
            remove = [python, "-m", "pip", "uninstall", "-y", *names]
        else:
            home.run(python, "-m", "venv", str(home.folder / "venv"))
            program = str(home.folder / "venv/bin/desdaemon")
            home.run(str(home.folder / "venv/bin/pip"), "install", str(archive))
            remove = ["rm", "-r", str(home.folder / "venv")]
        first, line = timed(home, program)
        second, same = timed(home, program)
        report = home.run(program, "doctor", "--quick").splitlines()[-1]
        home.run(*remove, **more)
        left = home.files()
        sys.stdout.write(f"{way:6} first hint {first:5.1f} s, second start {second:4.1f} s, doctor: {report}\n")
        sys.stdout.write(f"       {line}{'' if line == same else f' THEN {same}'}\n")
        for name in sorted({"/".join(name.split("/")[:3]) for name in left}):
            kind = "made in use" if "desdaemon" in name else "of the installer"
            sys.stdout.write(f"       left: ~/{name} ({kind})\n")
        sys.stdout.flush()


def main(dist: str, wheels: str, tools: str, python: str, *ways: str) -> None:
    """All ways asked for, or every one."""
    if not WITHOUT_NETWORK:
        sys.stdout.write("the network cannot be taken away here: nothing is asked of it, but that is not proved\n")
    for way in ways or ("uv", "pipx", "user", "sdist"):
        one(way, Path(dist).resolve(), Path(wheels).resolve(), Path(tools).resolve(), python)


if __name__ == "__main__":
    main(*sys.argv[1:])
