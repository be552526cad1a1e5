"""The lines of GUIs that nobody should write, and the forms of the answers; see fuzzing.py."""

from __future__ import annotations

import re

from fuzzing import ERRORS, FORMS, TEMPLATES
from gtp_dialogue import ANSWER

LINES = {
    "gtp": (
        "{id}play {colour} {square}|{id}genmove {colour}|{id}reg_genmove {colour}|{id}undo|{id}gg-undo {number}|"
        "{id}clear_board|{id}boardsize {number}|{id}komi {number}|{id}time_settings {number} {number} {number}|"
        "{id}time_left {colour} {number} {number}|{id}known_command {word}|{id}list_commands|{id}name|{id}showboard|"
        "{id}final_score|{id}set_game {word}|{id}gogui-play_sequence {colour} {square} {colour} {square}|"
        "{id}gogui-rules_legal_moves|{id}gogui-rules_board|{id}gogui-rules_side_to_move|{id}desdaemon-hint {number}|"
        "{id}desdaemon-hint_gfx|{id}loadsgf {word}|{id}{word} {word}|{id}|# {word}|{id}desdaemon-book {word}|"
        "{id}gogui-setup {colour} {square}|{id}gogui-setup_player {colour}|{id}gogui-param {word} {number}|"
        "{id}gogui-param|{id}gogui-param level {number}|{id}set_level {number}|{id}lz-genmove_analyze {colour} {number}"
    ),
    "nboard": (
        "nboard {number}|set game %G|set game {word}|set depth {number}|set contempt {number}|move {square}|"
        "move {square}/{number}/{number}|{square}|hint {number}|go|ping {number}|stop|analyze|learn|game %G|{word}|"
        "set {word} {word}"
    ),
    "xboard": (
        "xboard|protover {number}|accepted {word}|new|variant {word}|variant othello|force|go|playother|P@{square}|"
        "usermove {square}|@@@@|{square}|?|ping {number}|setboard 8/8/8/3Pp3/3pP3/8/8/8[PPpp] {fen} - - 0 1|"
        "setboard {word}|undo|remove|hint|bk|level {number} {number}:{number} {number}|"
        "level {number} {number} {number}|st {number}|sd {number}|time {number}|otim {number}|hard|easy|post|nopost|"
        "analyze|exit|.|memory {number}|cores {number}|result {word}|draw|{word} {word}"
    ),
    "cassio": (
        "%E init|%E get-version|%E new-position|%E midgame-search %B{side} -64 64 {number} {number}|"
        "%E endgame-search %B{side} {number} {number} 100|%E stop|%E get-search-infos|%E feed-hash %B{side} -4 4 8 73|"
        "%E empty-hash|%E {word}|{word}||%E midgame-search {word} {number}"
    ),
}
TEMPLATES.update(LINES)

SQUARE = "(?:[A-H][1-8]|PA)"
NBOARD_LINE = re.compile(
    rf"set myname \w+|status(?: [ -~]+)?|pong(?: \S+)?|learned|warning .+"
    rf"|book {SQUARE}(?:-{SQUARE})* -?\d+\.\d\d \d+ \d+"
    rf"|search {SQUARE}(?:-{SQUARE})* -?\d+\.\d\d 0 (?:\d+(?:@\d\d%)?|100%W?)|nodestats \d+ \d+\.\d+"
    rf"|=== {SQUARE}/(?:-?\d+\.\d\d)?/\d+\.\d\d|analysis \d+ -?\d+\.\d\d"
)

ERRORS.update(
    {
        "gtp": lambda answer: answer.startswith("?"),
        "nboard": lambda answer: answer.startswith("warning "),
        "xboard": lambda answer: answer.startswith(("Error (", "Illegal move")),
        "cassio": lambda answer: answer.startswith("ERROR: "),
    }
)
FORMS.update(
    {
        "gtp": lambda out, err: out == "" or ANSWER.fullmatch(out),
        "nboard": lambda out, err: err == "" and all(map(NBOARD_LINE.fullmatch, out.splitlines())),
    }
)
