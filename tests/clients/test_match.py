"""Matches between programs that play well, badly, late, or not at all; the arithmetic of their results."""

from __future__ import annotations

import json
import math
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import referee
from checkout import IMPORT
from held_pipe import full_pipe
from hypothesis import given, settings
from hypothesis import strategies as st
from pretended_players import fake
from programs import programs
from random_games import OTHER_START

from desdaemon.clients.match import match as command
from desdaemon.clients.match import workers
from desdaemon.clients.match.referee import Finished, MatchTerms, play_game
from desdaemon.clients.match.results.journal import Journal
from desdaemon.clients.match.results.report import outcome, report
from desdaemon.clients.match.results.scores import tally
from desdaemon.clients.match.schedule import Schedule
from desdaemon.clients.programs import statistics
from desdaemon.clients.programs.engine_process import EngineFault, EngineProcess, command_of
from desdaemon.clients.programs.engine_protocols import (
    PLAYERS,
    EngineClient,
    GtpPlayer,
    detected_protocol,
    start_player,
)
from desdaemon.clients.programs.openings import listed_openings, openings_of_file
from desdaemon.clients.programs.time_control import Stopwatch, TimeControl, parse_clock, parse_seconds
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.bases import read_games
from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.othello.notation import START, Position, parse_board, parse_moves
from desdaemon.protocol.othello.rules import PASS

NO_LIMIT = TimeControl()


def played(
    first: list[object],
    second: list[object],
    controls: tuple[TimeControl, TimeControl] = (NO_LIMIT, NO_LIMIT),
    opening: GameRecord | None = None,
    **terms: Any,
) -> Finished:
    """A game between two of them."""
    players: list[EngineClient] = []
    try:
        players = [start_player(command_of(fake(*side)), str(side[0])) for side in (first, second)]
        wanted = MatchTerms(patience=60_000, overhead=300)._replace(**terms)
        return play_game((players[0], players[1]), opening or GameRecord(START, ()), controls, wanted)
    finally:
        for player in players:
            player.process.kill()


# The referee


@pytest.mark.parametrize("protocol", list(PLAYERS))
def test_a_whole_game_in_each_protocol(protocol: str) -> None:
    """Every move is legal, every forced pass is there, and the score is that of another referee."""
    opening = listed_openings(1).openings[0]
    game = played([protocol, "first"], [protocol, "last"], opening=opening)
    assert (game.ending, game.faulty) == ("played", -1)
    assert game.record.moves[:8] == opening.moves
    cells = referee.start()
    for move in game.record.moves:
        cells = referee.passed(cells) if move.move == PASS else referee.play(cells, move.move)
    assert referee.game_over(cells)
    assert game.score == (1 if len(game.record.moves) % 2 == 0 else -1) * referee.final_score(cells)
    chosen = sum(move.move != PASS for move in game.record.moves) - 8
    assert sum(game.moves) == chosen


@pytest.mark.parametrize(
    ("white", "fault", "ending", "note"),
    [
        (False, "illegal", "illegal", "D4 is illegal: expected one of"),
        (True, "junk", "illegal", '"z9" is no move'),
        (False, "crash", "crash", "it has ended with status 3"),
        (True, "hang", "hang", "no answer within 5 s"),
        (False, "resign", "resigned", "resigned"),
        (True, "refuse", "answer", "it refuses"),
    ],
)
def test_a_side_that_goes_wrong_loses(white: bool, fault: str, ending: str, note: str) -> None:
    good, bad = ["gtp", "first"], ["gtp", fault, 3]
    # Of a busy machine's programs the other one must not seem to hang.
    sides = (good, bad) if white else (bad, good)
    game = played(*sides, patience=5_000 if fault == "hang" else 60_000)
    assert (game.ending, game.faulty, game.score) == (ending, int(white), 64 if white else -64)
    assert note in game.note
    if fault != "refuse":
        assert game.moves[int(white)] == (4 if ending == "illegal" else 3)


