"""What results of a match are worth: repeated games, ratings of many programs, schedules, openings, journals."""

from __future__ import annotations

import itertools
import json
import math
import random
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import referee
from hypothesis import given
from hypothesis import strategies as st
from pretended_players import FAKE, fake
from random_games import OTHER_START
from test_xot import LINES, listed
from toys import create_store

from desdaemon.book.book import Book
from desdaemon.book.formats import registry
from desdaemon.book.options import BookOptions
from desdaemon.book.record import START as BOOK_START
from desdaemon.book.storage.store import open_store
from desdaemon.clients.match import match as command
from desdaemon.clients.match import workers
from desdaemon.clients.match.identity import identity
from desdaemon.clients.match.referee import Finished, MatchTerms
from desdaemon.clients.match.results.journal import Journal, entry_game
from desdaemon.clients.match.results.ratings import Pairing, ratings
from desdaemon.clients.match.results.report import json_report, outcome, report
from desdaemon.clients.match.results.scores import tally
from desdaemon.clients.match.schedule import KINDS, Schedule
from desdaemon.clients.programs import statistics
from desdaemon.clients.programs.engine_process import command_of
from desdaemon.clients.programs.openings import key_of, listed_openings, openings_of_file, openings_of_list
from desdaemon.clients.programs.time_control import TimeControl
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.bases import read_games
from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.othello.notation import START, Position, moves_text, parse_moves
from desdaemon.protocol.othello.rules import transform, transform_move

LISTED = listed_openings(1000).openings


def finished(moves: str, score: int) -> Finished:
    """A game that was played so far and ended with that score of Black."""
    record = GameRecord(START, tuple(PlayedMove(move, 0.0) for move in parse_moves(moves)))
    return Finished(record, score, "played", -1, "", (0.0, 0.0), (0.0, 0.0), (1, 1))


# Games that repeat each other


