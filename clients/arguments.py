"""Command lines of the client programs: how a daemon is named, and complaints of one line."""

from __future__ import annotations

import argparse
from typing import NoReturn

from .blocking import Client


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line and ends with status 2."""

    def error(self, message: str) -> NoReturn:
        """See `argparse`."""
        self.exit(2, f"{self.prog}: {message}: expected what {self.prog} --help shows\n")


def add_daemon(parser: argparse.ArgumentParser) -> None:
    """The arguments that `connected` reads."""
    parser.add_argument(
        "endpoint",
        nargs="?",
        metavar="ENDPOINT",
        help="such as tcp://host:6464; without it the daemon of this user on this machine",
    )
    parser.add_argument("--key", metavar="FILE", help="this client's key, made by `desdaemon keys new`")
    parser.add_argument("--server-key", metavar="KEY", help="the daemon's public key where the file does not hold it")
    parser.add_argument("--timeout", type=float, default=5.0, metavar="S", help="seconds to wait for it (default 5)")


def connected(named: argparse.Namespace) -> Client:
    """A client of the daemon that the arguments name; raises as `Client.connect`."""
    return Client.connect(named.endpoint, key=named.key, server_key=named.server_key, timeout_s=named.timeout)
