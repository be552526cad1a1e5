"""GTP beyond its specification: parameters, streams for Sabaki, GoGui's commands with the types of its manual."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from live import Live, converse
from test_gtp import ANSWER, Talk, finished, passing

from desdaemon.guis.codecs import gtp
from desdaemon.guis.codecs.gtp import AnalyzedMove
from desdaemon.protocol.othello.notation import move_text

# Parameters


def parameters(talk: Talk) -> dict[str, str]:
    """Key to value, each line of a type that GoGui knows."""
    rows = [re.fullmatch(r"\[(string|bool)\] (\S+) (.*)", line) for line in talk.say("gogui-param").split("\n")]
    assert all(rows)
    found = {row[2]: row[3] for row in rows if row}
    assert len(found) == len(rows)
    assert all(row[3] in ("0", "1") for row in rows if row and row[1] == "bool")
    return found


def test_parameters_are_shown_and_changed_while_connected() -> None:
    talk = Talk()
    before = parameters(talk)
    assert before["level"] == "21"
    assert before["use_book"] == "1"
    changes = {
        "level": "7",
        "strength": "1500",
        "depth": "9",
        "threads": "2",
        "hash_table_bits": "18",
        "time_per_move": "2.5",
        "time_per_game": "infinite",
        "use_book": "0",
        "book_randomness": "3",
        "ponder": "1",
        "live_graphics": "1",
    }
    assert changes.keys() == before.keys()
    for key, value in changes.items():
        assert talk.say(f"gogui-param {key} {value}") == ""
    after = parameters(talk)
    assert {**after, "time_per_move": "2.5"} == changes
    settings = talk.session.settings
    assert (settings.level, settings.n_tasks, settings.move_time, settings.book_usage) == (7, 2, 2500, False)
    for key, value in before.items():
        talk.say(f"gogui-param {key} {value}")
    assert parameters(talk) == before


@pytest.mark.parametrize(
    "line",
    ["gogui-param level 99", "gogui-param level", "gogui-param nonsense 1", "gogui-param use_book 2", "set_level x"],
)
def test_bad_parameters_change_nothing(line: str) -> None:
    talk = Talk()
    before = parameters(talk)
    assert talk.fails(line).startswith("syntax error")
    assert parameters(talk) == before


def test_a_level_that_is_set_is_the_next_move_s() -> None:
    talk = Talk()
    for level in (3, 9):
        talk.say(f"set_level {level}")
        talk.say("genmove " + talk.say("gogui-rules_side_to_move"))
        assert talk.searcher.calls[-1][2].depth == level


# Streams

MOVE = r"(?:[A-H][1-8]|pass)"
INFO = {
    "lz": rf"info move ({MOVE}) visits \d+ winrate (\d+) prior \d+ lcb \d+ order (\d+) pv {MOVE}(?: {MOVE})*",
    "kata": (
        rf"info move ({MOVE}) visits \d+ utility -?\d\.\d+ winrate (\d\.\d+) scoreMean -?\d+ scoreStdev \d+ "
        rf"scoreLead -?\d+ scoreSelfplay -?\d+ prior \d\.\d+ lcb \d\.\d+ utilityLcb -?\d\.\d+ order (\d+) "
        rf"pv {MOVE}(?: {MOVE})*"
    ),
}


def infos(form: str, line: str) -> list[tuple[str, float]]:
    """Move and winning rate of each part of a line, best first."""
    found = [re.fullmatch(INFO[form], part) for part in re.split(r" (?=info )", line)]
    assert all(found), line
    assert [int(match[3]) for match in found if match] == list(range(len(found)))
    return [(match[1], float(match[2])) for match in found if match]


@pytest.mark.parametrize("form", ["lz", "kata"])
@pytest.mark.parametrize("ending", [b"name\n", b"\n", b"# interrupt\n", b"lz-analyze\nname\n"])
def test_an_analysis_goes_on_until_the_next_line(form: str, ending: bytes) -> None:
    with Live("-gtp") as live:
        live.send(f"7 {form}-analyze b 1 maxmoves 3\n".encode())
        assert live.until(b"\n") == b"=7\n"
        found = infos(form, live.until(b"\n").decode().rstrip())
        assert found[0][0] == "D3"
        assert len(found) <= 3
        live.send(ending)
        rest = live.until(b"\n\n").decode()
        assert all(line.startswith("info ") for line in rest.split("\n") if line)
        live.send(b"quit\n")
        out, err, status = live.end()
        assert (err, status) == (b"", 0)
        assert out.decode().split("\n\n")[-2] == "="


def test_an_analysis_is_over_with_the_input() -> None:
    done = converse(b"kata-analyze 50\n", "-gtp", GRACE_S="0.1")
    assert done.returncode == 0
    assert done.stdout.startswith(b"=\n")
    assert done.stdout.endswith(b"\n\n")


@pytest.mark.parametrize("form", ["lz", "kata"])
def test_a_generated_move_shows_its_analysis(form: str) -> None:
    talk = Talk(level=4)
    first, *lines, played, empty, end = talk.raw(f"3 {form}-genmove_analyze b 1").split("\n")
    assert (first, played, empty, end) == ("=3", "play D3", "", "")
    assert all(infos(form, line)[0][0] == "D3" for line in lines)
    assert lines
    assert [move_text(move) for move in talk.session.game.moves] == ["D3"]


@pytest.mark.parametrize(
    "line",
    [
        "lz-analyze w",
        "kata-genmove_analyze w",
        "kata-analyze b interval",
        "kata-analyze b interval x",
        "kata-analyze nonsense 3",
        "kata-analyze maxmoves 0",
        "lz-analyze b 10 allow b",
        "lz-analyze b 10 allow b z9 3",
    ],
)
def test_analyses_that_cannot_begin_are_refused(line: str) -> None:
    Talk().fails(line)


@given(
    st.sampled_from(["", "b", "W", "black", "white"]),
    st.one_of(st.none(), st.integers(0, 10**6)),
    st.lists(st.sampled_from(["ownership true", "minmoves 3", "rootInfo true", "pvVisits false"])),
)
def test_commands_that_programs_ask_for_are_known(colour: str, interval: int | None, more: list[str]) -> None:
    words = " ".join([colour, "" if interval is None else str(interval), *more]).split()
    wanted = gtp.parse_analysis(words)
    assert wanted.black == (None if not colour else colour.lower().startswith("b"))
    assert wanted.interval_ms == max(gtp.LEAST_INTERVAL_MS, 500 if interval is None else 10 * interval)
    assert wanted.most == 64


def test_moves_are_allowed_and_avoided() -> None:
    assert gtp.parse_analysis(["b", "allow", "b", "D3,C4", "1"]).allowed == 1 << 19 | 1 << 26
    assert gtp.parse_analysis(["b", "avoid", "b", "D3,pass", "1", "maxmoves", "2"]).allowed == (1 << 64) - 1 - (1 << 19)


@given(st.lists(st.tuples(st.integers(-64, 64), st.booleans()), min_size=1, max_size=20))
def test_scores_become_winning_rates(scores: list[tuple[int, bool]]) -> None:
    candidates = [AnalyzedMove(at, score, exact, 5, (at,)) for at, (score, exact) in enumerate(sorted(scores)[::-1])]
    for candidate in candidates:
        rate = gtp.win_rate(candidate)
        assert 0 <= rate <= 1
        assert (rate > 0.5, rate < 0.5) == (candidate.score > 0, candidate.score < 0)
        if candidate.exact:
            assert rate in (0, 0.5, 1)
    assert len(infos("lz", gtp.lz_info(candidates))) == len(candidates)
    assert len(infos("kata", gtp.kata_info(candidates))) == len(candidates)


# GoGui

POINTS = r"[A-H][1-8](?: [A-H][1-8])*"
GFX = re.compile(
    rf"(?:CIRCLE|MARK|SQUARE|TRIANGLE|BLACK|WHITE) {POINTS}|TEXT .+|LABEL(?: [A-H][1-8] \S+)+|"
    rf"VAR(?: [bw] (?:[A-H][1-8]|PASS))+|INFLUENCE(?: [A-H][1-8] -?[\d.]+)+|COLOR \S+ {POINTS}"
)
BOARD = re.compile(r"(?:[.XO](?: [.XO]){7}\n){7}[.XO](?: [.XO]){7}")

RULES = {
    "game_id": re.compile(r"Othello"),
    "board": BOARD,
    "board_size": re.compile(r"8"),
    "legal_moves": re.compile(rf"(?:{POINTS}|pass)?"),
    "side_to_move": re.compile(r"black|white"),
    "final_result": re.compile(r"(?:(?:Black|White) wins by \d+|Draw)?"),
    "board_gfx": re.compile(rf"(?:(?:{GFX.pattern})(?:\n|$))*"),
    "captured_count": re.compile(r"\d+ \d+"),
    "setup": re.compile(r""),
}
"""The commands ``gogui-rules_...`` and what GoGui reads, without checking, from the answer to each."""

TYPES = {
    "gfx": re.compile(rf"(?:(?:{GFX.pattern})(?:\n|$))+"),
    "hstring": re.compile(r"(?s).*"),
    "param": re.compile(r"(?:\[(?:string|bool)\] \S+ .*(?:\n|$))+"),
}
"""The types of analysis commands used, and the answers that GoGui's manual wants from them."""


