"""`desdaemon train`: the stages of training; labels may be searched by a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from desdaemon.engine.training.labelling.chunks import ScoreChunks
    from desdaemon.protocol.command_line import Parser


def command_line() -> Parser:
    """Return the argument parser of all stages."""
    from desdaemon.engine.training import cli

    return cli.command_line(cluster=True)


def _cluster_scores(address: str, tls: str, weights: Path, hash_bits: int) -> ScoreChunks:
    # Imported when asked for: dask takes half a second.
    from desdaemon.cluster.labels import cluster_scores

    return cluster_scores(address, tls, weights, hash_bits)


def main(argv: list[str]) -> int:
    """Run the stage of training that ``argv`` names. Returns the exit status."""
    from desdaemon.engine.training import cli

    return cli.main(argv, _cluster_scores)
