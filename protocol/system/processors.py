"""The number of processors that this process may use, by its affinity and the quota of its control group."""

from __future__ import annotations

import functools
import sys

from desdaemon.protocol.system import platform

# Text rather than `pathlib.Path`, which every start would import for this alone (4 ms).
_CONTROL_GROUPS = "/sys/fs/cgroup"


def processors() -> int:
    """Return the number of processors that this process may use, at least 1; a quota of one and a half counts as two.

    Affinity is read at each call, the quota once in a process.
    """
    return max(1, min(platform.processors(), _quota()))


@functools.cache
def _quota() -> int:
    return min(quotas(_read("/proc/self/cgroup"), _CONTROL_GROUPS), default=sys.maxsize)


def quotas(groups: str, root: str) -> list[int]:
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
        top = root if unified else f"{root}/cpu"
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for length in range(len(parts) + 1):
            folder = "/".join([top, *parts[:length]])
            text = _read(f"{folder}/cpu.max")
            if not unified:
                text = " ".join(_read(f"{folder}/cpu.cfs_{name}_us") for name in ("quota", "period"))
            quota, _, period = text.partition(" ")
            if quota.isdigit() and period.isdigit() and int(quota) and int(period):
                listed.append(-(-int(quota) // int(period)))
    return listed


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123  pathlib costs time
            return file.read().strip()
    except OSError:
        return ""
