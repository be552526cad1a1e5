"""What the help of Edax 4.6 names, and why some of it is not here: the source of docs/edax.md."""

from __future__ import annotations

from desdaemon.clients.gamefiles.rows import BASE_COMMANDS
from desdaemon.protocol.commands import options as option_rows
from desdaemon.protocol.commands import text as command_rows
from desdaemon.protocol.commands.book import find_book_command


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


COMMANDS = _words("""
    init i new n setboard play force go hint stop undo u redo r mode m analyze analyse a load open o save s quit q exit
    version v options opening ouverture vmirror hmirror rotate symetry seek mobility perft estimate bench solve obftest
    select-hard script-to-obf wtest weval edaxify book b base resources debug-pv help ? nboard xboard protocol_version
    engine-protocol
""")

COUNTS = ("count games", "count positions", "count shapes")

BOOK = _words("""
    new load open save import export merge on off randomness depth verbose show info stats analyze analyse a store add
    check deviate enhance fill play extend deepen correct fix negamax prune subtree extract problem feed-hash
""")

BASE = _words("convert unique problem tofen check correct complete compare")

OPTIONS = _words("""
    verbose noise width echo info h hash-table-size n n-tasks cpu l level d depth selectivity t game-time move-time
    ponder mode speed nps alpha beta all-best probcut-d pv-debug pv-check pv-guess inc-pvnode-sort-depth
    inc-cutnode-sort-depth inc-allnode-sort-depth eval-file book-file book-usage book-randomness auto-start auto-swap
    auto-store auto-quit repeat game-file search-log-file ui-log-file ggs-log-file name ggs-host ggs-login ggs-password
    ggs-port ggs-open debug-cassio follow-cassio q vv
""")

COMMAND_LINE = _words("""
    solve wtest bench count test o option-file help ? version v gtp xboard nboard cassio ggs edax
""")

_TUNING = "Tunes Edax's own search, which is another one; accepted without effect."

REASONS = {
    "obftest": "Does not exist in Edax either; the command is `solve`.",
    "weval": "A picture of Edax's own evaluation; docs/training.md says how ours is measured.",
    "edaxify": "Writes false names into a file of games.",
    "debug-pv": "Shows the insides of Edax's table.",
    "-test": "Tests are run by `make test`.",
    "info": "Debugging output of Edax; accepted without effect.",
    "cpu": "Threads are left to the system; accepted without effect.",
    "nps": "Clocks count time, not nodes; `nodes` limits a search by nodes. Accepted without effect.",
    "debug-cassio": "The dialogue can be written down by `ui-log-file`; accepted without effect.",
    "follow-cassio": "The depth that Cassio asks for is always followed; accepted without effect.",
    **dict.fromkeys(_words("all-best probcut-d pv-debug pv-check pv-guess"), _TUNING),
    **dict.fromkeys(_words("inc-pvnode-sort-depth inc-cutnode-sort-depth inc-allnode-sort-depth"), _TUNING),
}
"""Why not, by name; options of the command line with their dash."""


def commands() -> list[tuple[str, bool]]:
    """Every command and whether it is here."""
    found = [
        (name, command_rows.COMMANDS.find(name) is not None or option_rows.OPTIONS.find(name) is not None)
        for name in COMMANDS
    ]
    found += [(name, command_rows.COMMANDS.find("count") is not None) for name in COUNTS]
    found += [(f"book {name}", find_book_command(name) is not None) for name in BOOK]
    found += [(f"base {name}", name in {command.name for command in BASE_COMMANDS}) for name in BASE]
    return found


def options() -> list[tuple[str, bool]]:
    """Every option and whether it does something here."""
    found = []
    for name in OPTIONS:
        option = option_rows.OPTIONS.find(name)
        # Those of the game server do nothing in a dialogue.
        found.append((name, option is not None and (not option.idle or option.of_server)))
    return found
