"""The command line of `desdaemon ggs`, and of Edax's ``-ggs``."""

from __future__ import annotations

import getpass
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from desdaemon.clients.arguments import Parser, check_writable, read_secret, real, whole
from desdaemon.clients.programs.process_groups import ProcessGroups
from desdaemon.clients.programs.results_book import check_book, count_file
from desdaemon.core.settings import SessionSettings
from desdaemon.dialogue.configuration import configuration_path, configure
from desdaemon.protocol.commands.options import OPTIONS
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.bases import expect_other_files
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system import logs

from . import lines as ggs
from .player import AcceptRules, Player, Wishes
from .session import PROGRAM, Outside, ServerSession, run
from .thinking import Thinker

if TYPE_CHECKING:
    import argparse

DEFAULT_PORT = 5000
_MARGIN_S = 5.0

DESCRIPTION = """\
Play on the Generic Game Server (GGS). Nothing is accepted and nothing offered unless an option says so. Lines of
standard input are sent to the server; quit ends the program.
"""

PLAIN = "telnet: the password and all else travel as plain text; let this password protect nothing else"


def command_line() -> Parser:
    """Return the parser of the command line."""
    parser = Parser(prog=PROGRAM, description=DESCRIPTION)
    add = parser.add_argument
    add("server", metavar="HOST:PORT", help=f"the server; port {DEFAULT_PORT} unless given")
    add("--login", required=True, metavar="NAME", help="the name on the server")
    add("--password-file", default="", metavar="FILE", help="the password, in a file of mode 0600; asked for without")
    add("--tls", action="store_true", help="encrypt, where the server can")
    add("--accept", default="", metavar="TYPES", help="accept requests of these types: 8,s8r* (with * ? [...])")
    add("--clock", default="1:00-30:00", metavar="MIN-MAX", help="time at the beginning to accept (default 1:00-30:00)")
    add("--opponents", default="", metavar="NAMES", help="accept their requests only")
    add("--rated", action="store_true", help="rated matches too")
    add(
        "--offer", default="", metavar="TEXT", help='ask for this whenever idle: "s8r14 5:00//2:00", with a name or not'
    )
    add("--matches", type=whole(1, 10**6), default=0, metavar="N", help="end after this many")
    add("--level", type=whole(0, 60), metavar="N", help="strength, besides the clock")
    add("--threads", type=whole(1, 256), metavar="N", help="search threads; each board of a pair gets half of them")
    add("--eval-file", metavar="FILE", help="evaluation weights")
    add("--book", metavar="FILE", help="play from this book, builtin for the one that ships")
    add("--margin", type=real(0, 600), default=_MARGIN_S, metavar="S", help="seconds to keep on the clock (default 5)")
    add("--games", default="", metavar="FILE", help="add the records of finished matches to this file (GGF)")
    add(
        "--book-results",
        default="",
        metavar="FILE",
        help="at the end add the games of --games to this book, count their results and learn from them",
    )
    add("--resume", action="store_true", help="ask opponents to go on with adjourned matches whenever idle")
    add("--log", default="", metavar="FILE", help="add the dialogue to this file, without the password")
    add("--tell", action="store_true", help="tell the watchers of a board what was searched; the opponent reads it too")
    return parser


@logs.without_waiting()
def main(arguments: list[str]) -> int:
    """Play until `quit`, a signal or the last match. Returns 0, or 1 after an error message, such as one about an
    option's value; a command line that cannot be parsed ends the program with status 2.
    """
    named = command_line().parse_args(arguments)
    groups = ProcessGroups()
    try:
        outside = Outside(*read_place(named.server), named.tls, named.games, named.log)
        types = tuple(filter(None, named.accept.split(",")))
        opponents = tuple(filter(None, named.opponents.casefold().split(",")))
        rules = AcceptRules(types, *read_times(named.clock), opponents, named.rated)
        wishes = Wishes(read_offer(named.offer), named.matches, named.tell, bool(named.games), named.resume)
        settings = _settings(named)
        outputs = {"--games": named.games, "--log": named.log, "--book-results": named.book_results}
        expect_other_files(outputs, filter(None, (named.password_file, named.eval_file)))
        if named.book_results and not named.games:
            raise BadInput("--book-results: expected --games FILE with it")
        if named.book_results:
            check_book(named.book_results, groups)
        password = read_secret(named.password_file, "password") if named.password_file else _asked_password(named.login)
        status = play(outside, named.login, password, rules, wishes, settings, named.margin)
        if named.book_results and Path(named.games).exists():
            counted = count_file(named.book_results, named.games, groups)
            logs.message(f"{plural(counted, 'game')} counted in {named.book_results}", PROGRAM)
        return status
    except BadInput as error:
        logs.message(str(error), PROGRAM, level="error")
        return 1


