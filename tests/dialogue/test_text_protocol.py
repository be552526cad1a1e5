"""Edax's text commands, one by one, over an engine that only pretends to search."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest
from dialogue import Dialogue
from fake_engine import FakeSearcher

from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Result
from desdaemon.protocol.commands.book import BOOK_COMMANDS
from desdaemon.protocol.commands.completion import candidates
from desdaemon.protocol.commands.options import OPTIONS, STARTING
from desdaemon.protocol.commands.text import COMMANDS, read_line
from desdaemon.protocol.dialects import edax
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START
from desdaemon.protocol.othello.selectivity import Selectivity

OPENING = "---------------------------OX------XO--------------------------- X"
# White has to pass; Black ends the game with h8.
PASS_BOARD = "XXXXXXXX" * 7 + "XXXXXXO- O"
BLACK_PASSES = "OOOOOOOO" * 7 + "OOOOOOX- X"
BOTH_STUCK = "X" * 32 + "-" * 32 + " X"


@pytest.fixture
def nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Help is wrapped at a terminal, for which Windows takes the null device."""
    monkeypatch.setattr(os, "isatty", lambda _: False)


@pytest.mark.usefixtures("nobody_watches")
def test_help_lists_exactly_what_works() -> None:
    dialogue = Dialogue()
    text = dialogue.say("help")
    heads = re.findall(r"^  ([a-z?_-]+(?:, [a-z?_-]+)*)(?= |$)", text, re.MULTILINE)
    listed = {name for head in heads for name in head.split(", ")}
    commands = {name for command in COMMANDS for name in (command.name, *command.aliases)}
    options = {name for option in OPTIONS for name in (option.name, *option.aliases)}
    several = {"book": BOOK_COMMANDS} | {command.name: command.parts for command in COMMANDS if command.parts}
    assert listed - {*several, "desdaemon"} == (commands | options) - set(several)
    pages = [dialogue.say(f"help {page}") for page in ("commands", "options", *several, "programs")]
    assert "\n".join(pages) == text
    for word, table in several.items():
        lines = set(re.findall(rf"^  {word} ([a-z-]+)", dialogue.say(f"help {word}"), re.MULTILINE))
        assert lines == {command.name for command in table}
    assert dialogue.say("?") == text


@pytest.mark.needs("book.growth")
def test_completions_are_words_that_work() -> None:
    assert candidates("pl", "pl") == ["play"]
    assert candidates("  book dev", "dev") == ["deviate"]
    assert candidates("set hash", "hash") == ["hash-table-size"]
    assert candidates("book deviate ", "") == []
    dialogue = Dialogue()
    for word in candidates("", ""):
        if word not in ("set", "q", "vv"):
            assert read_line(word).name == word or read_line(word).option is not None
    for word in candidates("help ", ""):
        assert dialogue.say(f"help {word}")


@pytest.mark.usefixtures("nobody_watches")
@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ("book help", "help book"),
        ("b ?", "help book"),
        pytest.param("book help deviate", "help book deviate", marks=pytest.mark.needs("book.growth")),
        pytest.param("base help", "help base", marks=pytest.mark.needs("clients.gamefiles")),
        pytest.param("base help convert", "help base convert", marks=pytest.mark.needs("clients.gamefiles")),
        pytest.param("help convert", "help base convert", marks=pytest.mark.needs("clients.gamefiles")),
    ],
)
def test_help_may_follow_the_command_whose_parts_it_lists(asked: str, line: str) -> None:
    dialogue = Dialogue()
    assert dialogue.say(asked) == dialogue.say(line)


@pytest.mark.usefixtures("nobody_watches")
def test_help_shows_one_command_or_option() -> None:
    dialogue = Dialogue()
    everything = dialogue.say("help").splitlines()
    for name in [command.name for command in COMMANDS] + [option.name for option in OPTIONS if not option.idle]:
        assert set(dialogue.say(f"help {name}").splitlines()) <= set(everything)
    assert dialogue.say("help A") == dialogue.say("help analyze")
    assert [line.split()[0] for line in dialogue.say("help n").splitlines()] == ["new,", "n-tasks,"]
    assert dialogue.say("help -l") == dialogue.say("help level")
    # Commands within others need not be named whole.
    assert dialogue.say("help negamax") == dialogue.say("help book negamax")
    first, *tests = dialogue.say("help test").splitlines()
    assert first == "Tests:"
    assert set(tests) < set(everything)


