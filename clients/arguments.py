"""Command lines of the client programs: numbers and files, how a daemon is named, and complaints of one line."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from desdaemon.protocol.commands.options import whole_number
from desdaemon.protocol.errors import BadInput, quoted

from .blocking import Client


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line and ends with status 2."""

    def error(self, message: str) -> NoReturn:
        """See `argparse`."""
        expected = "" if ": expected " in message else f": expected what {self.prog} --help shows"
        self.exit(2, f"{self.prog}: {message}{expected}\n")


def whole(low: int, high: int) -> Callable[[str], int]:
    """An argument's type: a whole number in that range."""

    def parse(text: str) -> int:
        number = whole_number(text)
        if number is None or not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{quoted(text)}: expected a whole number from {low} to {high}")
        return number

    return parse


def real(low: float, high: float) -> Callable[[str], float]:
    """An argument's type: a number in that range."""

    def parse(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{quoted(text)}: expected a number from {low:g} to {high:g}")
        return number

    return parse


def check_writable(option: str, path: str) -> None:
    """Raise `BadInput` where a file to write in the end can be seen to be none; ``-`` and no name are no file."""
    if path in ("", "-"):
        return
    place = Path(path)
    if place.exists():
        can = place.is_file() and os.access(place, os.W_OK)
    else:
        can = place.parent.is_dir() and os.access(place.parent, os.W_OK)
    if not can:
        raise BadInput(f"{option} {quoted(path)}: expected a file that can be written")


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
