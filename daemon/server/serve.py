"""`desdaemon serve` as the command line calls it: the daemon itself, or its supervisor, which loads next to nothing."""

from __future__ import annotations

SUPERVISE = "--supervise"


def main(arguments: list[str]) -> int:
    """Serve; returns the exit status."""
    if SUPERVISE in arguments and not {"--help", "-help"} & set(arguments[:1]):
        from .supervisor import supervise

        return supervise(["serve", *(argument for argument in arguments if argument != SUPERVISE)])
    from .server import main as serve

    return serve(arguments)
