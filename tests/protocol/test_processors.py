"""How many processors the process may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from desdaemon.protocol.system.processors import processors, quotas


def test_processors_are_those_of_the_affinity() -> None:
    assert 1 <= processors() <= (os.cpu_count() or 1)
    if hasattr(os, "sched_setaffinity"):
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(allowed)})
        try:
            assert processors() == 1
        finally:
            os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize(
    ("groups", "files", "found"),
    [
        ("0::/", {"cpu.max": "max 100000\n"}, []),
        ("0::/", {"cpu.max": "150000 100000\n"}, [2]),
        ("0::/a/b\n", {"a/cpu.max": "400000 100000", "a/b/cpu.max": "max 100000", "cpu.max": "800000 100000"}, [8, 4]),
        ("0::/../../a", {"a/cpu.max": "50000 100000"}, [1]),
        ("4:cpu,cpuacct:/x", {"cpu/x/cpu.cfs_quota_us": "300000", "cpu/x/cpu.cfs_period_us": "100000"}, [3]),
        ("4:cpu,cpuacct:/x", {"cpu/x/cpu.cfs_quota_us": "-1", "cpu/x/cpu.cfs_period_us": "100000"}, []),
        ("4:cpuset:/x\n5:memory:/x", {"cpu/x/cpu.cfs_quota_us": "1", "cpu/x/cpu.cfs_period_us": "1"}, []),
        ("0::/", {"cpu.max": "nonsense"}, []),
        ("0::/", {"cpu.max": "100000 0"}, []),
        ("", {"cpu.max": "100000 100000"}, []),
        ("nothing of the kind", {}, []),
    ],
)
def test_quotas_of_control_groups_limit_processors(
    groups: str, files: dict[str, str], found: list[int], tmp_path: Path
) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert quotas(groups, str(tmp_path)) == found