def test_moves_are_played_undone_and_redone() -> None:
    dialogue = Dialogue()
    assert dialogue.say("play F5 d6c3") == ""
    after = dialogue.board
    dialogue.say("undo")
    dialogue.say("u")
    dialogue.say("redo")
    dialogue.say("r")
    assert dialogue.board == after
    dialogue.say("undo")
    dialogue.say("c4")
    assert "redo" in dialogue.refused("redo")
    for _ in range(3):
        dialogue.say("undo")
    assert dialogue.board == OPENING
    assert "undo" in dialogue.refused("undo")


def test_a_bare_move_is_announced() -> None:
    dialogue = Dialogue()
    assert dialogue.say("f5") == "\nYou play F5\n"
    assert dialogue.say("P@D6") == "\nYou play D6\n"


@pytest.mark.parametrize("spelling", ["pa", "ps", "PS", "pass", "@@@@", "P@@@"])
def test_passes_are_played_where_they_are_forced(spelling: str) -> None:
    dialogue = Dialogue()
    dialogue.say(f"setboard {PASS_BOARD}")
    assert dialogue.say("moves") == "PA\n"
    assert dialogue.say(spelling) == f"\nYou play {'PS' if spelling.lower() == 'ps' else 'PA'}\n"
    assert dialogue.say("moves") == "H8\n"
    assert "PA is illegal" in dialogue.refused(spelling)


def test_a_pass_is_announced_as_the_other_end_wants_it() -> None:
    """As Edax 4.6 does, as its AVX builds do, or as it was typed last."""
    for name, compatible, typed, announced in (
        ("auto", True, "", "PS"),
        ("auto", False, "", "PA"),
        ("auto", True, "pa", "PA"),
        ("auto", False, "ps", "PS"),
        ("pa", True, "ps", "PA"),
        ("ps", False, "pa", "PS"),
    ):
        dialogue = Dialogue(edax_compatible=compatible)
        dialogue.say(f"pass-name {name}")
        for pass_ in filter(None, (typed, "go")):
            dialogue.say(f"setboard {PASS_BOARD}")
            answer = dialogue.say(pass_)
        assert answer.endswith(f" plays {announced}\n")


def test_play_puts_forced_passes_in() -> None:
    dialogue = Dialogue()
    dialogue.say(f"setboard {PASS_BOARD}")
    dialogue.say("play h8")
    assert dialogue.session.game.moves == [rules.PASS, 63]
    assert dialogue.say("moves") == "none: the game is over\n"


def test_go_plays_and_announces() -> None:
    dialogue = Dialogue()
    assert dialogue.say("go") == "\ndesdaemon plays D3\n"
    dialogue = Dialogue(edax_compatible=True)
    assert dialogue.say("go") == "\nEdax plays D3\n"
    dialogue.say(f"setboard {PASS_BOARD}")
    assert dialogue.say("go") == "\nEdax plays PS\n"
    assert dialogue.say("go") == "\nEdax plays H8\n"
    assert dialogue.say("go") == "\n*** Game Over ***\n"


def test_undo_takes_back_several_moves() -> None:
    dialogue = Dialogue()
    dialogue.say("play f5d6c3d3c4")
    after = dialogue.board
    dialogue.say("undo 3")
    assert len(dialogue.session.game.moves) == 2
    assert "fewer moves" in dialogue.refused("undo 3")
    assert len(dialogue.session.game.moves) == 2
    dialogue.say("redo 3")
    assert dialogue.board == after
    assert "fewer moves" in dialogue.refused("redo 1")
    dialogue.session.settings.mode = 1
    assert dialogue.session.undo(2)
    assert len(dialogue.session.game.moves) == 1
    assert not dialogue.session.undo(2)
    assert dialogue.session.undo()
    assert dialogue.board == OPENING


