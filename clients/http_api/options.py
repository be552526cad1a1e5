"""The options that the interface adds to `desdaemon web`, and what they make."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from desdaemon.protocol.command_line import Parser, whole

from .terms import Terms, read_keys

if TYPE_CHECKING:
    from desdaemon.clients.web.gateway import Part


def add(parser: Parser) -> None:
    """Add the options to the parser of the command line."""
    of_api = parser.add_argument
    of_api("--api", action="store_true", help="tell programs at /api/v1/ what positions are worth, without a token")
    of_api(
        "--api-search",
        type=whole(1, 60_000),
        metavar="MS",
        help="search so long where nothing is known; without it nothing is searched",
    )
    of_api(
        "--api-rate",
        type=whole(0, 100_000),
        metavar="N",
        help="requests a minute of an address without a key (default 60)",
    )
    of_api("--api-keys", metavar="FILE", help="keys with their requests a minute, one a line")


def part(parser: Parser, named: argparse.Namespace) -> Part | None:
    """Return the part of the gateway that the options ask for, None without `--api`. Ends the program with status 2 for
    options that need it; raises `BadInput` for a file of keys that cannot be used.
    """
    if not named.api:
        for name in ("api_search", "api_rate", "api_keys"):
            if getattr(named, name) is not None:
                parser.error(f"--{name.replace('_', '-')} needs --api")
        return None
    from .handlers import Api

    keys = read_keys(named.api_keys) if named.api_keys else {}
    return Api(Terms(named.api_search or 0, 60 if named.api_rate is None else named.api_rate, keys))