def test_a_repeated_opening_is_no_new_evidence() -> None:
    """Twenty pairs of four openings are worth as much as those four."""
    lines = ["f5d6", "f5f4", "f5f6", "f5d6c3d3"]
    scores = [2, -4, 0, 8]
    once = {
        2 * at + side: finished(line, score)
        for at, (line, score) in enumerate(zip(lines, scores, strict=True))
        for side in (0, 1)
    }
    often = {number: once[number % 8] for number in range(40)}
    few, many = tally(once), tally(often, lambda number: number // 2 % 4)
    assert (few.different, many.different) == (8, 8)
    assert len(many.clusters) == len(few.clusters) == 4
    assert statistics.elo(many.sample) == statistics.elo(few.sample)
    assert statistics.sequential(many.paired_sample, 0, 50).ratio == pytest.approx(
        statistics.sequential(few.paired_sample, 0, 50).ratio
    )


def test_games_that_come_together_later_are_one_result() -> None:
    """Mirrored and rotated games of different openings are one cluster."""
    games = {0: finished("f5d6c3d3", 4), 1: finished("f5f6", 2), 2: finished("d3c5f6f5", 4), 3: finished("f5f4", 2)}
    # Turned over the diagonal f5d6c3d3 is e6f4c3c4.
    games[4], games[5] = finished("e6f4c3c4", 4), finished("c4e3", 2)
    account = tally(games)
    assert account.different == 4
    assert sorted(len(cluster) for cluster in account.clusters) == [3]


def test_games_without_a_partner_count_half() -> None:
    account = tally({0: finished("f5d6", 4), 3: finished("f5f4", 4)})
    assert [weight for cluster in account.clusters for _, weight in cluster] == [0.5, 0.5]
    assert account.sample.mean == 0.5
    assert statistics.sequential(account.paired_sample, 0, 50).accepted == -1


# Ratings


def clusters(points: list[float]) -> list[list[tuple[float, float]]]:
    return [[(point, 1.0)] for point in points]


def test_two_ratings_differ_by_the_elo_difference() -> None:
    results = clusters([1.0] * 30 + [0.5] * 40 + [0.25] * 10)
    found = ratings(2, [Pairing(0, 1, results)])
    pair = statistics.elo(statistics.sample(results))
    assert found
    assert pair
    assert found.elo[0] - found.elo[1] == pytest.approx(pair.difference)
    assert 2 * found.error[0] == pytest.approx((pair.high - pair.low) / 2, rel=0.02)
    assert not found.bounded


@given(st.integers(0, 10**6), st.integers(3, 6))
def test_ratings_are_where_the_likelihood_is_greatest(seed: int, programs: int) -> None:
    """Against the equations: everybody's points are those that the ratings make expected, and the mean is 0."""
    chance = random.Random(seed)
    pairings = [
        Pairing(first, second, clusters([chance.choice((0.0, 0.25, 0.5, 0.75, 1.0)) for _ in range(8)] + [0.25, 0.75]))
        for first, second in itertools.combinations(range(programs), 2)
    ]
    found = ratings(programs, pairings)
    assert found
    assert sum(found.elo) == pytest.approx(0, abs=1e-6)
    points, expected = Counter[int](), Counter[int]()
    for first, second, results in pairings:
        for cluster in results:
            for point, _ in cluster:
                share = 1 / (1 + 10 ** ((found.elo[second] - found.elo[first]) / 400))
                points.update({first: point, second: 1 - point})
                expected.update({first: share, second: 1 - share})
    for program in range(programs):
        assert points[program] == pytest.approx(expected[program], abs=1e-6)


def test_known_strengths_lie_within_the_errors() -> None:
    """Simulated tournaments of three: the 95 % of each rating hold the truth, but for a few in a hundred."""
    chance = random.Random(7)
    true = [60.0, 0.0, -60.0]
    inside = 0
    for _ in range(50):
        pairings = []
        for first, second in itertools.combinations(range(3), 2):
            share = statistics.expected_score(true[first] - true[second])
            pairs = [(chance.random() < share) / 2 + (chance.random() < share) / 2 for _ in range(60)]
            pairings.append(Pairing(first, second, clusters(pairs)))
        found = ratings(3, pairings)
        assert found
        inside += sum(abs(found.elo[at] - true[at]) <= found.error[at] for at in range(3))
    assert 134 <= inside <= 149


def test_ratings_are_finite_where_somebody_won_everything() -> None:
    found = ratings(3, [Pairing(0, 1, clusters([1.0] * 5)), Pairing(1, 2, clusters([0.5] * 5))])
    assert found
    assert found.bounded
    assert all(map(math.isfinite, found.elo))
    assert found.elo[0] > found.elo[1] > found.elo[2] - 1e-6
    assert ratings(3, [Pairing(0, 1, clusters([0.5]))]) is None


# Schedules


@given(st.integers(2, 6), st.sampled_from(KINDS), st.integers(1, 9), st.integers(1, 5))
def test_a_schedule_gives_each_program_as_many_games(programs: int, kind: str, games: int, openings: int) -> None:
    """Each two that meet play as often as they should, each opening with either colour, and no number comes twice."""
    schedule = Schedule(programs, kind, games, openings)
    numbers = list(schedule.numbers())
    assert len(numbers) == len(set(numbers)) == schedule.total
    met: dict[tuple[int, ...], list[tuple[int, int, int]]] = {}
    for number in numbers:
        place = schedule.place(number)
        met.setdefault(tuple(sorted((place.black, place.white))), []).append((place.black, place.within, place.opening))
    wanted = {
        "round-robin": list(itertools.combinations(range(programs), 2)),
        "gauntlet": [(0, at) for at in range(1, programs)],
        "ladder": list(itertools.pairwise(range(programs))),
    }
    assert sorted(met) == wanted[kind]
    for (first, _), found in met.items():
        assert sorted(within for _, within, _ in found) == list(range(games))
        for black, within, opening in found:
            assert (black == first) == (within % 2 == 0)
            assert opening == within // 2 % openings
    longer = schedule._replace(games=games + 2)
    assert [schedule.place(number) for number in numbers] == [longer.place(number) for number in numbers]


# Openings


def test_openings_that_coincide_are_played_once(tmp_path: Path) -> None:
    """The same moves, another order of them, and mirrored ones lead to one position."""
    file = tmp_path / "openings.txt"
    file.write_text("f5d6c3d3c4\nf5d6c3d3c4f4\nf5d6c4d3c3\nd3c5f6f5e6\nc4e3f6e6f5\nf5f6e6f4\n")
    found = openings_of_file(str(file), 5)
    assert [moves_text([played.move for played in one.moves]) for one in found.openings] == ["f5d6c3d3c4", "f5f6e6f4"]
    assert (found.coinciding, found.finished) == (4, 0)


@given(st.integers(0, 999), st.integers(0, 7))
def test_mirror_images_of_an_opening_have_one_key(line: int, symmetry: int) -> None:
    opening = LISTED[line]
    initial = Position(transform(START.player, symmetry), transform(START.opponent, symmetry), True)
    moves = tuple(PlayedMove(transform_move(played.move, symmetry), 0.0) for played in opening.moves)
    assert key_of(GameRecord(initial, moves)) == key_of(opening)


def test_more_openings_than_listed_are_drawn() -> None:
    found = listed_openings(2500)
    assert (len(found.openings), found.drawn) == (2500, 1500)
    assert len({key_of(opening) for opening in found.openings}) == 2500
    assert found.openings[:1000] == listed_openings(1000).openings
    assert found == listed_openings(2500)
    for opening in found.openings[1000:]:
        assert len(opening.moves) == 10
        cells = referee.start()
        for played in opening.moves:
            assert min(played.move % 8, played.move // 8) >= 1
            assert max(played.move % 8, played.move // 8) <= 6
            cells = referee.play(cells, played.move)


OBF = "--XXXXX--OOOXX-O-OOOXXOX-OXOXXXXOXXOXXXXOOXOXXX--OOOXO-----OOOO- X; A1:+18; B1:+12;"
FEN = "8/8/8/3Pp3/3pP3/8/8/8 w - - 0 1"


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        *[("a.obf", [OBF]), ("a.fen", [FEN]), ("a.txt", [OBF, OTHER_START]), ("a", [FEN])],
        ("a.txt", [f"{OBF[:64]}\nBlack", f"{OBF[:64]}\nWhite"]),
    ],
)
def test_openings_may_be_positions(name: str, lines: list[str], tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text("# a remark\n" + "\n".join([*lines, "", lines[0]]) + "\n")
    found = openings_of_file(str(file))
    assert [opening.moves for opening in found.openings] == [()] * len(lines)
    assert found.coinciding == 1
    assert found.openings[0].initial != START


def test_a_bad_position_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.obf"
    file.write_text(f"{OBF}\n{OBF[:50]}\n")
    with pytest.raises(BadInput, match="line 2: "):
        openings_of_file(str(file))


def test_a_match_starts_from_positions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.obf"
    file.write_text(f"{OBF}\n{OBF}\n")
    saved = tmp_path / "games.txt"
    sides = [fake("gtp", "setup"), fake("gtp", "last", 0)]
    assert command.main([*sides[:1] * 2, "--openings", str(file), "--save", str(saved)]) == 0
    err = capsys.readouterr().err
    assert "played once: 1 opening with the position of another one, mirrored or not" in err
    assert len(saved.read_text().splitlines()) == 2
    assert saved.read_text().startswith(OBF[:64])
    assert command.main([*sides, "--openings", str(file)]) == 1
    assert "GTP has no word for another board" in capsys.readouterr().err


def test_openings_of_xot_are_drawn_by_the_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = listed(tmp_path, monkeypatch)
    drawn = openings_of_list("xot", 12).openings
    assert {moves_text([played.move for played in opening.moves]) for opening in drawn} < set(LINES)
    assert len({key_of(opening) for opening in drawn}) == 12
    assert openings_of_list("xot", 30).openings[:12] == drawn != openings_of_list("xot", 12, seed=2).openings
    assert len(openings_of_list("xot", 100).openings) == len(
        {key_of(opening) for opening in openings_of_list("xot", 100)[0]}
    )
    (folder / "openingslarge.txt").write_text("f5d6c3d3c4f4f6f3\na1a2a3a4a5a6a7a8\n")
    with pytest.raises(BadInput, match="line 2: A1"):
        openings_of_list("xot", 2)


def test_a_match_starts_from_openings_of_xot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = listed(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    journal, account, saved = (tmp_path / name for name in ("journal", "account.json", "games.txt"))
    play = [fake("gtp", "first"), fake("gtp", "last"), "--openings", "xot", "--journal", str(journal)]
    assert command.main([*play, "--games", "4", "--json", str(account), "--save", str(saved)]) == 0
    drawn = [moves_text([played.move for played in each.moves]) for each in openings_of_list("xot", 2).openings]
    assert [line[:16].lower() for line in saved.read_text().splitlines()] == [line for line in drawn for _ in range(2)]
    described = json.loads(account.read_text())["settings"]["openings"]
    assert described == {"different": 2, "list": "xot", "seed": 1, "lengthened": 0}
    (folder / "openingslarge.txt").write_text("f5d6c3d3c4f4f6f3\n")
    assert command.main([*play, "--games", "6"]) == 1
    assert "(openings: other ones here)" in capsys.readouterr().err
    (tmp_path / "xot").write_text("f5d6\n")
    assert command.main([*play[:4], "--games", "2", "--save", str(saved)]) == 0
    assert all(line.startswith("F5D6") for line in saved.read_text().splitlines())
    (tmp_path / "xot").unlink()
    (folder / "openingslarge.txt").unlink()
    capsys.readouterr()
    assert command.main([*play[:4], "--games", "2"]) == 1
    assert "download https://berg.earthlingz.de/xot" in capsys.readouterr().err


def test_openings_that_come_again_are_mentioned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "openings.txt"
    file.write_text("f5d6c3\nf5f6\n")
    account = tmp_path / "account.json"
    sides = [fake("gtp", "first"), fake("gtp", "last")]
    assert command.main([*sides, "--openings", str(file), "--games", "8", "--json", str(account)]) == 0
    out, err = capsys.readouterr()
    assert "2 different openings for 4 pairs of games" in err
    assert "8 games, 4 different" in out
    found = json.loads(account.read_text())
    assert (found["games"], found["different_games"]) == (8, 4)


# Tournaments, journals, accounts


def test_a_round_robin_pairs_everybody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    account, saved, journal = tmp_path / "account.json", tmp_path / "games.ggf", tmp_path / "journal"
    sides = [fake("gtp", "first"), fake("gtp", "last"), fake("gtp", "resign", 0)]
    assert command.main([*sides, "--games", "2", "--journal", str(journal), "--concurrency", "2"]) == 0
    capsys.readouterr()
    arguments = [*sides, "--games", "4", "--journal", str(journal), "--json", str(account), "--save", str(saved)]
    assert command.main(arguments) == 0
    out = capsys.readouterr().out
    found = json.loads(account.read_text())
    assert found["resumed_games"] == 6
    assert found["games"] == 12
    assert [(pair["first"], pair["second"], pair["games"]) for pair in found["pairings"]] == [
        (0, 1, 4),
        (0, 2, 4),
        (1, 2, 4),
    ]
    assert [program["name"] for program in found["programs"]] == ["Fake first", "Fake last", "Fake resign"]
    assert found["programs"][2]["losses"] == 8
    assert min(found["ratings"]["elo"]) == found["ratings"]["elo"][2]
    # The cross table: a row for each, the last one's without points.
    assert sum("/4" in line for line in out.splitlines()) == 3
    assert any(line.split()[:3] == ["3", "Fake", "resign"] and line.count("0/4") == 2 for line in out.splitlines())
    assert len(saved.read_text().splitlines()) == 12


def test_a_ladder_orders_its_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """Neighbours meet, and the report has what each step is worth instead of the points of each against each."""
    sides = [fake("gtp", "resign", 0), fake("gtp", "first"), fake("gtp", "first")]
    assert command.main([*sides, "--games", "4", "--tournament", "ladder", "--names", "A,B,C"]) == 0
    out = capsys.readouterr().out.splitlines()
    first = next(number for number, line in enumerate(out) if "over" in line)
    won, even = out[first + 1].split(), out[first + 2].split()
    assert won[:4] == ["B", "A", "4/4", "+inf"]
    assert even[:4] == ["C", "B", "2/4", "+0.0"]
    assert float(even[4]) < 0 < float(even[5])
    assert sum("/4" in line for line in out) == 2


def test_tables_fit_80_columns_however_long_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    long = ["a program with a very long name, 1.0", "a program with a very long name, 2.0", "another long name, or not"]
    sides = [fake("gtp", "first"), fake("gtp", "last"), fake("gtp", "resign", 0)]
    for count, kind in ((2, "round-robin"), (3, "round-robin"), (3, "ladder")):
        names = [name.replace(",", ";") for name in long[:count]]
        options = ["--games", "2", "--names", ",".join(names), "--tournament", kind]
        assert command.main([*sides[:count], *options]) == 0
        out = capsys.readouterr().out
        # Behind the heading and before the sentences about each program.
        table = [line for line in out.splitlines()[1:] if not line.startswith(("Elo", "a program has won", *names))]
        assert max(map(len, table)) < 80
        assert "a progra...name; 1.0" in out


@pytest.mark.posix
def test_the_journal_notices_another_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the program, of files that its command line names, and of what it calls itself."""
    program, weights, journal = tmp_path / "program", tmp_path / "weights.dat", tmp_path / "journal"
    weights.write_bytes(b"one")

    def write(name: str) -> None:
        program.write_text(f"#!/bin/sh\nexec {fake('gtp', name)}\n")
        program.chmod(0o700)

    def play(games: int) -> int:
        sides = [f"{program} {weights}", fake("gtp")]
        return command.main([*sides, "--protocol", "gtp", "--games", str(games), "--journal", str(journal)])

    write("first")
    assert play(2) == 0
    weights.write_bytes(b"two")
    kept = journal.read_bytes()
    assert play(4) == 1
    assert "(program 1: its files have changed, weights included)" in capsys.readouterr().err
    weights.write_bytes(b"one")
    write("last")
    assert play(4) == 1
    assert "(program 1: its files" in capsys.readouterr().err
    assert journal.read_bytes() == kept
    write("first")
    assert play(4) == 0


def test_two_matches_do_not_write_one_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal(str(path), {"tournament": "ladder"}):
        kept = path.read_bytes()
        with pytest.raises(BadInput, match="another match writes this journal"):
            Journal(str(path), {"tournament": "ladder"})
        assert path.read_bytes() == kept
    Journal(str(path), {"tournament": "ladder"}).__exit__()


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        ({"margin": 50}, {"margin": 60}, "margin: 50 there, 60 here"),
        ({"openings": {"seed": 1}}, {"openings": {"seed": 2}}, "openings seed: 1 there, 2 here"),
        ({"openings": {"sha256": "1"}}, {"openings": {"sha256": "2"}}, "openings: other ones here"),
        (
            {"programs": [{"command": "a"}, {"command": f"self {'-gtp ' * 20}-l 10 -n 1", "sha256": "1"}]},
            {"programs": [{"command": "a"}, {"command": f"self {'-gtp ' * 20}-l 12 -n 1", "sha256": "2"}]},
            "program 2 command: ... 10 -n 1 there, ... 12 -n 1 here",
        ),
        (
            {"programs": [{"command": "self -l 10"}, {"command": "a"}]},
            {"programs": [{"command": "self -l 12"}, {"command": "a"}]},
            "program 1 command: self -l 10 there, self -l 12 here",
        ),
        (
            {"programs": [{"control": {"move": 0.0, "level": 4}}]},
            {"programs": [{"control": {"move": 500.0, "level": 4}}]},
            "program 1 ms for each move: 0.0 there, 500.0 here",
        ),
        (
            {"programs": [{"control": {"level": 4}}]},
            {"programs": [{"control": {"level": 6}}]},
            "program 1 level: 4 there, 6 here",
        ),
        ({"programs": [{"command": "a"}] * 2}, {"programs": [{"command": "a"}] * 3}, "programs: 2 there, 3 here"),
    ],
)
def test_a_journal_of_another_match_tells_the_difference(
    old: dict[str, Any], new: dict[str, Any], difference: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "journal")
    with Journal(path, old):
        pass
    with pytest.raises(BadInput) as refused:
        Journal(path, new)
    assert f"belongs to a different match ({difference})" in str(refused.value)


@pytest.mark.parametrize(
    ("commands", "levels", "names"),
    [
        (["x -l 4", "x -l 6"], [-1, -1], ["x -l 4", "x -l 6"]),
        (["x -gtp -l 4 -n 1", "x -gtp -n 1"], [-1, -1], ["x -l 4", "x"]),
        (["x", "x"], [4, 6], ["x level 4", "x level 6"]),
        (["x", "x", "y"], [-1, -1, -1], ["x (1)", "x (2)", "y"]),
        (["self -l 4", "bin/desdaemon -gtp -n 1"], [-1, -1], ["desdaemon -l 4", "desdaemon"]),
    ],
)
def test_programs_of_one_name_show_what_differs(commands: list[str], levels: list[int], names: list[str]) -> None:
    programs = [
        workers.Program(command_of(line), "gtp", "", TimeControl(level=level))
        for line, level in zip(commands, levels, strict=True)
    ]
    schedule = Schedule(len(programs), "round-robin", 2, 1)
    setting = workers.Setting(programs, schedule, [], MatchTerms(), 1, None, None)
    assert command._names(setting, {}) == names


def test_no_terminal_obeys_a_given_name_or_that_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([fake("gtp"), fake("gtp"), "--games", "2", "--names", "a\x1b[31m\nb,c"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("a\\x1b[31m\\nb against c,")
    assert "\x1b" not in out
    programs = [workers.Program([f"./{name}"], "gtp", "", TimeControl()) for name in ("a\x1bc", "b")]
    setting = workers.Setting(programs, Schedule(2, "round-robin", 2, 1), [], MatchTerms(), 1, None, None)
    assert command._names(setting, {}) == ["a\\x1bc", "b"]


def test_tables_leave_out_versions_that_are_in_the_way() -> None:
    for names, shown in (
        (["desdaemon 0.13.0 -l 4", "desdaemon 0.13.0 -l 6"], ["desdaemon -l 4 ", "desdaemon -l 6 "]),
        (["desdaemon 0.12.0 -l 10", "desdaemon 0.13.0 -l 10"], ["desdaemo...2.0 -l 10 ", "desdaemo...3.0 -l 10 "]),
        (["a 1.0", "b 2.0"], ["a 1.0 ", "b 2.0 "]),
    ):
        found = outcome({}, Schedule(2, "round-robin", 2, 1), names, -1, None)
        _, _, _, *rows = report(found, "", [TimeControl(), TimeControl()]).splitlines()
        assert [row.startswith(name) for row, name in zip(rows, shown, strict=False)] == [True, True], rows


def test_no_games_have_no_score() -> None:
    schedule = Schedule(2, "round-robin", 2, 1)
    found = outcome({}, schedule, ["a", "b"], -1, None)
    text = report(found, "a against b", [TimeControl(), TimeControl()])
    assert "%" not in text
    assert "+0.0" not in text
    assert "0.000 s" not in text
    assert json_report(found, {}, [{}, {}])["pairings"][0]["score"] is None


@pytest.mark.posix
def test_a_program_with_a_name_of_its_own_keeps_the_given_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server's name tells its version where no file does."""
    word, journal = tmp_path / "word", tmp_path / "journal"
    word.write_text("first")
    program = shlex.join(["sh", "-c", f"exec {sys.executable} {FAKE} gtp $(cat {word})"])
    arguments = [program, fake("gtp"), "--protocol", "gtp", "--journal", str(journal)]
    assert command.main([*arguments, "--games", "2"]) == 0
    word.write_text("last")
    capsys.readouterr()
    assert command.main([*arguments, "--games", "4"]) == 1
    assert 'program 1 calls itself "Fake last", in the games before "Fake first"' in capsys.readouterr().err


def test_this_program_is_told_by_version_and_settings(tmp_path: Path) -> None:
    weights = tmp_path / "weights.dat"
    weights.write_bytes(b"one")
    own = command.command_of(f"self -eval-file {weights}")
    one = identity(own)
    assert one["command"] == f"self -gtp -n 1 -eval-file {weights}"
    assert one["version"]
    weights.write_bytes(b"two")
    assert identity(own)["sha256"] != one["sha256"]
    assert identity(command.command_of("self"))["sha256"] == identity(command.command_of("self -level 3"))["sha256"]


def test_adjudicated_games_have_their_exact_scores(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    sides = [fake("gtp", "first"), fake("gtp", "last")]
    assert command.main([*sides, "--games", "4", "--adjudicate", "8", "--journal", str(journal)]) == 0
    for line in journal.read_text().splitlines()[1:]:
        entry = json.loads(line)
        final = entry_game(entry).record.final
        cells = referee.from_bits(final.player, final.opponent)
        assert (entry["ending"], referee.empties(cells)) == ("adjudicated", 8)
        assert entry["score"] == (1 if final.black_to_move else -1) * referee.solve(cells)


@pytest.mark.posix
def test_the_games_are_counted_in_a_book_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = tmp_path / "my book"
    new = Book(BookOptions(level=1, min_empties=50))
    new.table.insert(*BOOK_START)
    create_store(book, new).close()
    sides = [fake("gtp", "first"), fake("gtp", "last")]
    arguments = [*sides, "--games", "2", "--journal", str(tmp_path / "journal"), "--book-results", str(book)]
    assert command.main(arguments) == 0
    assert f"2 games counted in {book}" in capsys.readouterr().err

    def games() -> float:
        with open_store(book, read_only=True) as store:
            table = store.book.table
            assert len(store.book) > 2
            # The losers' lines are less attractive than one game makes them.
            assert any(part % 1 for row in range(len(store.book)) for part in table.results(row))
            return sum(table.results(table.find(*BOOK_START)))

    assert games() == 2
    arguments[3] = "4"
    assert command.main(arguments) == 0
    assert games() == 4
    for damaged in ("[0, ", "[" * 100_000):
        (tmp_path / "journal.counted").write_text(damaged)
        capsys.readouterr()
        assert command.main(arguments) == 1
        assert "expected the numbers of the games that are counted" in capsys.readouterr().err
    export = tmp_path / "b.dat"
    registry.save(export, new)
    content = export.read_bytes()
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    for file, complaint in (
        (export, "not a book of our own format"),
        (tmp_path / "none.book", "No such file"),
        (circle, "expected the name of a file"),
    ):
        assert command.main([*sides, "--games", "2", "--book-results", str(file)]) == 1
        assert complaint in capsys.readouterr().err
    assert export.read_bytes() == content


MARKS = {
    "resign": (":r", "resignation"),
    "illegal": (":f", "rules infraction"),
    "crash": (":f", "abandoned"),
    "slow": (":t", "time forfeit"),
}


@pytest.mark.parametrize("fault", MARKS)
def test_a_forfeit_leaves_its_reason_in_saved_files(fault: str, tmp_path: Path) -> None:
    mark, termination = MARKS[fault]
    sides = [fake("gtp", "first"), fake("gtp", fault, 0)]
    saved = [tmp_path / f"games.{kind}" for kind in ("ggf", "sgf", "pgn")]
    journal = str(tmp_path / "journal")
    for file in saved:
        arguments = [*sides, "--games", "1", "--journal", journal, "--save", str(file), "--move-time", "none,0.2"]
        command.main(arguments)
    ggf, sgf, pgn = (file.read_text() for file in saved)
    assert f"RE[64{mark}]" in ggf
    assert f"RE[B+64{mark}]" in sgf
    assert f'[Termination "{termination}"]' in pgn
    for text in (ggf, sgf, pgn):
        assert "lost by fault: " in " ".join(text.split())
    for file in saved:
        (game,) = read_games(str(file))
        assert game.result == 64


def test_a_game_that_is_played_out_has_no_mark(tmp_path: Path) -> None:
    saved = [tmp_path / f"games.{kind}" for kind in ("ggf", "sgf", "pgn")]
    for file in saved:
        assert command.main([fake("gtp", "first"), fake("gtp", "last"), "--games", "1", "--save", str(file)]) == 0
    ggf, sgf, pgn = (file.read_text() for file in saved)
    assert "lost by" not in ggf + sgf + pgn
    assert "Termination" not in pgn
    assert ":" not in ggf.partition("RE[")[2].partition("]")[0]


@pytest.mark.posix
def test_a_tournament_goes_on_without_programs_that_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One crashes in every game, one never starts: both lose all games, without being started again and again."""
    account, journal, page = tmp_path / "account.json", tmp_path / "journal", tmp_path / "page"
    sides = [fake("gtp", "first"), fake("gtp", "crash"), "sh -c 'echo no; exit 3'", fake("gtp", "last")]
    arguments = [*sides, "--names", "A,B,C,D", "--tournament", "gauntlet", "--protocol", "gtp", "--games", "6"]
    arguments += ["--journal", str(journal), "--page", str(page), "--json", str(account)]
    assert command.main(arguments) == 1
    found = json.loads(account.read_text())
    assert (found["status"], found["games"], found["failed"]) == ("finished", 18, "B")
    assert [one["failed"] for one in found["programs"]] == [False, True, True, False]
    assert [one["losses"] for one in found["programs"][1:3]] == [6, 6]
    assert [one["faults"] for one in found["programs"]] == [{}, {"crash": 6}, {"crash": 6}, {}]
    assert [one is None for one in found["ratings"]["elo"]] == [False, True, True, False]
    assert [one["elo"] is None for one in found["pairings"]] == [True, True, False]
    games = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
    assert sum(game["note"].startswith("not started") for game in games) == 4
    out = capsys.readouterr().out
    assert "B failed in every game (crash 6): no Elo" in out
    assert "C failed in every game (crash 6): no Elo" in out
    assert "inf" not in out + (page / "index.html").read_text().replace("information", "")
    assert command.main(arguments) == 1
    assert len(journal.read_text().splitlines()) == 19