def test_a_late_move_loses_and_one_within_the_margin_does_not() -> None:
    hurried = TimeControl(move=100)
    game = played(["gtp", "slow", 0], ["gtp"], (hurried, NO_LIMIT), overhead=60_000)
    assert (game.ending, game.faulty, game.moves) == ("time", 0, (1, 0))
    assert re.fullmatch(r"move 1 took \d+\.\d{3} s", game.note)
    assert game.longest[0] >= 500
    assert played(["gtp", "slow", 28], ["gtp"], (hurried, NO_LIMIT), margin=60_000).ending == "played"


def test_games_are_ended_by_the_solver() -> None:
    asked: list[Position] = []

    def solver(position: Position) -> int:
        asked.append(position)
        return 6

    game = played(["text"], ["text", "last"], adjudicate=20, solver=solver)
    assert (game.ending, game.faulty) == ("adjudicated", -1)
    assert asked == [game.record.final]
    assert asked[0].empties == 20
    assert game.score == (6 if asked[0].black_to_move else -6)


@pytest.mark.parametrize("protocol", ["nboard", "text"])
def test_a_match_begins_at_other_boards(protocol: str) -> None:
    """Programs are told of the board; these know one only, and so go wrong."""
    opening = GameRecord(parse_board(OTHER_START), ())
    assert played([protocol], [protocol], opening=opening).ending in ("illegal", "crash", "played")
    with pytest.raises(BadInput, match="GTP has no word for another board"):
        played(["gtp"], ["gtp"], opening=opening)
    assert played(["gtp", "setup"], ["gtp", "setup"], opening=opening).ending == "played"


# Programs


def named(tmp_path: Path, line: str) -> list[str]:
    """The command line of a program that names no protocol."""
    script = tmp_path / "engine"
    script.write_text(f"#!/bin/sh\n{line}\n")
    script.chmod(0o700)
    return [str(script)]


