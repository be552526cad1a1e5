"""The explorer counts what a naive reader of the games counts, whatever is asked, and survives damaged files."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest
from checkout import IMPORT, SHARED
from random_games import OTHER_START, random_game, with_pass

from desdaemon.book.explorer import build, index
from desdaemon.book.explorer.index import Filter, GamesIndex, NoIndex, Played
from desdaemon.protocol.errors import MOST_COMPLAINTS, BadInput
from desdaemon.protocol.games.bases import FileGame, read_games, write_games
from desdaemon.protocol.games.records import GameRecord, black_score
from desdaemon.protocol.othello.notation import START, parse_board, parse_move
from desdaemon.protocol.othello.rules import PASS, transform, transform_move
from desdaemon.protocol.othello.scores import BlackScore

Visit = tuple[FileGame, str, bool]
"""A game, its file, and whether White moves."""
Recount = dict[tuple[int, int], dict[int, list[Visit]]]

NAMES = ("Ann", "Bob", "Cléo", "Dan O'B", "")
EVENTS = ("Rome", "Paris open", "")


def least(player: int, opponent: int, move: int) -> tuple[int, int, int]:
    return min((transform(player, s), transform(opponent, s), transform_move(move, s)) for s in range(8))


def recount(files: Iterable[Path]) -> Recount:
    """For each position, up to mirror images, and each move there the games, by the plain rules."""
    visits: Recount = defaultdict(lambda: defaultdict(list))
    for file in files:
        for game in read_games(str(file), lambda line: None):
            position, final = game.record.initial, game.record.final
            if final.over:
                game = game._replace(result=black_score(final))
            for played in game.record.moves:
                if played.move != PASS:
                    *key, move = least(position.player, position.opponent, played.move)
                    visits[key[0], key[1]][move].append((game, file.name, not position.black_to_move))
                position = position.after(played.move)
    return visits


def year(game: FileGame) -> int:
    return int(game.date[:4] or 0)


def named(wanted: str, name: str) -> bool:
    return wanted[1:] == name if wanted[:1] == "=" else wanted.lower() in name.lower()


def passes(visit: Visit, chosen: Filter) -> bool:
    game, file, _ = visit
    black, white = game.record.black, game.record.white
    return (
        (named(chosen.player, black) or named(chosen.player, white))
        and named(chosen.black, black)
        and named(chosen.white, white)
        and (named(chosen.event, game.event) or named(chosen.event, file))
        and chosen.from_year <= year(game)
        and (not chosen.to_year or 0 < year(game) <= chosen.to_year)
    )


def counted(visits: dict[int, list[Visit]], chosen: Filter) -> dict[int, tuple[object, ...]]:
    """Games, wins, draws, losses, discs, first and last year of each move."""
    moves: dict[int, tuple[object, ...]] = {}
    for move, all_visits in visits.items():
        some = [visit for visit in all_visits if passes(visit, chosen)]
        scores = [-score if white else score for game, _, white in some if (score := game.result) is not None]
        years = [year(game) for game, _, _ in some if year(game)]
        if some:
            tally = [sum(score > 0 for score in scores), scores.count(0), sum(score < 0 for score in scores)]
            moves[move] = (len(some), *tally, sum(scores), min(years, default=0), max(years, default=0))
    return moves


def as_counted(position: tuple[int, int], played: Played) -> dict[int, tuple[object, ...]]:
    return {least(*position, parse_move(move.move))[2]: tuple(move[1:8]) for move in played.moves}


def same(made: GamesIndex, visits: Recount, chosen: Filter, positions: list[tuple[int, int]]) -> None:
    for position, played in zip(positions, made.look_up_many(positions, chosen), strict=True):
        canonical = least(*position, 0)[:2]
        assert as_counted(position, played) == counted(visits[canonical], chosen)
        assert [move.games for move in played.moves] == sorted((move.games for move in played.moves), reverse=True)


def made_of(files: list[Path], folder: Path) -> GamesIndex:
    target = folder / "games.index"
    build.build([str(file) for file in files], str(target), lambda line: None, lambda what, done, total: None)
    return GamesIndex(target)


def random_base(folder: Path) -> list[Path]:
    """Files of all formats: finished and unfinished games, with passes, other starts, repeats, without names, years."""
    lots = random.Random(5)
    games = []
    for seed in range(60):
        other = parse_board(OTHER_START) if seed % 10 == 9 else START
        record = with_pass() if seed == 7 else random_game(seed // 2, lots.choice((0, 5, 20, 70)), other)
        record = record._replace(black=lots.choice(NAMES), white=lots.choice(NAMES))
        date = lots.choice(("1987", "1999-03-01", "2020", ""))
        claimed = BlackScore(lots.choice((-64, 0, 12))) if lots.random() < 0.5 else None
        games.append(FileGame(record, event=lots.choice(EVENTS), date=date, result=claimed))
    files = []
    for number, format in enumerate(("ggf", "sgf", "pgn", "txt", "edx")):
        files.append(folder / f"some.{format}")
        write_games(str(files[-1]), games[number::5])
    (folder / "deep").mkdir()
    for number in (1987, 2001):
        files.append(folder / "deep" / f"WTH_{number}.wtb")
        part = [game._replace(date=str(number)) for game in games if game.record.initial == START]
        write_games(str(files[-1]), part[: number % 40])
    return files


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tuple[GamesIndex, Recount]:
    folder = tmp_path_factory.mktemp("base")
    files = random_base(folder)
    return made_of([folder], folder), recount(files)


def turned(positions: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Each position under another symmetry."""
    return [
        (transform(player, number % 8), transform(opponent, number % 8))
        for number, (player, opponent) in enumerate(positions)
    ]


