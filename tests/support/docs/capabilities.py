"""What can be asked for in which protocol: the source of a table in docs/protocols.md."""

from __future__ import annotations

from desdaemon.protocol.commands import text
from desdaemon.protocol.dialects import cassio, gtp, nboard, xboard
from desdaemon.protocol.wire import messages

PROTOCOLS: dict[str, set[str]] = {
    "text": {command.name for command in text.COMMANDS},
    "gtp": {command.name for command in gtp.COMMANDS},
    "nboard": {command.name for command in nboard.COMMANDS},
    "xboard": {command.name for command in xboard.COMMANDS},
    "cassio": {command.name for command in cassio.COMMANDS},
    "json": {operation.name for operation in messages.BASIC_OPERATIONS},
}
"""The commands of each. Those of the book are counted as one: docs/book.md lists them."""

WHAT: dict[str, dict[str, str]] = {
    "Who speaks": {
        "text": "version",
        "gtp": "protocol_version name version gogui-version gogui-title",
        "nboard": "nboard",
        "xboard": "xboard protover",
        "cassio": "init get-version",
        "json": "hello ping",
    },
    "What can be asked": {
        "text": "help",
        "gtp": "known_command list_commands gogui-analyze_commands",
        "xboard": "accepted rejected",
        "json": "hello",
    },
    "Options": {
        "text": "options",
        "gtp": "gogui-param set_level set_strength",
        "nboard": "set depth",
        "xboard": "sd memory cores option",
        "json": "analyze",
    },
    "New game": {
        "text": "init new",
        "gtp": "clear_board boardsize komi set_game list_games gogui-rules_game_id gogui-rules_board_size",
        "nboard": "set game",
        "xboard": "new variant random computer name rating ics draw result",
        "cassio": "new-position",
    },
    "Any board": {
        "text": "setboard seek",
        "gtp": "gogui-setup gogui-setup_player gogui-rules_setup",
        "nboard": "set game",
        "xboard": "setboard",
        "cassio": "midgame-search endgame-search",
        "json": "analyze legal",
    },
    "Moves": {
        "text": "play",
        "gtp": "play gogui-play_sequence",
        "nboard": "move",
        "xboard": "usermove force playother",
        "json": "analyze",
    },
    "Openings": {"text": "force opening ouverture play"},
    "Taking back": {"text": "undo redo", "gtp": "undo gg-undo", "xboard": "undo remove"},
    "The engine plays": {"text": "go", "gtp": "genmove", "nboard": "go", "xboard": "go"},
    "Best move, not played": {
        "text": "hint",
        "gtp": "reg_genmove desdaemon-hint",
        "nboard": "hint",
        "xboard": "hint",
        "cassio": "midgame-search endgame-search",
        "json": "analyze",
    },
    "Several moves": {
        "text": "hint",
        "gtp": "desdaemon-hint desdaemon-hint_gfx",
        "nboard": "hint",
        "json": "analyze",
    },
    "News of a search": {
        "text": "hint",
        "gtp": "lz-analyze kata-analyze lz-genmove_analyze kata-genmove_analyze",
        "nboard": "hint",
        "xboard": "post nopost . analyze exit",
        "cassio": "midgame-search endgame-search get-search-infos",
        "json": "analyze",
    },
    "End a search": {
        "text": "stop",
        "gtp": "gogui-interrupt",
        "nboard": "stop ping",
        "xboard": "? ping",
        "cassio": "stop",
        "json": "cancel",
    },
    "A whole game judged": {"text": "analyze", "nboard": "analyze", "json": "analyze"},
    "Many positions, over a restart": {"json": "analyze.batch batch.results batch.forget"},
    "Clocks": {
        "text": "new",
        "gtp": "time_settings time_left cputime",
        "nboard": "set game move",
        "xboard": "level st time otim",
        "json": "analyze",
    },
    "The opponent's time": {"text": "go", "gtp": "genmove", "nboard": "move", "xboard": "hard easy"},
    "Book": {
        "text": "book",
        "gtp": "desdaemon-book",
        "nboard": "learn hint set contempt",
        "xboard": "bk",
        "json": "book.get jobs",
    },
    "Files of games": {"text": "load save base", "gtp": "loadsgf", "nboard": "set game"},
    "What people played": {"text": "games", "json": "games.get people.get"},
    "Problems": {"text": "solve script-to-obf select-hard wtest"},
    "The rules": {
        "text": "moves",
        "gtp": (
            "showboard gogui-rules_board gogui-rules_legal_moves gogui-rules_side_to_move gogui-rules_board_gfx "
            "gogui-rules_captured_count"
        ),
        "json": "legal",
    },
    "Result": {"text": "go", "gtp": "final_score gogui-rules_final_result", "xboard": "result", "json": "legal"},
    "Mirrors": {"text": "hmirror vmirror rotate symmetry"},
    "The engine's memory": {"xboard": "memory", "cassio": "empty-hash feed-hash", "json": "cache.clear"},
    "Measuring": {
        "text": "eval perft count bench mobility estimate resources",
        "gtp": "cputime",
        "json": "metrics status",
    },
    "Another protocol": {"text": "nboard protocol_version xboard engine-protocol", "json": "text"},
    "The end": {
        "text": "quit",
        "gtp": "quit",
        "nboard": "quit",
        "xboard": "quit",
        "cassio": "quit",
        "json": "shutdown",
    },
}
"""The commands for a purpose, by protocol."""


def named(protocol: str, names: str) -> list[str]:
    """The commands in a string, the longest names first; what is none of the protocol's is kept as it is."""
    words, found = names.split(), []
    while words:
        size = next((size for size in (2, 1) if " ".join(words[:size]) in PROTOCOLS[protocol]), 1)
        found.append(" ".join(words[:size]))
        del words[:size]
    return found