def test_hint_at_a_forced_pass_is_an_empty_table_for_programs_made_for_edax() -> None:
    empty = f"{edax.TABLE_HEADER}\n{edax.TABLE_RULE}\n{edax.TABLE_RULE}\n"
    for compatible in (True, False):
        dialogue = Dialogue(verbose=1, edax_compatible=compatible)
        dialogue.both(f"setboard {PASS_BOARD}")
        assert dialogue.session.game.position.must_pass
        assert (dialogue.say("hint 2") == empty) == compatible


def test_go_after_the_end_says_so_with_edax_options_beside_a_board() -> None:
    for compatible, count in ((True, 3), (False, 2)):
        out = Dialogue(verbose=1, edax_compatible=compatible).run(f"setboard {BOTH_STUCK}", "go")
        assert out.count(edax.GAME_OVER) == count


def test_go_shows_its_search() -> None:
    out = Dialogue(verbose=1, level=4).say("go").split("\n")
    assert out[0] == edax.TABLE_HEADER
    assert out[1] == edax.TABLE_RULE
    assert out[2].startswith("    4   +10        0:00.005         12345    2469000 d3 ")
    assert out[3] == edax.TABLE_RULE
    assert out[4:] == ["", "desdaemon plays D3", ""]


def test_more_verbosity_shows_iterations() -> None:
    out = Dialogue(verbose=2, level=4).say("go").split("\n")
    assert [line[:6].strip() for line in out[2:4]] == ["2", "4"]
    # Nodes and times add up over the iterations.
    assert [line[27:41].strip() for line in out[2:4]] == ["2000", "6000"]
    assert out[4] == edax.TABLE_RULE
    out = Dialogue(verbose=2, level=4, noise=3).say("go").split("\n")
    assert out[2][:6].strip() == "4"
    assert out[3] == edax.TABLE_RULE


@pytest.mark.parametrize(("wanted", "lines"), [("", 1), ("1", 1), ("3", 3), ("4", 4), ("5", 4), ("60", 4), ("100", 4)])
def test_hint_shows_so_many_lines(wanted: str, lines: int) -> None:
    dialogue = Dialogue()
    shown = dialogue.say(f"hint {wanted}").splitlines()
    assert [line[53:55] for line in shown] == ["d3", "c4", "f5", "e6"][:lines]
    assert [int(line[8:11]) for line in shown] == [10, 8, 6, 4][:lines]
    assert dialogue.board == OPENING


def test_hint_writes_blacks_moves_small_and_whites_large() -> None:
    dialogue = Dialogue()
    dialogue.say("play f5")
    assert dialogue.say("hint")[53:55] == "F4"


def test_hint_where_a_pass_is_forced_shows_the_pass() -> None:
    dialogue = Dialogue(verbose=1)
    dialogue.say(f"setboard {PASS_BOARD}")
    lines = dialogue.say("hint 3").splitlines()
    assert lines[0] == edax.TABLE_HEADER
    assert lines[2][53:].strip() == "PA"
    assert lines[3] == edax.TABLE_RULE
    dialogue.both(f"setboard {BOTH_STUCK}")
    assert dialogue.both("hint 3")[0].splitlines() == [edax.TABLE_HEADER, edax.TABLE_RULE, edax.TABLE_RULE]


def test_setboard_takes_every_form_of_a_board() -> None:
    dialogue = Dialogue()
    board = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X"
    dialogue.say(f"setboard {board}")
    assert dialogue.board == board
    dialogue.say("play g8")
    dialogue.say("new")
    assert dialogue.board == board
    dialogue.say("init")
    assert dialogue.board == OPENING
    dialogue.say("setboard 8/8/8/3Pp3/3pP3/8/8/8 w - - 0 1")
    assert dialogue.board == OPENING[:-1] + "O"


