"""`desdaemon serve`: the daemon, or its supervisor, which loads next to nothing."""

from __future__ import annotations

import sys

SUPERVISE = "--supervise"


def main(arguments: list[str]) -> int:
    """Run `desdaemon serve`. Returns the exit status: 2 for a bad command line, 1 if the daemon could not serve."""
    if arguments[:1] in (["--help"], ["-help"]) or arguments == ["-h"]:
        from .serve_options import USAGE

        sys.stdout.write(USAGE)
        return 0
    if SUPERVISE in arguments:
        from desdaemon.server.supervisor import supervise

        return supervise(["serve", *(argument for argument in arguments if argument != SUPERVISE)])
    from desdaemon.protocol.errors import BadInput
    from desdaemon.protocol.system import logs
    from desdaemon.server.server import serve

    from .serve_options import Unservable, read_options

    try:
        settings, options = read_options(arguments)
    except BadInput as error:
        logs.message(str(error), "desdaemon serve", level="error")
        return 1 if isinstance(error, Unservable) else 2
    return serve(settings, options)