@pytest.mark.posix
@pytest.mark.parametrize("protocol", ["gtp", "nboard", "text"])
def test_the_protocol_of_a_program_is_found_out(protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the program, on a busy machine, takes longer than usual."""
    monkeypatch.setattr("desdaemon.clients.programs.engine_protocols._PROBE_S", 60.0)
    assert detected_protocol(named(tmp_path, f"exec {fake(protocol)}")) == protocol


@pytest.mark.posix
def test_a_program_that_ends_at_a_line_of_gtp_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("desdaemon.clients.programs.engine_protocols._PROBE_S", 60.0)
    line = f"read first; case $first in nboard*) echo set myname X; exec {fake('nboard')};; esac"
    assert detected_protocol(named(tmp_path, line)) == "nboard"


@pytest.mark.posix
@pytest.mark.parametrize("protocol", ["gtp", "nboard"])
def test_a_program_that_starts_slowly_is_told_and_waited_for(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("desdaemon.clients.programs.engine_protocols._PROBE_S", 60.0)
    monkeypatch.setattr("desdaemon.clients.programs.engine_protocols._SOON_S", 0.1)
    told: list[str] = []
    assert detected_protocol(named(tmp_path, f"sleep 1; exec {fake(protocol)}"), tell=told.append) == protocol
    (line,) = told
    assert re.fullmatch('".*engine" has answered neither GTP nor NBoard\'s protocol in 0.1 s: waiting', line)


@pytest.mark.posix
def test_a_program_that_says_nothing_is_taken_for_a_text_dialogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("desdaemon.clients.programs.engine_protocols._PROBE_S", 0.2)
    monkeypatch.setattr("desdaemon.clients.programs.engine_protocols._SOON_S", 0.1)
    assert detected_protocol(named(tmp_path, "sleep 1000")) == "text"


def test_the_protocol_is_read_off_the_command_line() -> None:
    assert detected_protocol(command_of("no-such-program -gtp -level 3")) == "gtp"
    assert detected_protocol(command_of("no-such-program --protocol nboard")) == "nboard"
    assert detected_protocol(command_of("/no/gtp-program")) == "gtp"
    assert detected_protocol(command_of("self --protocol=text")) == "text"


def test_this_program_is_known_by_a_word() -> None:
    assert command_of("self -level 3")[1:] == ["-P", "-m", "desdaemon", "-gtp", "-n", "1", "-level", "3"]
    assert command_of("self --protocol nboard")[1:] == ["-P", "-m", "desdaemon", "-n", "1", "--protocol", "nboard"]


@pytest.mark.parametrize("text", ["", "'", "  "])
def test_bad_command_lines_are_refused_in_a_line(text: str) -> None:
    with pytest.raises(BadInput, match="expected a command line"):
        command_of(text)


def test_a_silent_program_is_given_up() -> None:
    process = EngineProcess(command_of(fake("gtp", "deaf")))
    try:
        with pytest.raises(EngineFault, match="no answer within"):
            GtpPlayer(process, 0.3)
    finally:
        process.kill()


def test_the_dialogue_is_written_down(tmp_path: Path) -> None:
    log = tmp_path / "log"
    player = start_player(command_of(fake("gtp")), "gtp", log)
    player.close()
    assert "< protocol_version\n> = \n" in log.read_text()


def test_nboard_is_told_the_clock(tmp_path: Path) -> None:
    log = tmp_path / "log"
    player = start_player(command_of(fake("nboard")), "nboard", log)
    control = TimeControl(main=20_000, increment=100)
    player.begin(START, control)
    player.answer(GameRecord(START, ()), Stopwatch(control, 0), 60)
    player.close()
    assert "TI[0:20/0:00.1]" in log.read_text()


# Time


def test_programs_are_told_their_clocks() -> None:
    watch = Stopwatch(TimeControl(main=1000, increment=100), 0)
    assert watch.left == 1000
    assert watch.spend(600)
    assert watch.left == 500
    assert not watch.spend(501)
    assert Stopwatch(NO_LIMIT, 0).spend(1e9)
    assert Stopwatch(TimeControl(move=100), 5).spend(105)
    assert parse_clock("60+0.5", "--clock") == (60_000, 500)
    assert parse_clock("none", "--clock") == (0, 0)
    assert parse_seconds("0.25", "x") == 250
    for text in ("", "x", "-1", "nan", "inf", "0", "1+", "1e99", "none+5", "60+none"):
        with pytest.raises(BadInput):
            parse_clock(text, "--clock")


# Openings


def test_the_listed_openings_keep_their_rule() -> None:
    openings = listed_openings(1000).openings
    boards = set()
    for opening in openings:
        cells = referee.start()
        for move in opening.moves:
            assert min(move.move % 8, move.move // 8) >= 1
            assert max(move.move % 8, move.move // 8) <= 6
            assert move.move not in (9, 14, 49, 54)
            cells = referee.play(cells, move.move)
        boards.add(referee.canonical_bits(cells))
        moves, replies = len(referee.legal_moves(cells)), len(referee.legal_moves(referee.passed(cells)))
        assert min(moves, replies) > 0
        assert abs(moves - replies) <= 2
        assert min(word.bit_count() for word in referee.to_bits(cells)) >= 3
    assert len(boards) == 1000


def test_the_seed_decides_about_the_order() -> None:
    assert listed_openings(60).openings == listed_openings(100).openings[:60]
    assert listed_openings(60) != listed_openings(60, seed=2)
    with pytest.raises(BadInput, match="expected at most 50000"):
        listed_openings(50_001)


def test_a_bad_game_of_a_file_of_openings_is_told_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.txt"
    path.write_text("f5d6c3\nf5a1\nf5f6e6\n")
    assert [len(opening.moves) for opening in openings_of_file(str(path), 2).openings] == [2, 2]
    assert 'x.txt": game 2, line 2: A1 (move 2) is illegal' in capsys.readouterr().err


def test_a_file_without_an_opening_says_what_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("once upon a time\n")
    with pytest.raises(BadInput, match="there is no opening in it"):
        openings_of_file(str(path))
    path.write_text("e6f4e3f6g5d6e7f5c5\n")
    with pytest.raises(BadInput, match="all its games are over after 60 plies"):
        openings_of_file(str(path))


# Results


def pairs_of(results: list[int]) -> statistics.Counts:
    counts = [results.count(points) for points in range(5)]
    return counts[0], counts[1], counts[2], counts[3], counts[4]


def sample_of(pairs: statistics.Counts) -> statistics.Sample:
    """Pairs that have nothing to do with each other."""
    return statistics.sample([(at / 4, 1.0)] for at, count in enumerate(pairs) for _ in range(count))


def test_elo_follows_the_formula() -> None:
    """Against the formula where it is exact: 3:1 is 190.85, and the spread is the pairs'."""
    rating = statistics.elo(sample_of((0, 0, 50, 0, 50)))
    assert rating
    assert rating.difference == pytest.approx(400 * math.log10(3))
    error = 1.959964 * math.sqrt(0.0625 / 99)
    assert rating.low == pytest.approx(statistics.elo_of(0.75 - error))
    assert rating.high == pytest.approx(statistics.elo_of(0.75 + error))
    assert rating.superiority > 0.999
    assert statistics.elo(sample_of((0, 0, 0, 0, 0))) is None


def test_elo_is_bounded_without_a_loss() -> None:
    """The true score is above 0.025 ^ (1 / games) with 97.5 %."""
    rating = statistics.elo(sample_of((0, 0, 0, 0, 10)))
    assert rating
    assert rating.difference == math.inf
    assert statistics.expected_score(rating.low) ** 20 == pytest.approx(0.025)
    against = statistics.elo(sample_of((10, 0, 0, 0, 0)))
    assert against
    assert against.high == pytest.approx(-rating.low)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=200))