def test_doubtful_boards_are_accepted_with_a_warning() -> None:
    dialogue = Dialogue()
    out, err = dialogue.both("setboard X" + OPENING[1:])
    assert out == ""
    assert err == "WARNING: setboard: discs that are not joined to the centre: A1\n"
    assert dialogue.board == "X" + OPENING[1:]


def test_levels_and_other_options_are_set_and_shown() -> None:
    dialogue = Dialogue()
    for line in ("level 7", "l 7", "set level 7", "set level = 7", "level=7", "-level 7", "--level = 7", "LEVEL 7"):
        dialogue.session.settings.level = 21
        dialogue.both(line)
        assert dialogue.session.settings.level == 7, line
    assert dialogue.say("level") == "level = 7\n"
    dialogue.say("n 2")
    assert dialogue.session.settings.n_tasks == 2
    dialogue.say("play f5")
    dialogue.say("n")
    assert dialogue.board == OPENING
    dialogue.say("book-usage off")
    assert "\tbook-usage = off\n" in dialogue.say("options")
    for option in OPTIONS:
        if not option.idle and option.name not in ("q", "vv"):
            assert f"\t{option.name} = " in dialogue.say("options")


def test_every_option_of_edax_can_be_named() -> None:
    dialogue = Dialogue()
    values = {"bool": "on", "flag": "on", "time": "1:00", "selectivity": "1", "path": "x", "text": "x"}
    for option in OPTIONS:
        if option.name in ("q", "vv", "echo", "eval-file", "book-file", "mode", "verbose", *STARTING):
            continue
        values["int"] = str(option.low if option.name == "alpha" else option.high)
        values["choice"] = "".join(option.choices[-1:])
        dialogue.say(f"{option.name} {values[option.kind]}")


def test_a_dialogue_that_goes_on_is_not_written_down_from_then_on() -> None:
    dialogue = Dialogue()
    for name in STARTING:
        assert "on the command line" in dialogue.refused(f"{name} here")
        assert dialogue.say(name) == f"{name} = \n"


def test_the_level_reaches_the_search() -> None:
    dialogue = Dialogue()
    dialogue.say("level 10")
    dialogue.say("hint 2")
    *_, limits, options = dialogue.searcher.calls[-1]
    assert (limits.depth, limits.selectivity, limits.time_ms) == (10, 100, 0)
    assert options["multipv"] == 2
    dialogue.say("level 21")
    dialogue.say("hint")
    assert dialogue.searcher.calls[-1][2][:2] == (21, 73)
    dialogue.say("depth 5")
    dialogue.say("selectivity 2")
    dialogue.say("nodes 1000")
    dialogue.say("alpha -10")
    dialogue.say("beta 4")
    dialogue.say("hint")
    *_, limits, options = dialogue.searcher.calls[-1]
    assert tuple(limits) == (5, 95, 1000, 0)
    assert (options["alpha"], options["beta"]) == (-10, 4)


def test_eval_and_moves_show_scores_and_legal_moves() -> None:
    dialogue = Dialogue()
    assert dialogue.say("moves") == "D3 C4 F5 E6\n"
    assert dialogue.say("eval") == "eval = +0.00\n"
    dialogue.say("play f5")
    assert dialogue.say("eval") == "eval = -0.75\n"


@pytest.mark.parametrize(("mode", "announced"), [("0", 0), ("1", 1), ("3", 0)])
def test_a_mode_plays_for_its_side(mode: str, announced: int) -> None:
    dialogue = Dialogue()
    assert dialogue.say(f"mode {mode}").count("plays") == announced


def test_mode_0_answers_and_undo_takes_two() -> None:
    dialogue = Dialogue()
    dialogue.say("mode 0")
    out = dialogue.say("f5")
    assert out == "\nYou play F5\n\ndesdaemon plays F4\n"
    dialogue.say("undo")
    assert dialogue.board == OPENING
    dialogue.say("stop")
    assert dialogue.say("mode") == "mode = 3\n"