FILTERS = (
    Filter(),
    Filter(player="ann"),
    Filter(player="=Ann"),
    Filter(player="=ann"),
    Filter(black="=Bo"),
    Filter(black="BOB", white="cléo"),
    Filter(event="paris"),
    Filter(event="some.pgn"),
    Filter(from_year=1990),
    Filter(to_year=1999),
    Filter(player="o'b", from_year=1987, to_year=1987),
    Filter(player="nobody"),
)


@pytest.mark.parametrize("chosen", FILTERS, ids=str)
def test_counts_are_those_of_a_naive_reader(base: tuple[GamesIndex, Recount], chosen: Filter) -> None:
    made, visits = base
    assert made.positions == len(visits) > 500
    same(made, visits, chosen, turned(visits))


def test_games_and_players_are_those_of_a_naive_reader(base: tuple[GamesIndex, Recount]) -> None:
    made, visits = base
    for chosen in (Filter(), Filter(player="ann"), Filter(from_year=1990, to_year=2020)):
        for position in turned(visits):
            some = [
                (move, visit)
                for move, listed in visits[least(*position, 0)[:2]].items()
                for visit in listed
                if passes(visit, chosen)
            ]
            played = made.look_up(*position, chosen, games=50)
            wanted = sorted(
                (visit[0].record.black, visit[0].record.white, year(visit[0]), visit[0].event, visit[1],
                 str(visit[0].result), move)
                for move, visit in some
            )  # fmt: skip
            names = [(*game[:5], str(game.result), least(*position, parse_move(game.move))[2]) for game in played.games]
            assert sorted(names) == wanted if len(some) <= 50 else set(names) <= set(wanted)
            years = [game.year for game in played.games]
            assert years == sorted(years, reverse=True)
            for move in played.moves:
                movers = [
                    visit[0].record.white if visit[2] else visit[0].record.black
                    for square, visit in some
                    if square == least(*position, parse_move(move.move))[2]
                ]
                most = sorted((movers.count(name) for name in set(movers) - {""}), reverse=True)[:3]
                assert [number for _, number in move.players] == most
                assert all(movers.count(name) == number for name, number in move.players)


