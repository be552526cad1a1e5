"""`desdaemon book judge`: two books against each other."""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from desdaemon.clients.arguments import check_writable, print_text
from desdaemon.protocol.command_line import Parser, whole
from desdaemon.protocol.commands.options import BUILTIN_BOOK
from desdaemon.protocol.errors import BadInput, escaped
from desdaemon.protocol.system import logs
from desdaemon.protocol.system.platform import processors
from desdaemon.protocol.system.terminal import StepProgress

if TYPE_CHECKING:
    from .account import Account

_MOST_PAIRS = 100_000


def command_line() -> Parser:
    """Return the parser of `desdaemon book judge`."""
    parser = Parser(
        prog="desdaemon book judge",
        description="Two books play each other, each opening twice with exchanged colours. Where a book has no move, "
        "one engine chooses it, the same for both.",
    )
    add = parser.add_argument
    add("first", metavar="A", help=f"a book of any format, or {BUILTIN_BOOK}, the one that ships")
    add("second", metavar="B", help="another one")
    add("--level", type=whole(0, 60), default=8, metavar="N", help="level of the engine, default 8")
    add("--pairs", type=whole(1, _MOST_PAIRS), default=100, metavar="N", help="pairs of games, default 100")
    add("--plies", type=whole(0, 60), metavar="N", help="moves of a start, default 6; with a file the most")
    add("--openings", default="", metavar="FILE", help="begin with these games or positions, as match does")
    add("--randomness", type=whole(0, 128), default=0, metavar="N", help="discs that a book's move may lose, default 0")
    add("--seed", type=int, default=1, metavar="N", help="of the starts, and of choices between equal moves")
    add(
        "--exact",
        type=whole(0, 10**6),
        default=0,
        metavar="N",
        help="compare the last scores of N lines of each book with exact ones",
    )
    add(
        "--threads",
        type=whole(1, 256),
        default=processors(),
        metavar="N",
        help="games at a time, by default all cores",
    )
    add("--json", default="", metavar="FILE", help="write the account as JSON; - is standard output, without the table")
    return parser


def main(arguments: list[str]) -> int:
    """Play the games and print their account. Returns the exit status: 1 if a file cannot be used, 128 plus the number
    of the signal that ended the games early.
    """
    asked = command_line().parse_args(arguments)

    from desdaemon.book.errors import BookError
    from desdaemon.protocol.games.bases import expect_other_files, replace_file

    from .account import data, report

    try:
        check_writable("--json", asked.json)
        expect_other_files({"--json": asked.json}, (asked.first, asked.second, asked.openings))
        found, signal = _judged(asked)
        about = {name: getattr(asked, name) for name in ("first", "second", "level", "randomness", "seed")}
        account = data(found, {**about, "openings": asked.openings or None, "stopped": bool(signal)})
        text = json.dumps(account, indent=1) + "\n"
        if asked.json != "-":
            if asked.json:
                replace_file(asked.json, text.encode())
            stopped = ", stopped" if signal else ""
            text = report(found, f"{' against '.join(found.names)}: level {asked.level}, seed {asked.seed}{stopped}")
        print_text(text)
    except (BadInput, BookError) as error:
        logs.message(str(error), level="error")
        return 1
    return 128 + signal if signal else 0


def _judged(asked: Namespace) -> tuple[Account, int]:
    """Play the games. Returns what was found, and the number of the signal that ended the work early, or 0.

    Raises `BadInput` and `BookError` for files that cannot be used.
    """
    from desdaemon.book.choose import MoveChoice
    from desdaemon.book.editing.engine_evaluator import Searches
    from desdaemon.book.editing.rounds import Worker
    from desdaemon.book.formats import registry
    from desdaemon.book.progress import WorkCancelled
    from desdaemon.clients.programs.openings import openings_of_file
    from desdaemon.clients.programs.process_groups import StoppedBySignals
    from desdaemon.engine.compiler.library import wait
    from desdaemon.engine.exports import SPEC

    from . import games
    from .account import Account

    texts = asked.first, asked.second
    names = [escaped(Path(text).name) for text in texts]
    if names[0] == names[1]:
        names = [escaped(text) for text in texts]
    found = Account((names[0], names[1]), [], [], ([], []))
    searches = Searches()
    worker = Worker(searches, threads=asked.threads, halt=searches.stop)
    with ExitStack() as ends, StoppedBySignals(searches.stop) as signals, suppress(WorkCancelled):
        shown = ends.enter_context(StepProgress())

        def progress(what: str, done: int, total: int) -> None:
            if signals.number:
                raise WorkCancelled
            shown(what, done, total)

        paths = [registry.shipped() if text == BUILTIN_BOOK else Path(text) for text in texts]
        first, second = (ends.enter_context(registry.reading(path, progress)) for path in paths)
        wait(SPEC, lambda: progress("compile", 0, 0))
        plies = {} if asked.plies is None else {"plies": asked.plies}
        if asked.openings:
            found.openings.extend(openings_of_file(asked.openings, **plies).openings)
        else:
            for start in games.starts((first, second), asked.pairs, seed=asked.seed, **plies):
                found.openings.append(start)
                progress("starts", len(found.openings), 0)
        terms = games.Terms(asked.level, MoveChoice(randomness=asked.randomness), asked.seed)
        for game in games.games((first, second), found.openings, asked.pairs, terms, worker):
            found.games.append(game)
            progress("games", len(found.games), 2 * asked.pairs)
        for book, losses in enumerate(found.losses):
            promised = games.promises(found.games, book, asked.exact)
            for loss in games.losses(promised, worker):
                losses.append(loss)
                progress("solved", len(losses), len(promised))
    return found, signals.number