def test_a_finished_game_is_repeated_or_swapped_when_asked() -> None:
    dialogue = Dialogue()
    dialogue.say("repeat 3")
    dialogue.say("mode 2")
    assert len(dialogue.searcher.calls) > 120
    assert dialogue.session.game.position.over
    dialogue = Dialogue(auto_swap=True, auto_start=True, mode=0)
    dialogue.say(f"setboard {BLACK_PASSES}")
    dialogue.say("pa")
    assert dialogue.session.settings.mode == 1
    assert dialogue.board == BLACK_PASSES[:-1] + "O"
    dialogue = Dialogue(auto_quit=True, mode=2)
    dialogue.say(f"setboard {PASS_BOARD}")
    assert dialogue.text.leaving == 0


def test_force_plays_an_opening() -> None:
    dialogue = Dialogue()
    dialogue.say("force f5d6c3")
    assert dialogue.say("go") == "\ndesdaemon plays F5\n"
    assert dialogue.say("go") == "\ndesdaemon plays D6\n"
    assert dialogue.searcher.calls == []
    dialogue.say("new")
    # The same line in a mirror: f5 d6 seen from e6.
    dialogue.say("play e6")
    assert dialogue.say("go") == "\ndesdaemon plays F4\n"
    dialogue.say("force")
    dialogue.say("new")
    dialogue.say("go")
    assert len(dialogue.searcher.calls) == 1


@pytest.mark.parametrize("forgets", ["init", f"setboard {OPENING}", "force"])
def test_force_is_forgotten(forgets: str) -> None:
    dialogue = Dialogue()
    dialogue.say("force f5d6")
    dialogue.say(forgets)
    assert dialogue.say("go") == "\ndesdaemon plays D3\n"


@pytest.mark.parametrize("command", ["hmirror", "vmirror", "rotate 90", "rotate 180", "symmetry 4", "symetry 15"])
def test_transformed_games_stay_games(command: str) -> None:
    dialogue = Dialogue()
    dialogue.say("play f5d6c3d3")
    before = dialogue.session.game.position
    dialogue.say(command)
    game = dialogue.session.game
    position = game.initial
    for move in game.moves:
        position = position.after(move)
    assert position == game.position
    assert rules.canonical(*position[:2]) == rules.canonical(*before[:2])
    assert game.positions()[-1] == position


def test_transformations_turn_the_board_as_edax_does() -> None:
    """The disc that f5 puts is on e3 afterwards."""
    for line in ("rotate 90", "rotate"):
        dialogue = Dialogue()
        dialogue.say("play f5")
        dialogue.say(line)
        assert dialogue.session.game.moves == [20]
    dialogue = Dialogue()
    board = "XO" + "-" * 62 + " X"
    for angle, corners in (("90", (56, 48)), ("180", (63, 62)), ("270", (7, 15))):
        dialogue.both(f"setboard {board}")
        dialogue.say(f"rotate {angle}")
        position = dialogue.session.game.position
        assert (position.black, position.white) == (1 << corners[0], 1 << corners[1])
    dialogue.both(f"setboard {board}")
    dialogue.say("hmirror")
    assert dialogue.session.game.position.black == 1 << 7
    dialogue.say("vmirror")
    assert dialogue.session.game.position.black == 1 << 63
    dialogue.say("symmetry 8")
    assert dialogue.session.game.position.white == 1 << 63
    assert not dialogue.session.game.position.black_to_move


def test_analyze_takes_the_game_from_its_end() -> None:
    dialogue = Dialogue(level=2)
    dialogue.say("play f5d6c3d3c4")
    lines = dialogue.say("analyze").split("\n")
    assert lines[:4] == edax.ANALYSIS_HEADER.split("\n")
    assert [line[:3] for line in lines[4:9]] == ["  5", "  4", "  3", "  2", "  1"]
    assert [line[19:21] for line in lines[4:9]] == ["C4", "d3", "C3", "d6", "F5"]
    assert lines[9] == ""
    # All four first moves are the same one: there is no alternative to it.
    assert lines[8].endswith("+10") or lines[8].endswith("-10")
    assert lines[11].startswith("Black |")
    assert len(dialogue.say("a 2").split("\n")) == len(lines) - 3
    assert "desdaemon disagrees" in "\n".join(lines)