def test_a_position_that_nobody_reached_has_no_moves(base: tuple[GamesIndex, Recount]) -> None:
    for position in ((0, 0), (1, 2), (2**64 - 1, 0), (0, 2**64 - 1)):
        assert base[0].look_up(*position, games=50) == Played(())


def test_a_year_of_wthor_is_counted_as_by_a_naive_reader(tmp_path: Path) -> None:
    file = SHARED / "data" / "wthor" / "WTH_1983.wtb"
    if not file.exists():
        pytest.skip("no WTHOR base")
    made, visits = made_of([file], tmp_path), recount([file])
    assert made.positions == len(visits) > 5_000
    game = next(read_games(str(file)))
    for chosen in (Filter(), Filter(player=game.record.white, event=game.event)):
        same(made, visits, chosen, turned(visits)[::3])


def test_games_with_illegal_moves_and_foreign_files_are_left_out_and_told(tmp_path: Path) -> None:
    good = random_game(1, 20)
    write_games(str(tmp_path / "a.wtb"), [FileGame(good), FileGame(random_game(2, 20))])
    data = bytearray((tmp_path / "a.wtb").read_bytes())
    data[16 + 68 + 8 + 5] = 44  # E4, which is occupied
    (tmp_path / "a.wtb").write_bytes(data)
    (tmp_path / "b.sgf").write_bytes(b"\0\1\2")
    (tmp_path / "c.txt").write_text("f5d6c3\nf5f5\n")
    told: list[str] = []
    account = build.build([str(tmp_path)], str(tmp_path / "i"), told.append, lambda what, done, total: None)
    assert (account.games, account.bad) == (2, 2)
    assert sum("a.wtb" in line and "game 2" in line for line in told) == 1
    assert sum("b.sgf" in line for line in told) == 1
    assert sum("c.txt" in line and "game 2" in line for line in told) == 1
    made = GamesIndex(tmp_path / "i")
    same(made, recount([tmp_path / "c.txt"]), Filter(event="c.txt"), [START[:2]])
    for nothing in ([str(tmp_path / "none")], [str(tmp_path / "b.sgf")]):
        with pytest.raises(BadInput):
            build.build(nothing, str(tmp_path / "i"), told.append, lambda what, done, total: None)


# Windows cuts off nothing that is mapped.
@pytest.mark.parametrize("cut", [pytest.param(True, marks=pytest.mark.posix), False])
def test_an_index_that_is_written_to_is_used_no_more(tmp_path: Path, cut: bool) -> None:
    """Reading what was cut off would end the process."""
    (tmp_path / "a.txt").write_text("f5d6c3\n" * 3)
    made = made_of([tmp_path / "a.txt"], tmp_path)
    looking = made.look_up_many([START[:2]] * 2)
    assert next(looking).moves
    if cut:
        os.truncate(made.path, 0)
    else:
        os.utime(made.path, (1, 1))
    for look in (lambda: next(looking), lambda: made.look_up(*START[:2])):
        with pytest.raises(BadInput, match="another program wrote to it"):
            look()


def exercised(path: Path, positions: list[tuple[int, int]]) -> None:
    """Ask all that can be asked."""
    made = GamesIndex(path)
    for position in positions:
        for chosen in (Filter(), Filter(player="a"), Filter(from_year=1990)):
            played = made.look_up(*position, chosen, games=50)
            assert len(played.moves) <= 64
            assert len(played.games) <= 50