@logs.without_waiting()
def play_as_edax(settings: SessionSettings, _: str = "") -> int:
    """Play with Edax's ``ggs-`` options; ``ggs-open on`` accepts unrated matches of 1 to 30 minutes on 8x8 boards,
    otherwise none is accepted. Returns 0, or 1 after an error message.
    """
    host, port, login, password, log, open = (
        settings.text(option)
        for name in ("host", "port", "login", "password", "log-file", "open")
        if (option := OPTIONS.find(f"ggs-{name}"))
    )
    try:
        for name, value in (("ggs-host", host), ("ggs-login", login)):
            if not value:
                raise BadInput(f"-ggs: expected -{name} with it")
        outside = Outside(*read_place(f"{host}:{port or DEFAULT_PORT}"), records=settings.game_file, log=log)
        rules = AcceptRules(("8*", "s8*") if open == "on" else ())
        wishes = Wishes(records=bool(settings.game_file))
        return play(outside, login, password or _asked_password(login), rules, wishes, settings, _MARGIN_S)
    except BadInput as error:
        logs.message(str(error), PROGRAM, level="error")
        return 1


def play(
    outside: Outside,
    login: str,
    password: str,
    rules: AcceptRules,
    wishes: Wishes,
    settings: SessionSettings,
    margin_s: float,
) -> int:
    """Play, until the player ends, with an engine in this process that keeps ``margin_s`` seconds on the clock. Returns
    0, or 1 after an error message. Raises `BadInput` for an unusable login, file or setting.
    """
    if not re.fullmatch(r"\S{1,20}", login) or not login.isprintable():
        raise BadInput(f"login {quoted(login)}: expected a name without blanks")
    check_writable("--games", outside.records)
    check_writable("--log", outside.log)
    if not outside.tls:
        logs.message(PLAIN, PROGRAM)
    thinker = Thinker(settings, 1000 * margin_s)
    try:
        player = Player(login, password, rules, wishes)
        failure = run(lambda show: ServerSession(outside, player, thinker, show))
    finally:
        thinker.close()
    if failure:
        logs.message(failure, PROGRAM, level="error")
    return int(bool(failure))


def _settings(named: argparse.Namespace) -> SessionSettings:
    """Return the settings of the configuration file, replaced by those that the command line gives. The book comes from
    the command line alone.
    """
    settings = SessionSettings()
    if os.path.isfile(path := configuration_path()):  # noqa: PTH113
        configure(settings, path, "")
    settings.book_file = named.book or ""
    settings.n_tasks = named.threads or settings.n_tasks
    settings.eval_file = named.eval_file or settings.eval_file
    if named.level is not None:
        settings.level, settings.level_chosen = named.level, True
    return settings


def read_place(text: str) -> tuple[str, int]:
    """Return host and port of ``HOST:PORT``; the port is `DEFAULT_PORT` if omitted, and an IPv6 host is in brackets,
    which are removed. Raises `BadInput` for any other text.
    """
    match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^\s\[\]:]+)(?::(\d{1,5}))?", text)
    if not match or not 0 < int(match[2] or DEFAULT_PORT) < 65_536:
        raise BadInput(f"{quoted(text)}: expected HOST:PORT such as skatgame.net:{DEFAULT_PORT}")
    return match[1].strip("[]"), int(match[2] or DEFAULT_PORT)


def read_times(text: str) -> tuple[float, float]:
    """Return the least and the greatest time, in ms, of a range such as ``1:00-30:00``. Raises `BadInput` for any other
    text.
    """
    try:
        least, most = (ggs.parse_clock(time).main for time in text.split("-"))
    except ValueError:
        raise BadInput(f"--clock {quoted(text)}: expected two times such as 1:00-30:00") from None
    return least, most


def read_offer(text: str) -> str:
    """Return an offer such as ``s8r14 5:00//2:00`` with one blank between words; "" stays. Raises `BadInput` if the
    offer is unreadable or this program cannot play it.
    """
    words = text.split()
    try:
        good = not words or (
            ggs.parse_type(words[0]).playable and ggs.parse_clock(words[1]).main > 0 and len(words) <= 3
        )
    except (ValueError, IndexError):
        good = False
    if not good or not text.isprintable():
        raise BadInput(f'--offer {quoted(text)}: expected type, clock, and a name or none, such as "s8r14 5:00//2:00"')
    return " ".join(words)


def _asked_password(login: str) -> str:
    if not sys.stdin.isatty():
        raise BadInput("no terminal to ask for the password: expected --password-file FILE")
    return getpass.getpass(f"password of {login}: ")