@settings(deadline=None)
def test_elo_is_the_same_from_either_side(results: list[int]) -> None:
    ours, theirs = (
        statistics.elo(sample_of(pairs_of(results))),
        statistics.elo(sample_of(pairs_of([4 - points for points in results]))),
    )
    assert ours
    assert theirs
    assert ours.difference == pytest.approx(-theirs.difference)
    assert ours.low == pytest.approx(-theirs.high)
    assert ours.superiority == pytest.approx(1 - theirs.superiority)
    assert ours.low <= ours.difference <= ours.high


def test_the_sequential_test_is_seldom_wrong() -> None:
    """Matches between players exactly as strong as a hypothesis: it is accepted, but for one in 20."""
    chance = random.Random(1)
    for true, right in ((0.0, 0), (60.0, 1)):
        score = statistics.expected_score(true)
        verdicts = []
        for _ in range(60):
            results: list[int] = []
            accepted = -1
            while accepted < 0:
                results += [2 * sum(chance.random() < score for _ in range(2)) for _ in range(20)]
                accepted = statistics.sequential(sample_of(pairs_of(results)), 0.0, 60.0).accepted
            verdicts.append(accepted)
        assert verdicts.count(right) >= 52


def test_the_sequential_test_is_in_no_hurry() -> None:
    """Straight losses decide in the sixth pair: the likeliest distribution of either mean may have wins instead."""
    once = math.log((1 - statistics.expected_score(100)) / (1 - statistics.expected_score(-100)))
    assert next(pairs for pairs in range(100) if pairs * once < math.log(0.05 / 0.95)) == 6
    accepted = [statistics.sequential(sample_of((n, 0, 0, 0, 0)), -100, 100).accepted for n in range(7)]
    assert accepted == [-1] * 6 + [0]


# Whole matches


def run(*arguments: object, games: int = 4) -> int:
    """The exit status of a match in this process. A signal that ends it is for the tests, which are to end too."""
    status = command.main([*map(str, arguments), "--games", str(games)])
    if status > 128:
        signal.raise_signal(status - 128)
    return status