@pytest.mark.parametrize("talk", [Talk, finished, passing], ids=["start", "end", "pass"])
def test_every_command_of_a_ruler_answers_in_its_type(talk: object) -> None:
    made = talk()  # type: ignore[operator]
    listed = [name for name in made.say("list_commands").split("\n") if name.startswith("gogui-rules_")]
    assert {name.removeprefix("gogui-rules_") for name in listed} == set(RULES)
    for name in listed:
        answer = made.say(name)
        assert RULES[name.removeprefix("gogui-rules_")].fullmatch(answer), (name, answer)
    over = made.session.game.position.over
    assert (made.say("gogui-rules_legal_moves") == "") == over
    assert (made.say("gogui-rules_final_result") == "") == (not over)


@pytest.mark.parametrize("talk", [Talk, finished, passing], ids=["start", "end", "pass"])
def test_every_analysis_command_answers_in_its_type(talk: object) -> None:
    made = talk()  # type: ignore[operator]
    rows = made.say("gogui-analyze_commands").split("\n")
    made.say("gogui-param live_graphics 0")
    for row in rows:
        kind, label, command = row.split("/")
        assert label
        words = command.split()
        assert words[0] in gtp.COMMAND_NAMES
        assert set(words[1:]) <= {"%s", "show"}
        answer = made.raw(command.replace("%s", "2"))
        made.output.take()
        assert ANSWER.fullmatch(answer)
        if words[0] != "desdaemon-book":
            assert TYPES[kind].fullmatch(answer[1:].strip()), (row, answer)


