"""The stages of training, on games made here."""

import functools
import gzip
import random
import struct

import numpy as np
import pytest
import referee
from checkout import ROOT

from desdaemon.engine.evaluation.patterns import CONSTANT, EDAX_INSTANCES, EDAX_SIZE, PACKED_SIZE
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.evaluation.weights_file import read_packed, write_shipped
from desdaemon.engine.layout import PLIES
from desdaemon.engine.search import Searcher
from desdaemon.engine.training import cli, match, store, validate
from desdaemon.engine.training.fitting import dataset, features, ridge
from desdaemon.engine.training.games import game_files as files
from desdaemon.engine.training.labelling import boards, labels, positions
from desdaemon.protocol.othello.selectivity import Selectivity

SHIPPED = ROOT / "engine" / "data" / "weights.xz"


@functools.cache
def random_line(seed):
    """Moves of a random game, and its score for the side that began."""
    cells = referee.start()
    line = referee.random_moves(seed, 60)
    mover = 1
    for square in line:
        if not referee.legal_moves(cells):
            cells, mover = referee.passed(cells), -mover
        cells, mover = referee.play(cells, square), -mover
    assert referee.game_over(cells)
    return line, referee.final_score(cells) * mover


def wthor(lines, announced=None):
    """The bytes of a WTHOR database."""
    content = struct.pack(
        "<4Bihh4B", 20, 26, 1, 1, len(lines) if announced is None else announced, 0, 2026, 8, 0, 22, 0
    )
    for line in lines:
        coded = [10 * (square // 8 + 1) + square % 8 + 1 for square in line]
        content += struct.pack("<3h2B", 1, 2, 3, 32, 32) + bytes(coded + [0] * (60 - len(coded)))
    return content


@functools.cache
def sample_boards(count, seed=0):
    """Random boards of random plies as arrays, with the referee's view of them."""
    chosen = random.Random(seed)
    cells = [referee.random_position(seed * 1000 + number, chosen.randrange(2, 58)) for number in range(count)]
    bits = [referee.to_bits(board) for board in cells]
    return np.array([b[0] for b in bits], np.uint64), np.array([b[1] for b in bits], np.uint64), cells


# ------------------------------------------------------------------------------------------------ games


def test_wthor_games_are_read_and_scored_as_the_referee_scores_them(tmp_path):
    made = [random_line(seed) for seed in range(12)]
    (tmp_path / "A.wtb").write_bytes(wthor([line for line, _ in made[:7]]))
    (tmp_path / "B.wtb").write_bytes(wthor([line for line, _ in made[7:]]))
    files.run([tmp_path], tmp_path / "games.npz")
    found, record = store.load(tmp_path / "games.npz")
    assert record["games"] == 12
    assert record["illegal"] == 0
    expected = {tuple(line): score for line, score in made}
    for squares, length, score, finished in zip(
        found["squares"].tolist(), found["lengths"].tolist(), found["scores"].tolist(), found["finished"], strict=True
    ):
        assert finished
        assert expected[tuple(squares[:length])] == score


def test_illegal_repeated_and_unfinished_games_are_told_apart():
    line, _ = random_line(3)
    turned = [8 * (square % 8) + square // 8 for square in line]
    broken = [line[0], line[0]]
    rows = np.full((5, 60), boards.NO_SQUARE, np.uint8)
    for row, squares in zip(rows, (line, line, turned, broken, line[:20]), strict=True):
        row[: len(squares)] = squares
    found, account = files.verify(rows)
    assert account == {"records": 5, "illegal": 1, "repeated": 2, "unfinished": 1, "games": 2}
    assert sorted(found["lengths"].tolist()) == [20, len(line)]


def test_move_lines_are_read(tmp_path):
    line, score = random_line(5)
    text = "".join(referee.name(square) for square in line)
    path = tmp_path / "games.txt"
    path.write_text(f"{text}\n\n{text[:20].lower()}\n")
    found, account = files.verify(files.read_lines(path))
    assert account["games"] == 2
    assert score in found["scores"].tolist()


def test_packed_files_are_read_like_others(tmp_path):
    line, _ = random_line(5)
    text = "".join(referee.name(square) for square in line)
    folder = tmp_path / "base"
    folder.mkdir()
    (folder / "A.WTB.gz").write_bytes(gzip.compress(wthor([line])))
    (folder / "remarks").write_text("no games")
    (tmp_path / "x.txt.gz").write_bytes(gzip.compress(f"\ufeff{text}\n".encode()))
    squares, account = files.read_files([folder, tmp_path / "x.txt.gz"])
    assert account == ["A.WTB.gz: 1", "x.txt.gz: 1"]
    assert squares[0].tolist() == squares[1].tolist()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("short.wtb", b"\0" * 9, "header"),
        ("ten.wtb", wthor([[19]])[:12] + b"\x0a" + wthor([[19]])[13:], "size 10"),
        ("words.txt", b"f5d6c3\nhello\n", "words.txt:2"),
        ("latin.txt", b"f5\xe9\n", "latin.txt:1"),
        ("marked.txt", "f5\n".encode("utf-16"), "this is UTF-16"),
    ],
)
def test_broken_game_files_are_refused_with_their_name(tmp_path, capsys, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    assert cli.main(["games", str(path), "--out", str(tmp_path / "out.npz")]) == 1
    told = capsys.readouterr().err
    assert name in told
    assert message in told
    assert not (tmp_path / "out.npz").exists()


def test_a_wrong_number_of_games_is_told(tmp_path, capsys):
    path = tmp_path / "lies.wtb"
    path.write_bytes(wthor([[19]], announced=3))
    assert cli.main(["games", str(path), "--out", str(tmp_path / "out.npz")]) == 0
    assert "3 games of 68 bytes announced" in capsys.readouterr().err


def test_no_output_takes_the_place_of_what_is_read(tmp_path, capsys):
    path = tmp_path / "games.wtb"
    path.write_bytes(wthor([[19]]))
    for line in (["games", str(path), "--out"], ["import", str(path)]):
        assert cli.main([*line, str(path)]) == 1
        assert "expected another file than those that are read" in capsys.readouterr().err
    assert path.read_bytes() == wthor([[19]])


@pytest.mark.parametrize(
    "line",
    [
        "match w w --depth 1 --pairs 0",
        "match w w --depth -1",
        "match w w --time 0",
        "match w w --depth 1 --balanced nan",
        "match w w --depth 1 --workers 0",
        "positions g --out p --perturbed -5",
        "positions g --out p --openings 70",
        "positions g --out p --seed -1",
        "label p --out l --weights w --plies 50-52 --depth \u00b2",
        "label p --out l --weights w --plies 50-52 --depth 2 --seconds nan",
        "fit p --out w --name n --ridge inf",
    ],
)
def test_numbers_that_make_no_sense_are_refused(line, capsys):
    assert cli.main(line.split()) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "expected" in told


@pytest.mark.parametrize(("plies", "most"), [(0, 1), (2, 3), (60, 0)])
def test_a_match_with_more_pairs_than_there_are_openings_is_refused(plies, most):
    judges = (Searcher(hash_bits=10), Searcher(hash_bits=10))
    with pytest.raises(store.TrainingError, match=f"{most} openings? of {plies} random moves for 9 pairs"):
        match.openings(9, plies, 1, judges)


def test_a_folder_without_games_and_a_bad_command_line_are_refused(tmp_path, capsys):
    assert cli.main(["games", str(tmp_path), "--out", str(tmp_path / "out.npz")]) == 1
    assert "no game files" in capsys.readouterr().err
    assert cli.main(["label", "x", "--out", "y", "--weights", "w", "--plies", "50-40", "--depth", "4"]) == 2
    assert "50-40" in capsys.readouterr().err
    assert cli.main(["fit", str(tmp_path / "none.npz"), "--out", "x", "--name", "n"]) == 1
    assert "none.npz" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["cut", "changed", "npy", "text", "missing"])
def test_files_that_are_no_archives_are_refused_with_their_name(tmp_path, kind):
    path = tmp_path / "labels.npz"
    store.save(path, {"values": np.arange(1000)}, {}, compress=True)
    whole = path.read_bytes()
    half = len(whole) // 2
    if kind == "npy":
        with path.open("wb") as stream:
            np.save(stream, np.arange(3))
    elif kind == "missing":
        path.unlink()
    else:
        changed = whole[:half] + bytes([whole[half] ^ 255]) + whole[half + 1 :]
        path.write_bytes({"cut": whole[:half], "changed": changed, "text": b"hello"}[kind])
    for read in (store.load, lambda path: positions.read_truth([path])):
        with pytest.raises(store.TrainingError, match=r"labels\.npz"):
            read(path)


def test_a_truth_file_without_scores_is_refused(tmp_path):
    np.savez(tmp_path / "truth.npz", P20=np.zeros(1, np.uint64), O20=np.zeros(1, np.uint64))
    with pytest.raises(store.TrainingError, match=r"truth\.npz.*y20"):
        positions.read_truth([tmp_path / "truth.npz"])


# ------------------------------------------------------------------------------------------------ boards


def test_canonical_boards_are_the_referees():
    players, opponents, cells = sample_boards(60)
    boards.canonize(players, opponents)
    expected = [referee.canonical_bits(board) for board in cells]
    assert list(zip(players.tolist(), opponents.tolist(), strict=True)) == expected


def test_expanding_a_game_gives_its_positions():
    line, score = random_line(8)
    rows = np.full((1, 60), boards.NO_SQUARE, np.uint8)
    rows[0, : len(line)] = line
    lengths, scores = np.zeros(1, np.uint8), np.zeros(1, np.int8)
    finished = np.zeros(1, np.bool_)
    boards.replay(rows, lengths, scores, finished)
    own, other = np.zeros(130, np.uint64), np.zeros(130, np.uint64)
    number, turns = np.zeros(130, np.int32), np.zeros(130, np.int8)
    count = boards.expand(rows, lengths, 0, 60, own, other, number, turns)
    found = set(zip(own[:count].tolist(), other[:count].tolist(), turns[:count].tolist(), strict=True))
    cells, mover = referee.start(), 1
    for square in line:
        assert (*referee.to_bits(cells), mover) in found
        if not referee.legal_moves(cells):
            cells, mover = referee.passed(cells), -mover
            assert (*referee.to_bits(cells), mover) in found
        cells, mover = referee.play(cells, square), -mover
    assert int(scores[0]) == score


def test_wandering_plays_legal_moves_that_depend_on_the_seed_alone():
    def walk(seed, part):
        own = np.full(40, boards.START_PLAYER, np.uint64)
        other = np.full(40, boards.START_OPPONENT, np.uint64)
        alive = np.empty(40, np.bool_)
        boards.wander(own[part], other[part], np.full(40, 1, np.uint8)[part], seed, alive[part])
        return own[part].tolist()

    first = {referee.to_bits(referee.play(referee.start(), square))[0] for square in (19, 26, 37, 44)}
    assert set(walk(1, slice(0, 40))) == first
    assert walk(1, slice(0, 40))[:10] == walk(1, slice(0, 10))
    assert walk(1, slice(0, 40)) != walk(2, slice(0, 40))


def test_all_openings_are_found_once():
    found = positions.openings(4)
    assert [len(part["players"]) for part in found] == [1, 1, 3, 14, 60]


# ------------------------------------------------------------------------------------------------ positions


def made_games(tmp_path, count=300):
    path = tmp_path / "games.npz"
    (tmp_path / "made.wtb").write_bytes(wthor([random_line(seed)[0] for seed in range(count)]))
    files.run([tmp_path / "made.wtb"], path)
    return path


def test_positions_hold_no_truth_and_no_board_twice(tmp_path):
    source, _ = store.load(made_games(tmp_path))
    visits = positions.visit(source)
    part = visits.ply(44)
    truth = [
        positions.Truth("human", 16, visits.players[part][:5], visits.opponents[part][:5], np.zeros(5, np.float32))
    ]
    rows = positions.gather(source, count=50, opening_plies=6, seed=1, truth=truth)
    names = positions.keys(rows["players"], rows["opponents"])
    assert len(np.unique(names)) == len(names)
    assert not np.isin(positions.canonical_keys(truth[0].players, truth[0].opponents), names).any()
    assert (boards.plies(rows["players"], rows["opponents"]) == rows["plies"]).all()
    assert (np.diff(rows["plies"].astype(int)) >= 0).all()
    assert set(np.unique(rows["kinds"])) == {positions.HUMAN, positions.PERTURBED, positions.OPENING}
    held = positions.hold_out(visits, len(source["lengths"]), truth)
    assert held[visits.games[part][:5]].all()
    again = positions.gather(source, count=50, opening_plies=6, seed=1, truth=truth)
    assert store.digest(*rows.values()) == store.digest(*again.values())


def test_more_positions_are_others_and_of_the_same_held_out_games(tmp_path):
    made, out, more = made_games(tmp_path), tmp_path / "some.npz", tmp_path / "more.npz"
    arguments = {"openings": -1, "truth": []}
    positions.run(made, out, perturbed=50, seed=1, **arguments)
    positions.run(made, more, perturbed=200, seed=2, except_=[out], **arguments)
    (first, about), (second, record) = store.load(out), store.load(more)
    assert record["except"] == [about["digest"]]
    names = [positions.keys(rows["players"], rows["opponents"]) for rows in (first, second)]
    assert len(names[1]) > 2000
    assert not np.isin(names[1], names[0]).any()
    everything, _ = store.load(made)
    held = positions.hold_out(positions.visit(everything), len(everything["lengths"]), [])
    whole = positions.gather(everything, count=200, opening_plies=-1, seed=2, truth=[])
    assert held.any()
    kept = ~np.isin(positions.keys(whole["players"], whole["opponents"]), names[0])
    assert store.digest(*(array[kept] for array in whole.values())) == store.digest(*second.values())


def test_results_of_training_positions_leave_held_out_games_out():
    players = np.array([1, 1, 1, 2, 2], np.uint64)
    opponents = np.zeros(5, np.uint64)
    held = np.array([False, False, True, True, True])
    results = np.array([4.0, 8.0, 60.0, 10.0, np.nan], np.float32)
    rows = positions._rows(players, opponents, held, results, 0, positions.HUMAN)
    found = {
        int(player): (bool(out), float(mean), int(count))
        for player, out, mean, count in zip(rows["players"], rows["held"], rows["results"], rows["counts"], strict=True)
    }
    assert found == {1: (False, 6.0, 2), 2: (True, 10.0, 1)}


# ------------------------------------------------------------------------------------------------ features and fit


def test_features_see_no_difference_between_symmetric_boards():
    weights = np.random.default_rng(1).normal(size=PACKED_SIZE).astype(np.float32)
    _, _, cells = sample_boards(6)
    for board in cells:
        images = [referee.to_bits(image) for image in referee.symmetries(board)]
        own = np.array([image[0] for image in images], np.uint64)
        other = np.array([image[1] for image in images], np.uint64)
        values = features.predict(features.index(own, other), weights)
        assert np.ptp(values) < 1e-4


def test_the_normal_product_and_its_diagonal_agree_with_the_matrix():
    players, opponents, _ = sample_boards(30, seed=2)
    indices = features.index(players, opponents)
    matrix = np.zeros((30, PACKED_SIZE))
    for row, numbers in enumerate(indices):
        np.add.at(matrix[row], features.OFFSETS + numbers, 1)
        matrix[row, CONSTANT] += 1
    strengths = np.linspace(0.5, 2, 30).astype(np.float32)
    direction = np.random.default_rng(2).normal(size=PACKED_SIZE).astype(np.float32)
    expected = matrix.T @ (strengths * (matrix @ direction))
    assert np.allclose(features.normal(indices, strengths, direction, 3), expected, rtol=1e-3, atol=1e-3)
    diagonal = features.diagonal(indices, strengths, PACKED_SIZE, 2)
    assert np.allclose(diagonal, (matrix**2 * strengths[:, None]).sum(axis=0), atol=1e-3)
    assert np.allclose(features.predict(indices, direction), matrix @ direction, atol=1e-3)


def test_fitting_recovers_labels_that_weights_can_give_and_repeats_itself():
    players, opponents, _ = sample_boards(200, seed=3)
    hidden = np.random.default_rng(3).normal(size=PACKED_SIZE).astype(np.float32)
    indices = features.index(players, opponents)
    aim = features.predict(indices, hidden)
    rows = ridge.Rows(players, opponents, aim, np.ones(200, np.float32))
    options = ridge.RidgeOptions(ridge=0.01, tie=1.0, sweeps=1, iterations=10, tolerance=1e-4, threads=2)
    found = ridge.fit(lambda _: rows, options, first=20, last=21)
    assert np.abs(features.predict(indices, found[20]) - aim).max() < 0.5
    assert not found[22:].any()
    assert np.array_equal(found, ridge.fit(lambda _: rows, options, first=20, last=21))
    assert found[20, EDAX_SIZE:].any()


def test_fitting_edax_patterns_leaves_the_wide_ones_alone():
    players, opponents, _ = sample_boards(200, seed=3)
    hidden = np.random.default_rng(3).normal(size=PACKED_SIZE).astype(np.float32)
    hidden[EDAX_SIZE:] = 0
    indices = features.index(players, opponents, instances=EDAX_INSTANCES)
    aim = features.predict(indices, hidden)
    rows = ridge.Rows(players, opponents, aim, np.ones(200, np.float32))
    options = ridge.RidgeOptions(ridge=0.01, tie=1.0, iterations=25, tolerance=1e-4, wide=False)
    found = ridge.fit(lambda _: rows, options, first=20, last=20)[20]
    assert not found[EDAX_SIZE:].any()
    assert np.abs(features.predict(features.index(players, opponents), found) - aim).max() < 0.5


def test_packing_weights_rounds_and_clips():
    weights = np.zeros((PLIES, PACKED_SIZE), np.float32)
    weights[3, :3] = (1.5, -0.004, 9999)
    back = ridge.unpack(ridge.pack(weights))
    assert back[3, :3].tolist() == [1.5, -1 / 128, 250.0]


# ------------------------------------------------------------------------------------------------ labels


def late_positions(tmp_path):
    source, record = store.load(made_games(tmp_path, 60))
    rows = positions.gather(source, count=20, opening_plies=2, seed=1, truth=[])
    path = tmp_path / "positions.npz"
    store.save(path, rows, {"digest": store.digest(rows["players"], rows["opponents"]), "games": record})
    return path, rows


def label(path, out, **changed):
    settings = {
        "score": labels.score_here(SHIPPED, 2, labels.HASH_BITS),
        "first": 54,
        "last": 58,
        "count": 20,
        "depth": dataset.EXACT,
        "selectivity": Selectivity.FULL,
        "seed": 1,
        "skip": [],
        "command": "test",
    }
    labels.run(path, out, **{**settings, **changed})
    return store.load(out)


def test_exact_labels_are_the_referees_scores(tmp_path):
    path, rows = late_positions(tmp_path)
    found, record = label(path, tmp_path / "labels.npz")
    assert record["complete"]
    assert len(found["rows"]) == 100
    for row, value in zip(found["rows"].tolist(), found["values"].tolist(), strict=True):
        cells = referee.from_bits(int(rows["players"][row]), int(rows["opponents"][row]))
        assert referee.solve(cells) == value


def test_labelling_goes_on_where_it_ended_and_refuses_another_kind(tmp_path):
    path, _ = late_positions(tmp_path)
    out = tmp_path / "labels.npz"
    short, _ = label(path, out, count=5)
    short["values"][:] = 1
    store.save(out, short, store.load(out)[1])
    found, _ = label(path, out)
    kept = np.isin(found["rows"], short["rows"])
    assert kept.sum() == len(short["rows"])
    assert (found["values"][kept] == 1).all()
    with pytest.raises(store.TrainingError, match="another kind"):
        label(path, out, depth=2)


def test_labels_of_other_positions_are_refused(tmp_path):
    path, _ = late_positions(tmp_path)
    out = tmp_path / "labels.npz"
    found, record = label(path, out)
    store.save(out, found, {**record, "positions": "0" * 16})
    with pytest.raises(store.TrainingError, match="labels of positions"):
        dataset.Datasets([path], [out], dataset.Mixture())


def test_an_exact_label_is_never_replaced_and_silences_results(tmp_path):
    path, rows = late_positions(tmp_path)
    data = dataset.Dataset(*store.load(path), dataset.Mixture())
    row = int(np.flatnonzero((rows["plies"] == 55) & ~np.isnan(rows["results"]) & ~rows["held"])[0])
    data.add(np.array([row]), np.array([24], np.int8), np.array([dataset.EXACT], np.uint8))
    data.add(np.array([row]), np.array([-10], np.int8), np.array([4], np.uint8))
    part = data.rows(55)
    place = np.flatnonzero(part.players == rows["players"][row])
    assert part.labels[place].tolist() == [24.0]
    assert part.strengths[place].tolist() == [1.0]


def test_games_get_the_exact_score_of_their_first_solved_position(tmp_path):
    path, _ = late_positions(tmp_path)
    label(path, tmp_path / "labels.npz", first=52, last=52, count=10**6)
    out = tmp_path / "settled.npz"
    labels.adjudicate(tmp_path / "games.npz", path, [tmp_path / "labels.npz"], out)
    settled, _ = store.load(out)
    visits = positions.visit(settled)
    part = visits.ply(52)
    for own, other, result in zip(
        visits.players[part][:15], visits.opponents[part][:15], visits.results[part][:15], strict=True
    ):
        assert referee.solve(referee.from_bits(int(own), int(other))) == result


def test_odd_and_even_depths_are_brought_to_one_mean_in_each_kind(monkeypatch):
    monkeypatch.setattr(dataset, "BALANCED", 2)
    boards_of = np.arange(1, 9, dtype=np.uint64)
    arrays = {
        "players": boards_of,
        "opponents": np.zeros(8, np.uint64),
        "plies": np.full(8, 40, np.uint8),
        "kinds": np.array([0, 0, 0, 0, 0, 1, 1, 1], np.uint8),
        "held": np.zeros(8, np.bool_),
        "results": np.full(8, np.nan, np.float32),
        "counts": np.zeros(8, np.uint32),
    }
    data = dataset.Dataset(arrays, {}, dataset.Mixture())
    values = np.array([10, 14, 2, 6, 60, 8, 8, -8], np.int8)
    depths = np.array([5, 5, 6, 6, dataset.EXACT, 5, 5, 6], np.uint8)
    data.add(np.arange(8), values, depths)
    assert data.rows(40).labels.tolist() == [6, 10, 6, 10, 60, 8, 8, -8]


def test_validate_searches_openings_and_held_out_positions(tmp_path, monkeypatch, capsys):
    path, rows = late_positions(tmp_path)
    monkeypatch.setattr(validate, "MAIN_LINES", ("", "f5"))
    monkeypatch.setattr(validate, "LEVEL", 2)
    monkeypatch.setattr(validate, "DEEP_PLY", 55)
    wanted = int(((rows["plies"] == 55) & (rows["kinds"] == positions.HUMAN) & rows["held"]).sum())
    line = ["validate", str(SHIPPED), "--positions", str(path), "--level", "21"]
    assert cli.main(line) == 0
    told = capsys.readouterr().out
    assert "openings at level 2: start " in told
    assert f"{min(wanted, 24)} held-out positions at 5 empties: MAE 0.00, bias +0.00" in told


# ------------------------------------------------------------------------------------------------ matches


def test_one_pair_has_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(match, "write_line", told.append)
    for pairs, text in (([(2, 0)], ": 75.0 % (+1 =1 -0), +1.00 discs"), ([(2, 0)] * 2, ": 75.0 +- 0.0 % (+2 =2 -0)")):
        monkeypatch.setattr(match, "compete", lambda *_, pairs=pairs: match.outcome(pairs))
        match.run(SHIPPED, SHIPPED, match.PairsPlan(len(pairs), match.Limits(2)))
        assert text in told[-1]


def test_a_match_of_weights_with_themselves_is_even(tmp_path):
    found = match.compete(SHIPPED, SHIPPED, match.PairsPlan(3, match.Limits(2), seed=5, workers=2))
    assert found.pairs == 3
    assert found.discs == 0
    assert found.share == 0.5


@pytest.mark.compiled
def test_balanced_openings_are_even_by_search(monkeypatch):
    monkeypatch.setattr(match, "BALANCED_BY", match.Limits(5, Selectivity(73)))
    judges = tuple(Searcher(hash_bits=16, weights=Weights.load(SHIPPED)) for _ in range(2))

    def score(player, opponent):
        judges[0].clear()
        found = [judges[0].search(player, opponent, match.Limits(depth, Selectivity(73))) for depth in (5, 4)]
        return sum(result.lines[0].score for result in found) / 2

    some = match.openings(40, 8, 5, judges)
    balanced = match.openings(40, 8, 5, judges, balanced=2)
    assert len(set(balanced)) == 40
    # Tables that are not cleared may change a selective score by a disc.
    assert max(abs(score(*board)) for board in balanced) <= 4
    assert sum(abs(score(*board)) > 4 for board in some) > 10


def test_export_and_import_keep_every_weight(tmp_path, capsys):
    # Few that are not 0, so that they are soon packed.
    weights = np.zeros((PLIES, PACKED_SIZE), "<i2")
    weights[:, :EDAX_SIZE:97] = np.random.default_rng(4).integers(-99, 99, weights[:, :EDAX_SIZE:97].shape)
    noise = weights.tobytes()
    write_shipped(tmp_path / "a.xz", noise, {"name": "noise"})
    assert cli.main(["export", str(tmp_path / "a.xz"), str(tmp_path / "eval.dat")]) == 0
    assert cli.main(["import", str(tmp_path / "eval.dat"), str(tmp_path / "b.xz"), "--name", "back"]) == 0
    found, record = read_packed(tmp_path / "b.xz")
    assert found == noise
    assert record["name"] == "back"
    assert record["imported"]["version"] == "3.2.5"
    weights[7, -1] = 1
    write_shipped(tmp_path / "wide.xz", weights.tobytes(), {"name": "wide"})
    assert cli.main(["export", str(tmp_path / "wide.xz"), str(tmp_path / "wide.dat")]) == 1
    assert "fit --patterns edax" in capsys.readouterr().err
    assert not (tmp_path / "wide.dat").exists()


def test_a_few_moves_make_positions_of_the_plies_that_they_reach(tmp_path):
    (tmp_path / "games.txt").write_text("f5d6c3d3c4f4c5b3c2e6\n")
    games, out = tmp_path / "games.npz", tmp_path / "positions.npz"
    assert cli.main(["games", str(tmp_path / "games.txt"), "--out", str(games)]) == 0
    assert cli.main(["positions", str(games), "--out", str(out), "--openings", "-1", "--perturbed", "5"]) == 0
    kinds, plies = (store.load(out)[0][name] for name in ("kinds", "plies"))
    assert set(plies[kinds == positions.HUMAN].tolist()) == set(range(11))
    assert max(plies.tolist()) <= 13
