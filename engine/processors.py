"""The number of processors that this process may use, by its affinity and the quota of its control group."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

from desdaemon.protocol.system import platform

_CONTROL_GROUPS = Path("/sys/fs/cgroup")


def processors() -> int:
    """Return the number of processors that this process may use, at least 1; a quota of one and a half counts as two.

    Affinity is read at each call, the quota once in a process.
    """
    return max(1, min(platform.processors(), _quota()))


@functools.cache
def _quota() -> int:
    return min(quotas(_groups(), _CONTROL_GROUPS), default=sys.maxsize)


def _groups() -> str:
    try:
        return Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def quotas(groups: str, root: Path) -> list[int]:
    """Return the quotas of this process's control groups and of the groups around them, each in processors, rounded up.

    ``groups`` is the text of /proc/self/cgroup, ``root`` the folder where the groups' file systems are mounted. A group
    without a quota adds nothing to the list. Version 2 has ``cpu.max`` in each group's folder, version 1 has quota and
    period in separate files below ``root``/cpu.
    """
    listed: list[int] = []
    for line in groups.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        unified = number == "0" and not controllers
        if not unified and "cpu" not in controllers.split(","):
            continue
        top = root if unified else root / "cpu"
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for length in range(len(parts) + 1):
            folder = top.joinpath(*parts[:length])
            text = _read(folder / "cpu.max")
            if not unified:
                text = f"{_read(folder / 'cpu.cfs_quota_us')} {_read(folder / 'cpu.cfs_period_us')}"
            quota, _, period = text.partition(" ")
            if quota.isdigit() and period.isdigit() and int(quota) and int(period):
                listed.append(-(-int(quota) // int(period)))
    return listed


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