def test_a_damaged_file_is_told_or_answers_wrongly_and_no_more(
    base: tuple[GamesIndex, Recount], tmp_path: Path
) -> None:
    made, visits = base
    whole = Path(made.path).read_bytes()
    positions = list(visits)[:40]
    path = tmp_path / "damaged"
    for size in (0, 1, 15, 16, 100, index.HEADER.itemsize, len(whole) // 2, len(whole) - 1, len(whole) + 8):
        path.write_bytes(whole[:size].ljust(min(size, len(whole) + 8), b"\0"))
        with pytest.raises(NoIndex):
            GamesIndex(path)
    lots = random.Random(3)
    told = 0
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(lots.choice((1, 30, 3000))):
            # Half of the damage is in the header and the games.
            place = lots.randrange(lots.choice((index.HEADER.itemsize, len(data))))
            data[place] = lots.choice((0, 255, lots.randrange(256)))
        path.write_bytes(data)
        try:
            exercised(path, positions)
        except NoIndex:
            told += 1
    assert told > 12


@pytest.mark.posix
def test_a_killed_run_leaves_the_old_index(tmp_path: Path) -> None:
    write_games(str(tmp_path / "a.ggf"), [FileGame(random_game(1, 60))])
    target = tmp_path / "games.index"
    made_of([tmp_path / "a.ggf"], tmp_path)
    old = target.read_bytes()
    program = f"""{IMPORT}
import os, signal
from desdaemon.book.explorer.build import build
def progress(what, done, total):
    if (what, done) == ("discs written", 30):
        os.kill(os.getpid(), signal.SIGKILL)
build([{str(tmp_path / "a.ggf")!r}] * 2, {str(target)!r}, print, progress)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == -signal.SIGKILL
    assert target.read_bytes() == old
    assert GamesIndex(target).positions > 50


def test_an_empty_game_counts_nowhere(tmp_path: Path) -> None:
    write_games(str(tmp_path / "a.ggf"), [FileGame(GameRecord(START, ())), FileGame(random_game(1, 3))])
    made = made_of([tmp_path / "a.ggf"], tmp_path)
    assert len(made.games) == 2
    assert [move.games for move in made.look_up(*START[:2]).moves] == [1]


@pytest.mark.posix
def test_a_file_whose_name_is_no_text_is_indexed(tmp_path: Path) -> None:
    path = tmp_path / "a\udcff\x1b.txt"
    path.write_text("f5d6c3\n")
    made = made_of([path], tmp_path)
    assert len(made.games) == 1
    assert made.name(int(made.games["file"][0])) == "a\\udcff\\x1b.txt"


def test_the_index_counts_complaints(tmp_path: Path) -> None:
    wrong = tmp_path / "games.txt"
    wrong.write_text("f5d6c3\n" + "f5f5\n" * 1234)
    said: list[str] = []
    account = build.build([str(wrong)], str(wrong.with_name("index")), said.append, lambda *_: None)
    assert len(said) == MOST_COMPLAINTS + 1
    assert said[-1] == f"and {1234 - MOST_COMPLAINTS:,} more"
    assert account.games == 1


def test_the_games_of_one_large_file_are_counted_as_they_are_read(tmp_path: Path) -> None:
    games = tmp_path / "games.txt"
    games.write_text("f5d6c3\n" * 3)
    told: list[str] = []
    build.build([str(games)], str(tmp_path / "index"), pytest.fail, lambda what, done, total: told.append(what))
    assert told[:3] == ["0 games read", "1 game read", "2 games read"]


def test_an_index_refuses_more_games_than_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    three = tmp_path / "three.txt"
    three.write_text("f5d6c3\nf5f6e6\nf5f4e3\n")
    monkeypatch.setattr(build, "MOST_GAMES", 2)
    target = three.with_name("index")
    with pytest.raises(BadInput, match=r"three.txt\": an index has at most 2 games: make several"):
        build.build([str(three)], str(target), lambda line: None, lambda *_: None)
    assert not target.exists()


def test_a_win_without_discs_counts_in_the_index(tmp_path: Path) -> None:
    base = tmp_path / "base.sgf"
    base.write_text("".join(f"(;GM[2]PB[Ann]PW[Bob]RE[{won}+R];B[fe];W[df])\n" for won in "BBW"))
    build.build([str(base)], str(tmp_path / "games.index"), pytest.fail, lambda *told: None)
    (move,) = GamesIndex(str(tmp_path / "games.index")).look_up(*START[:2]).moves
    assert (move.wins, move.draws, move.losses) == (2, 0, 1)
