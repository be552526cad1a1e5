"""What a cluster brings: `desdaemon cluster`, the options `cluster...`, and who searches for jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from desdaemon.protocol.rows import Feature, Option, Satellite, Searchers, SubCommand

if TYPE_CHECKING:
    from desdaemon.core.settings import SessionSettings

CLUSTER = Option(
    "cluster",
    (),
    "text",
    "Search for book commands and -solve on the workers of this scheduler.",
    edax=False,
    shared=True,
    default="",
)
CLUSTER_TLS = Option(
    "cluster-tls", (), "path", "Folder with the keys of the cluster.", edax=False, shared=True, default=""
)
CLUSTER_THREADS = Option(
    "cluster-threads",
    (),
    "int",
    "Threads of this machine that help a cluster; 0: none.",
    0,
    256,
    edax=False,
    shared=True,
    default=0,
)

SATELLITE = Satellite(
    sub_commands=(
        SubCommand("cluster", "search on many machines: scheduler, worker, status", "desdaemon.cluster.cluster"),
    ),
    options=(CLUSTER, CLUSTER_TLS, CLUSTER_THREADS),
    features={"cluster": Feature("1.1", "Progress of book jobs tells how a cluster does that searches for them.")},
    searchers=(Searchers(CLUSTER, "desdaemon.cluster.pool:job_worker", "desdaemon.cluster.solve:solver"),),
)


def place(settings: SessionSettings) -> tuple[str, str]:
    """Return the address of the scheduler, and the folder of the keys or "", from the options."""
    return settings.value(CLUSTER, str), settings.value(CLUSTER_TLS, str)
