"""`desdaemon train`: the stages of training; labels may be searched by a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from desdaemon.protocol import satellites

if TYPE_CHECKING:
    from pathlib import Path

    from desdaemon.engine.training.labelling.chunks import ScoreChunks
    from desdaemon.protocol.command_line import Parser


def command_line() -> Parser:
    """Return the argument parser of all stages."""
    from desdaemon.engine.training import cli

    return cli.command_line(cluster=True)


def _cluster_scores(address: str, tls: str, weights: Path, hash_bits: int) -> ScoreChunks:
    # Loaded when asked for: dask takes half a second.
    scores: ScoreChunks = satellites.loaded("cluster.labels:cluster_scores")(address, tls, weights, hash_bits)
    return scores


def main(argv: list[str]) -> int:
    """Run the stage of training that ``argv`` names. Returns the exit status."""
    from desdaemon.engine.training import cli

    return cli.main(argv, _cluster_scores)
