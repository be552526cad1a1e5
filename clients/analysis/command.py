"""`desdaemon analyze`: a game file in, a report out."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from desdaemon.clients.arguments import Parser, check_writable, real, whole
from desdaemon.clients.errors import DaemonError
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.bases import BASE_FORMATS, FileGame, read_games
from desdaemon.protocol.games.records import black_score
from desdaemon.protocol.othello.rules import PASS

from .game import analyze_game, as_json
from .source import OwnDaemon, Server
from .table import result_text, table

if TYPE_CHECKING:
    import argparse

DESCRIPTION = f"""\
Report on a game: what each move was worth, what would have been best, what each player gave away.
FILE is a game or a base of games: {" ".join(BASE_FORMATS)}.
"""


def main(arguments: list[str]) -> int:
    """Analyse a game; 0, 1 where the file or the daemon cannot be used, 2 for a bad command line."""
    options = _checked(command_line(), arguments)
    try:
        for option, path in (("--html", options.html), ("--json", options.json)):
            check_writable(option, path)
        if options.list:
            _list(options)
            return 0
        game = _chosen(options)
        source = _source(options)
        try:
            analysis = analyze_game(game, source, source.engine, _effort(options), _show)
        finally:
            _show_nothing()
            source.close()
        if options.html:
            from .page import page

            _write(options.html, page(analysis))
        if options.json:
            _write(options.json, json.dumps(as_json(analysis), indent=1, ensure_ascii=False) + "\n")
        if "-" not in (options.html, options.json):
            _write("-", table(analysis))
    except (BadInput, DaemonError) as error:
        _mention(str(error))
        return 1
    return 0


def command_line() -> Parser:
    """The command line."""
    parser = Parser(prog="desdaemon analyze", description=DESCRIPTION, allow_abbrev=False)
    add = parser.add_argument
    add("file", metavar="FILE")
    add("--game", type=whole(1, 10**9), default=0, metavar="N", help="the game of that number in the file, from 1")
    add("--player", default="", metavar="NAME", help="games of a player whose name contains this")
    add("--list", action="store_true", help="list the games instead")
    effort = parser.add_mutually_exclusive_group()
    effort.add_argument("--level", type=whole(0, 60), default=16, metavar="N", help="level of the search (default 16)")
    effort.add_argument("--depth", type=whole(0, 60), metavar="N", help="plies to search instead")
    effort.add_argument("--time", type=real(0.001, 10**6), metavar="S", help="seconds a position instead")
    add("--book", choices=("use", "ignore"), default="ignore", help="whether the daemon's book may answer")
    add("--html", default="", metavar="FILE", help="write a page with board and graph; - is standard output")
    add("--json", default="", metavar="FILE", help="write the analysis as JSON; - is standard output")
    add("--threads", type=whole(1, 256), metavar="N", help="search threads of the daemon that is started")
    add("--eval-file", default="", metavar="FILE", help="evaluation weights of the daemon that is started")
    add("--server", nargs="?", const="", metavar="ENDPOINT", help="ask a daemon that runs; without a name, this user's")
    add("--key", metavar="FILE", help="this client's key for the server, made by `desdaemon keys new`")
    add("--server-key", metavar="KEY", help="the server's public key where the file does not hold it")
    return parser


def _checked(parser: Parser, arguments: list[str]) -> argparse.Namespace:
    """The options; ends with status 2 where they do not go together."""
    options = parser.parse_args(arguments)
    if options.html == options.json == "-":
        parser.error("--html - and --json -: expected one of them on standard output")
    ours, theirs = ("threads", "eval_file"), ("key", "server_key")
    for name in ours if options.server is not None else theirs:
        if getattr(options, name):
            where = "no --server" if name in ours else "--server"
            parser.error(f"--{name.replace('_', '-')}: expected {where} with it")
    return options


def _effort(options: argparse.Namespace) -> dict[str, Any]:
    if options.time is not None:
        effort = {"time_ms": round(1000 * options.time)}
    elif options.depth is not None:
        effort = {"depth": options.depth}
    else:
        effort = {"level": options.level}
    return {**effort, "book": options.book}


def _source(options: argparse.Namespace) -> OwnDaemon | Server:
    if options.server is not None:
        from desdaemon.clients.blocking import Client

        return Server(Client.connect(options.server or None, key=options.key, server_key=options.server_key))
    own = ["-n", str(options.threads)] if options.threads else []
    return OwnDaemon([*own, *(["-eval-file", options.eval_file] if options.eval_file else [])])


# Choosing the game


def _mention(line: str) -> None:
    sys.stderr.write(f"desdaemon analyze: {line}\n")


def _wanted(options: argparse.Namespace) -> Iterator[FileGame]:
    """The games of the file that fit, lazily; those that cannot be read are mentioned."""
    name = options.player.casefold()
    for game in read_games(options.file, _mention):
        players = (game.record.black.casefold(), game.record.white.casefold())
        if any(name in player for player in players):
            yield game


def _chosen(options: argparse.Namespace) -> FileGame:
    number = options.game
    games = _wanted(options)
    first = next((game for game in games if number in (0, game.number)), None)
    if first is None:
        which = f"game {number}" if number else "no game"
        whose = f" of {quoted(options.player)}" if options.player else ""
        raise BadInput(f"{quoted(options.file)}: {which}{whose}: --list shows what there is")

    if not any(played.move != PASS for played in first.record.moves):
        raise BadInput(f"{quoted(options.file)}: game {first.number} has no moves")
    if not number and next(games, None):
        _mention(f"game {first.number} of several; --game N takes another, --list shows them")
    return first


def _list(options: argparse.Namespace) -> None:
    with contextlib.suppress(BrokenPipeError):
        for game in _wanted(options):
            record = game.record
            names = f"{record.black or '?'} - {record.white or '?'}"
            about = ", ".join(part for part in (game.event, game.date) if part)
            result = game.result
            if result is None and record.final.over:
                result = black_score(record.final)
            sys.stdout.write(f"{game.number:6}  {names:44}  {result_text(result):16}  {about}".rstrip() + "\n")
        sys.stdout.flush()


# What comes out


def _write(path: str, text: str) -> None:
    if path == "-":
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.write(text)
            sys.stdout.flush()
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{quoted(path)}: {error.strerror}: expected a file that can be written") from None


def _show(done: int, total: int) -> None:
    """The line of progress, for terminals only."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{done} of {total} positions")
        sys.stderr.flush()


def _show_nothing() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