def test_a_match_prints_its_games_and_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, account = tmp_path / "games.ggf", tmp_path / "account.json"
    sides = [fake("gtp", "first"), fake("gtp", "last")]
    assert run(*sides, "--concurrency", 2, "--save", saved, "--json", account, "--log", tmp_path / "logs") == 0
    out, err = capsys.readouterr()
    assert err == ""
    games = list(read_games(str(saved)))
    assert [(game.record.black, game.record.white) for game in games] == [
        ("Fake first", "Fake last"),
        ("Fake last", "Fake first"),
    ] * 2
    openings = listed_openings(2).openings
    assert [game.record.moves[:8] for game in games] == [openings[at // 2].moves for at in range(4)]
    found = json.loads(account.read_text())
    scores = [-(game.result or 0) if at % 2 else (game.result or 0) for at, game in enumerate(games)]
    (pairing,) = found["pairings"]
    assert pairing["score"] == sum((score > 0) + 0.5 * (score == 0) for score in scores) / 4
    assert pairing["discs"] == pytest.approx(sum(scores) / 4)
    assert sum(pairing["pairs"]) == 2
    assert re.search(rf"Fake first +4 +{sum(score > 0 for score in scores)} ", out)
    assert "Fake last lost by fault: none" in out
    assert (tmp_path / "logs" / "1-1.log").exists()


def test_a_saved_game_tells_its_round_and_the_levels(tmp_path: Path) -> None:
    saved = tmp_path / "games.pgn"
    assert run(fake("gtp", "first"), fake("gtp", "last"), "--level", "3,none", "--names", "A", "--save", saved) == 0
    text = saved.read_text()
    assert re.findall(r'\[Round "(.*)"\]', text) == ["1.1", "1.2", "2.1", "2.2"]
    assert text.count('[Event "A first level 3 against A last no limit, ') == 4


def test_faults_are_counted_and_the_match_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(fake("gtp", "crash", 40), fake("gtp", "illegal", 200), "--names", "A,B") == 0
    out = capsys.readouterr().out
    assert "A lost by fault: crash 2" in out
    assert "game 2, A as White: crash: it has ended with status 3" in out


def test_a_match_goes_on_after_a_violent_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was finished is kept, the last line may be cut off, and no game is played twice."""
    journal = tmp_path / "journal"
    sides = [fake("gtp", "first"), fake("gtp", "last")]
    assert run(*sides, "--journal", journal, games=2) == 0
    whole = journal.read_bytes()
    assert run(*sides, "--journal", journal, games=4) == 0
    lines = journal.read_bytes().splitlines(keepends=True)
    assert b"".join(lines[:3]) == whole
    assert len(lines) == 5
    journal.write_bytes(b"".join(lines[:4]) + lines[4][:-20])
    assert run(*sides, "--journal", journal, games=4) == 0
    again = journal.read_bytes().splitlines()
    without_times = [re.sub(rb'"(ms|used|longest)":\[[^]]*\]', b"", line) for line in (lines[4].rstrip(), again[4])]
    assert without_times[0] == without_times[1]
    capsys.readouterr()
    assert run(*sides, "--journal", journal, "--move-time", "5", games=4) == 1
    assert "(program 1 ms for each move: 0.0 there, 5000.0 here)" in capsys.readouterr().err


@pytest.mark.posix
@pytest.mark.parametrize("protocol", ["gtp", "nboard"])
def test_names_of_programs_and_files_may_be_any_bytes(protocol: str, tmp_path: Path) -> None:
    """Also when the match goes on: its journal knows the program again."""
    other = os.fsdecode(b"\xff")
    program = tmp_path / f"program{other}"
    program.write_text(f"#!/bin/sh\nexec {fake(protocol, 'first')}\n")
    program.chmod(0o755)
    outputs = [word for name in ("journal", "json", "page", "log", "save") for word in (f"--{name}", tmp_path / name)]
    outputs[-1] = tmp_path / f"games{other}.ggf"
    sides = [str(program), fake("gtp", "last"), "--names", f"A{other},B", *outputs]
    assert run(*sides, games=2) == 0
    assert run(*sides, games=4) == 0
    assert len(list(read_games(str(outputs[-1])))) == 4


@pytest.mark.posix
def test_a_killed_match_keeps_its_games(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    code = IMPORT + "from desdaemon.clients.match import match; sys.exit(match.main(sys.argv[1:]))"
    sides = [fake("gtp", "slow", 20), fake("gtp", "first")]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *sides, "--games", "100", "--concurrency", "2", "--journal", str(journal)],
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not journal.exists() or journal.read_bytes().count(b"\n") < 2:
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    terms = json.loads(journal.read_bytes().splitlines()[0])
    del terms["match"]
    with Journal(str(journal), terms) as kept:
        assert kept.games
        assert all(game.ending == "played" for game in kept.games.values())


def test_the_sequential_test_ends_a_match(capsys: pytest.CaptureFixture[str]) -> None:
    sides = [fake("gtp", "resign", 0), fake("gtp", "first")]
    assert run(*sides, "--sprt", "0,100", "--concurrency", 2, games=100) == 0
    out = capsys.readouterr().out
    assert ": H0 accepted (+0 Elo)\n" in out
    assert re.search(r"^likelihood of superiority: \d+\.\d %$", out, re.MULTILINE)
    assert int(re.findall(r"Fake resign +(\d+)", out)[0]) < 100


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["no-such-program -gtp", "x -gtp"], 'engine "no-such-program -gtp": No such file or directory'),
        (["a -gtp", "b -gtp", "--openings", "/no/such.ggf"], "No such file or directory"),
        (["a -gtp", "b -gtp", "--openings", "OTHER"], 'engine "a -gtp": No such file or directory'),
        (["a -gtp", "b -gtp", "--save", "games.doc"], "expected a file name that ends in .txt, .ggf"),
        (["a -gtp", "b -gtp", "--save", "/no/such/games.ggf"], "--save"),
        (["a -gtp", "b -gtp", "--json", "/no/such/match.json"], "--json"),
        (["a -gtp", "b -gtp", "--save", f"{'x' * 300}.ggf"], "--save"),
        ([f"no-such-program {'x' * 300} -gtp", "x -gtp"], "No such file or directory"),
        (["a -gtp", "b -gtp", "--games", "300000"], "150000 openings: expected at most 50000"),
    ],
)
def test_unusable_files_and_programs_are_named(
    arguments: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of that is said before a game is played."""
    other = tmp_path / "other.txt"
    other.write_text(f"f5d6\n{OTHER_START};\n")
    assert command.main([argument.replace("OTHER", str(other)) for argument in arguments]) == 1
    err = capsys.readouterr().err
    assert line in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["'", "x"], "expected a command line"),
        (["a", "b", "--protocol", "cgi"], '--protocol "cgi": expected auto or one of gtp nboard text'),
        (["a", "b", "--move-time", "1,2,3"], "expected one value for all programs, or 2"),
        (["a", "b", "--move-time", "fast"], "expected seconds such as 0.5, or none"),
        (["a", "b", "--sprt", "5,1"], "expected two differences of Elo, the smaller first"),
        (["a", "b", "--sprt", "0,inf"], '"inf": expected a number from -10000 to 10000'),
        (["a", "b", "--sprt", "nan,1"], '"nan": expected a number from'),
        (["a", "b", "--level", "nan"], '--level "nan": expected a whole number from 0 to 1000, or none'),
        (["a", "b", "--level", "3,2.5"], '--level "2.5": expected a whole number'),
        (["a", "b", "--margin", "nan"], '--margin: "nan": expected a number from 0'),
        (["a", "b", "--margin=-5"], '"-5": expected a number from 0'),
        (["a", "b", "--games", "0"], '--games: "0": expected a whole number from 1'),
        (["a", "b", "--plies", "61"], "expected a whole number from 0 to 60"),
        (["a", "b", "--adjudicate", "25"], "expected a whole number from 0 to 24"),
        (["a", "b", "--concurrency", "0"], "expected a whole number from 1 to 256"),
        (["a"], '"a": expected another program to play against'),
        (["a", "b", "c", "--sprt", "0,5"], "expected two programs, not 3"),
        (["a", "b", "c", "--names", "x,y"], "expected one value for all programs, or 3"),
    ],
)
def test_contradicting_options_are_refused(arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(arguments)
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert line in err
    assert err.count("\n") == 1
    assert err.count(": expected") == 1


def test_a_program_that_says_nothing_at_its_start_is_mentioned(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mentioned = threading.Event()

    def start(*arguments: object) -> EngineClient:
        assert mentioned.wait(60)
        raise EngineFault("hang", "no answer within 300 s")

    class Heard(workers.Match):
        def _remark(self, text: str) -> None:
            super()._remark(text)
            mentioned.set()

    monkeypatch.setattr(workers, "_SILENT_S", 0.01)
    monkeypatch.setattr(workers, "start_player", start)
    monkeypatch.setattr(command, "Match", Heard)
    assert run("mute -gtp", "deaf -gtp") == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first == 'desdaemon match: engine "mute -gtp" says nothing in gtp yet; it has 300 s for its start'
    assert second.endswith('"mute -gtp" does not speak gtp: no answer within 300 s')


@pytest.mark.parametrize("content", [b"hello\n", b"{}\n", b'{"match": 2}\n', b"[]\n", b"hello"])
def test_files_that_are_no_journal_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(content)
    with pytest.raises(BadInput):
        Journal(str(path), {"first": "a"})
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("old", "new"),
    [('"chosen":[10,20]', '"chosen":[10]'), ('"score":2', '"score":Infinity'), ('"game":0', '"game":null')],
)
def test_a_damaged_line_of_a_journal_is_told(old: str, new: str, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal(str(path), {}) as journal:
        journal.add(0, Finished(GameRecord(START, ()), 2, "played", -1, "", (1.0, 1.0), (1.0, 1.0), (10, 20)))
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    with pytest.raises(BadInput, match="line 2: expected the journal of a match"):
        Journal(str(path), {})


def test_a_match_ends_with_its_account() -> None:
    """Three games by hand: two of a pair, one without a partner."""

    def game(score: int, ending: str = "played", faulty: int = -1) -> Finished:
        return Finished(GameRecord(START, ()), score, ending, faulty, "late", (100.0, 300.0), (60.0, 90.0), (10, 20))

    account = tally({0: game(10), 1: game(4), 2: game(-64, "time", 0)})
    assert account.total == (1, 0, 2)
    assert (account.black, account.white) == ((1, 0, 1), (0, 0, 1))
    assert account.pairs == (0, 0, 1, 0, 0)
    assert account.singles == [0.0]
    assert account.discs == 3
    assert account.faults == ({"time": 1}, {})
    assert account.longest_ms == (90, 90)
    assert account.mean_ms == ((100 + 300 + 100) / (10 + 20 + 10), (300 + 100 + 300) / (20 + 10 + 20))
    times = {0: (0, 0, 90, 300, 8, 300, 2, 300), 1: (0, 0, 30, 100, 30, 20, 30, 1), 2: (0, 0, 60, 300, 3, 300)}
    moves = parse_moves("f5d6c3d3c4f4c5b3")
    records = {at: GameRecord(START, tuple(map(PlayedMove, moves, taken))) for at, taken in times.items()}
    results = {0: game(10), 1: game(4), 2: game(-64, "time", 0)}
    games = {at: one._replace(record=records[at]) for at, one in results.items()}
    controls = [TimeControl(main=200, increment=5), TimeControl(move=1000)]
    text = report(outcome(games, Schedule(2, "round-robin", 3, 2), ["A", "B"], -1, None), "A against B", controls)
    assert "  game 3, A as Black: time: late\n" in text
    # A's 40 moves took 500 ms of the 3 * 200 + 40 * 5 of its clocks.
    # Its clock stood lowest at 200 - 90 + 5 - 8, as White at 200 - 100 + 5 - 20, and at 200 - 60: 278 ms of 610 used.
    assert "A: 0.013 s a move, 0.090 s the longest, 62.5 % of the clock, 45.6 % when it stood lowest\n" in text
    assert "B: 0.014 s a move, 0.090 s the longest\n" in text


# Programs that nobody here wrote


@pytest.mark.slow
def test_twenty_games_against_gtp_rhino(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No illegal move, no second exceeded, nineteen games won. On Debian the package is grhino.

    Half a second is what it means to use, so that a busy machine is no matter.
    """
    (rhino,) = programs("gtp-rhino")
    account = tmp_path / "account.json"
    opponent = shlex.join([rhino, "-l", "4"])
    assert run("self -level 12 -move-time 0.5", opponent, "--move-time", "1,none", "--json", account, games=20) == 0
    found = json.loads(account.read_text())
    ours, theirs = found["programs"]
    assert ours["games"] == 20
    assert (ours["faults"], theirs["faults"]) == ({}, {}), capsys.readouterr().out
    assert ours["longest_ms"] <= 1000
    assert ours["wins"] >= 19


@pytest.mark.slow
def test_two_hundred_fast_games_are_never_lost_on_time(tmp_path: Path) -> None:
    """A second for a game and 0.05 s for each move: nothing is late, nothing illegal."""
    account = tmp_path / "account.json"
    assert run("self", "self", "--clock", "1+0.05", "--json", account, games=200) == 0
    found = json.loads(account.read_text())
    assert found["games"] == 200
    assert [program["faults"] for program in found["programs"]] == [{}, {}]


@pytest.mark.slow
def test_this_program_plays_in_three_protocols(tmp_path: Path) -> None:
    """Whole games between them, in which nobody does anything wrong."""
    account = tmp_path / "account.json"
    for first, second in (("-gtp", "-nboard"), ("-nboard", "--protocol text")):
        assert run(f"self {first} -level 3", f"self {second} -level 3", "--json", account, games=8) == 0
        found = json.loads(account.read_text())
        assert (found["games"], found["pairings"][0]["faults"]) == (8, [{}, {}])


@pytest.mark.posix
@pytest.mark.parametrize("held", ["stdout", "stderr"])
def test_nobody_needs_to_read_what_a_match_says(held: str, tmp_path: Path) -> None:
    """Its files are written, and Ctrl-C ends it."""
    openings, account = tmp_path / "openings.txt", tmp_path / "account.json"
    openings.write_text("f5d6c3\n")
    match = ["match", fake("gtp", "first"), fake("gtp", "last"), "--openings", str(openings), "--games", "4"]
    code = IMPORT + "from desdaemon.cli.main import main; sys.exit(main(sys.argv[1:]))"
    with full_pipe() as pipe:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *match, "--json", str(account)],
            stdout=pipe if held == "stdout" else subprocess.DEVNULL,
            stderr=pipe if held == "stderr" else subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        try:
            deadline = time.monotonic() + 120
            while not (account.exists() and account.read_text().endswith("}\n")):
                assert process.poll() is None or held == "stderr"
                assert time.monotonic() < deadline
                time.sleep(0.02)
            if held == "stderr":
                assert process.wait(120) == 0
            else:
                # It may not have begun to wait for its reader yet.
                while process.poll() is None and time.monotonic() < deadline:
                    process.send_signal(signal.SIGINT)
                    time.sleep(0.2)
                assert process.wait(0) in (130, -signal.SIGINT)
        finally:
            process.kill()
            process.wait()
    assert json.loads(account.read_text())["status"] == "finished"