def test_a_move_without_alternative_has_the_depth_that_its_search_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    search = FakeSearcher.search

    def cut(self: FakeSearcher, player: int, opponent: int, limits: Limits, **options: Any) -> Result:
        return search(self, player, opponent, limits._replace(depth=3, selectivity=Selectivity(73)), **options)

    monkeypatch.setattr(FakeSearcher, "search", cut)
    dialogue = Dialogue(level=60)
    dialogue.say("play f5")
    assert dialogue.say("analyze").split("\n")[4].split()[:4] == ["1", "4@73%", "4", "F5"]


def test_analysis_finds_the_mistake_in_a_finished_game() -> None:
    dialogue = Dialogue()
    dialogue.say(f"setboard {PASS_BOARD}")
    dialogue.say("play h8")
    lines = dialogue.say("analyze").split("\n")
    # The pass gives no line of its own.
    assert [line[:3] for line in lines[4:-5]] == ["  2"]
    assert lines[4].split() == ["2", "1", "1", "H8", "+64"]


def test_echo_repeats_the_lines() -> None:
    dialogue = Dialogue()
    dialogue.say("echo on")
    assert dialogue.say("level 3") == " level 3\n"


def test_comments_and_empty_lines_do_nothing() -> None:
    dialogue = Dialogue()
    for line in ("", "   ", "# go", "\t"):
        assert dialogue.both(line) == ("", "")


def test_prompts_and_boards_are_shown_where_asked_for() -> None:
    board = edax.board_diagram(START, START, (), 0, 0)
    assert Dialogue().run("moves") == ">\nD3 C4 F5 E6\n>\n"
    assert Dialogue(verbose=1).run("quit") == f"\n{board}\n\n>\n"
    assert Dialogue(verbose=1).run("", "quit") == f"\n{board}\n\n>\n" * 2
    out = Dialogue(verbose=1).run(f"setboard {BOTH_STUCK}")
    assert out.endswith("\n\n\n*** Game Over ***\n>\n")
    assert "Black won" in out
    assert Dialogue(verbose=1).run(f"setboard {BOTH_STUCK}", "go").count("Game Over") == 2, "once for each board"
    remote = Dialogue(verbose=1)
    remote.both(f"setboard {BOTH_STUCK}")
    assert remote.say("go").count("Game Over") == 1, "where no boards are shown"


def test_each_mode_ends_with_the_input() -> None:
    out = Dialogue(auto_start=True).run("mode 2")
    assert 50 < out.count("desdaemon plays") < 70
    assert Dialogue().run("mode 1").count("desdaemon plays") == 1
    assert Dialogue(repeat=2).run("mode 2").count("desdaemon plays") > 100


def test_a_clock_set_in_mid_game_counts_from_then_on() -> None:
    dialogue = Dialogue()
    dialogue.say("go")
    dialogue.session.game.charge(False, 5_000)
    dialogue.say("t 10")
    assert dialogue.session.remaining_ms(False) == 10_000
    dialogue.session.game.charge(False, 4_000)
    assert dialogue.session.remaining_ms(False) == 6_000
    dialogue.say("go")
    limits = dialogue.searcher.calls[-1][2]
    assert 0 < limits.time_ms <= 3_000
    assert limits.depth == dialogue.session.game.position.empties + 1
    dialogue.say("new")
    assert dialogue.session.remaining_ms(False) == 10_000
    dialogue.say("game-time infinite")
    dialogue.say("go")
    assert dialogue.searcher.calls[-1][2].time_ms == 0


def test_a_level_asked_for_bounds_a_search_with_a_clock() -> None:
    dialogue = Dialogue()
    dialogue.say("move-time 1")
    dialogue.say("go")
    assert dialogue.searcher.calls[-1][2].depth == 60
    dialogue.say("level 4")
    dialogue.say("go")
    limits = dialogue.searcher.calls[-1][2]
    assert limits.depth == 4
    assert 900 < limits.time_ms < 1_000
