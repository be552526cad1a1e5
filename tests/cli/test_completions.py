"""Completions in the shells themselves: zsh at a terminal, fish by its own question for completions."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from pathlib import Path

import pytest
from completion_files import PATHS
from programs import programs

TIMEOUT_S = 60

pytestmark = [pytest.mark.posix, pytest.mark.slow]

WHOLE = [
    ("desdaemon mat", "ch"),
    ("desdaemon hel", "p"),
    ("desdaemon bench ser", "ver"),
    ("desdaemon bench book --rep", "eat"),
    ("desdaemon match --adj", "udicate"),
    ("desdaemon -nbo", "ard"),
    ("desdaemon count pos", "itions"),
    ("desdaemon keys rev", "oke"),
]
"""The beginning of a line, and the only way in which its last word may go on."""


def test_zsh_completes_words_of_the_program(tmp_path: Path) -> None:
    (zsh,) = programs("zsh")
    process, terminal = pty.fork()
    if not process:
        os.execve(zsh, ["zsh", "-f", "-i"], {"PATH": os.defpath, "HOME": str(tmp_path), "TERM": "dumb"})

    def until(mark: str) -> None:
        seen = b""
        end = time.monotonic() + TIMEOUT_S
        while mark.encode() not in seen:
            assert select.select([terminal], [], [], max(0.0, end - time.monotonic()))[0], (mark, seen)
            seen += os.read(terminal, 4096)

    try:
        for command in (f"fpath=({(PATHS['zsh']).parent} $fpath)", "autoload -Uz compinit", "compinit -u -D"):
            os.write(terminal, f"{command}\n".encode())
        os.write(terminal, b"print are''-loaded\n")
        until("are-loaded")
        for begun, rest in WHOLE:
            os.write(terminal, f"{begun}\t".encode())
            until(f"{begun}{rest} ")
            os.write(terminal, b"\x15")
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def test_fish_completes_words_of_the_program() -> None:
    (fish,) = programs("fish")
    asked = "; ".join(f"complete -C '{begun}'; echo end" for begun, _ in WHOLE)
    done = subprocess.run(
        [fish, "-N", "-c", f"source '{PATHS['fish']}'; {asked}"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.stderr == ""
    answers = [answer.splitlines() for answer in done.stdout.split("end\n")[:-1]]
    words = [[line.split("\t")[0] for line in lines] for lines in answers]
    assert words == [[begun.split()[-1] + rest] for begun, rest in WHOLE]
    assert all(
        "\t" in lines[0]
        for lines, (begun, _) in zip(answers, WHOLE, strict=True)
        if " keys " not in begun and " count " not in begun
    )
