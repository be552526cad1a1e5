"""Files of problems as editors write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from desdaemon.engine.bench.problems import read_problems
from desdaemon.protocol.errors import BadInput

PROBLEM = "---------------------------OX------XO--------------------------- X;\n"


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.obf"
    path.write_text(f"\ufeff{PROBLEM}", encoding="utf-8")
    assert len(read_problems(path)) == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_a_file_in_utf_16_is_refused(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "x.obf"
    path.write_text(PROBLEM, encoding=encoding)
    with pytest.raises(BadInput, match="this is UTF-16: save it as UTF-8"):
        read_problems(path)
