"""The examples in Python, as somebody runs them who copies a line of their heads."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from served import PATIENCE_S, REAL, ROOT, serving

EXAMPLES = ROOT / "clients" / "examples"


def test_the_examples_run(tmp_path: Path) -> None:
    keys = ("--keys", str(tmp_path / "keys"))
    made = [*REAL, "keys", "new", "laptop", "--file", str(tmp_path / "laptop.key"), *keys]
    subprocess.run(made, cwd=ROOT, check=True, capture_output=True)
    with serving(tmp_path, *keys, "--bind", "tcp://127.0.0.1:0") as served:

        def printed(*command: str) -> str:
            done = subprocess.run(
                command, cwd=ROOT, env=served.environment, capture_output=True, text=True, timeout=PATIENCE_S
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        def example(name: str, *arguments: str) -> str:
            return printed(sys.executable, str(EXAMPLES / name), *arguments)

        by_tcp = ("--endpoint", served.tcp, "--key", str(tmp_path / "laptop.key"))
        game = example("analyze_game.py", "f5d6c3d3", "--level", "2", *by_tcp)
        assert len(re.findall(r"^ +\d  played", game, re.MULTILINE)) == 5
        printed(*REAL, "shell", "-c", "book new 1 8", "-c", "play f5d6", "-c", "book store")
        lines = example("book_lines.py", "2")
        assert "ply 2: 4 positions" in lines
        assert "positions in all" not in example("book_lines.py", "0")
        assert "book.store" in example("watch_job.py")
        assert example("book_lines.py", "2") == lines
        assert "positions added in" in example("watch_job.py", "--deviate", "0", "0")