def test_live_graphics_are_drawn_once_gogui_has_made_itself_known() -> None:
    lines = b"genmove b\nquit\n"
    quiet = converse(lines, "-gtp", "-level", "4")
    assert quiet.stderr == b""
    drawn = converse(b"gogui-analyze_commands\n" + lines, "-gtp", "-level", "4")
    blocks = drawn.stderr.decode().split("\n\n")
    assert len(blocks) == 3
    for block in blocks[:2]:
        head, *commands, progress = block.split("\n")
        assert head == "gogui-gfx:"
        assert all(GFX.fullmatch(command) for command in commands), commands
        assert re.fullmatch(r"PROGRESS (?:\d\d?|100)", progress)
    # Whatever comes late must not be drawn during the next command.
    assert blocks[2] == "gogui-gfx: CLEAR\n"
    off = converse(b"gogui-analyze_commands\ngogui-param live_graphics 0\n" + lines, "-gtp", "-level", "4")
    assert off.stderr == b""
    on = converse(b"gogui-param live_graphics 1\nreg_genmove b\ndesdaemon-hint 3\nquit\n", "-gtp", "-level", "4")
    assert on.stderr.count(b"gogui-gfx: CLEAR\n") == 2
    assert b"LABEL D3 +10 C4 +8\n" in on.stderr


def test_the_compiler_is_heard_of_on_standard_error() -> None:
    with Live("-gtp", COMPILES="a kernel") as live:
        live.send(b"genmove b\n")
        assert live.until(b"\n\n") == b"= D3\n\n"
        live.send(b"quit\n")
        out, err, status = live.end()
    assert (out, err, status) == (b"=\n\n", b"desdaemon: compiling a kernel\n", 0)
