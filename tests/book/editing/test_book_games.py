"""Games are counted once: after any additions, merges, copies and returns the results are those of the set of games."""

from __future__ import annotations

import hashlib
import random
import struct
from pathlib import Path

import pytest
import referee
from book_dialogue import BookDialogue
from toys import contents, create_store, set_results, small_book, toy

from desdaemon.book.book import Book
from desdaemon.book.editing.add import BookGame, add_games
from desdaemon.book.editing.game_results import take_back
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.formats import registry
from desdaemon.book.record import START
from desdaemon.book.storage.store import open_store

Results = dict[tuple[int, int], tuple[float, float, float]]


def squares(seed: int) -> bytes:
    return bytes(move for move in referee.random_moves(seed, 60) if move < 64)


def some_games(seed: int, number: int) -> list[BookGame]:
    """Games that share beginnings, some with players, some equal but for them."""
    dice = random.Random(seed)
    return [
        BookGame(squares(dice.randrange(6))[: dice.choice((5, 30, 60))], dice.randint(-3, 3), dice.choice(("a", "b")))
        for _ in range(number)
    ]


def recounted(book: Book, games: set[tuple[bytes, int, str]]) -> Results:
    """The results that a set of games gives each position of a book: counted with the referee's rules alone."""
    found = {entry[:2]: [0.0, 0.0, 0.0] for entry in contents(book)}
    for moves, score, _ in games:
        places = [(referee.start(), 1)]
        for move in moves:
            cells, sign = places[-1]
            if not referee.legal_moves(cells):
                cells, sign = referee.passed(cells), -sign
                places.append((cells, sign))
            places.append((referee.play(cells, move), -sign))
        for cells, sign in places:
            key = book.table.canonical(*referee.to_bits(cells))[:2]
            if key in found:
                found[key][1 - (sign * score > 0) + (sign * score < 0)] += 1
    return {key: (won, drawn, lost) for key, (won, drawn, lost) in found.items()}


def results(book: Book) -> Results:
    return {entry[:2]: book.table.results(book.table.find(*entry[:2])) for entry in contents(book)}


def test_a_file_added_twice_counts_once(dialogue: BookDialogue, tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    lines = ["".join(referee.name(move) for move in squares(seed)) for seed in (0, 1, 1)]
    path.write_text("".join(f"{line}\n" for line in lines))
    dialogue.say("book new 1 6")
    # Nothing tells apart the equal games of a file of moves: each is a game.
    assert "3 games counted, 0 known already" in dialogue.say(f"book add {path}")
    once = results(dialogue.book)
    assert sum(once[START]) == 3
    assert "0 games counted, 3 known already" in dialogue.say(f"book add {path}")
    assert results(dialogue.book) == once
    assert "Games counted: 3 of games.txt" in dialogue.say("book info")


@pytest.mark.posix
@pytest.mark.parametrize("kind", ["book", "overlay"])
def test_games_of_a_file_whose_name_is_no_text_are_counted_and_taken_back(
    kind: str, dialogue: BookDialogue, tmp_path: Path
) -> None:
    games = tmp_path / "games"
    games.mkdir()
    (games / "a\udcff.txt").write_text("".join(referee.name(move) for move in squares(0)) + "\n")
    dialogue.say("book new 1 6")
    dialogue.say(f"book save {tmp_path / 'b.book'}")
    if kind == "overlay":
        dialogue.say(f"book load {tmp_path / 'b.book'} --overlay {tmp_path / 'over'}")
    before = results(dialogue.book)
    assert "1 game counted" in dialogue.say(f"book add {games}")
    assert "1 of a\\udcff.txt" in dialogue.say("book info")
    assert "1 game taken back" in dialogue.say("book uncount a\\udcff.txt")
    dialogue.say("book undo")
    dialogue.say("book undo")
    assert results(dialogue.book) == before
    # As a client of the wire may name it.
    assert "1 game counted" in dialogue.say(f"book add {games / 'a'}\udcff.txt")
    assert "is taken back" in dialogue.say("book undo")


@pytest.mark.needs("book.reports")
def test_a_copy_and_its_origin_share_games(dialogue: BookDialogue, tmp_path: Path) -> None:
    origin, copy = tmp_path / "origin.book", tmp_path / "copy.book"
    for name, seeds in (("a", (0, 1)), ("b", (2, 3)), ("c", (4,))):
        lines = ["".join(referee.name(move) for move in squares(seed)) + "\n" for seed in seeds]
        (tmp_path / f"{name}.txt").write_text("".join(lines))
    dialogue.say("book new 1 6")
    dialogue.say(f"book save {origin}")
    dialogue.say(f"book add {tmp_path / 'a.txt'}")
    dialogue.say(f"book backup {copy}")
    dialogue.say(f"book add {tmp_path / 'b.txt'}")
    dialogue.say(f"book load {copy}")
    dialogue.say(f"book add {tmp_path / 'c.txt'}")
    before = results(dialogue.book), contents(dialogue.book)
    assert "2 games counted, 2 known already" in dialogue.say(f"book merge {origin}")
    assert sum(results(dialogue.book)[START]) == 5
    assert "0 games counted, 4 known already" in dialogue.say(f"book merge {origin}")
    merged = results(dialogue.book)
    assert "book merge" in dialogue.say("book undo")
    assert (results(dialogue.book), contents(dialogue.book)) == before
    assert "2 games counted, 2 known already" in dialogue.say(f"book merge {origin}")
    assert results(dialogue.book) == merged
    assert "no games of it are counted" in dialogue.refused("book uncount d.txt")
    assert "2 games taken back" in dialogue.say("book uncount a.txt")
    assert sum(results(dialogue.book)[START]) == 3
    dialogue.reopen(copy)
    assert sum(results(dialogue.book)[START]) == 3
    assert "2 games counted, 0 known already" in dialogue.say(f"book add {tmp_path / 'a.txt'}")
    assert results(dialogue.book) == merged


def test_an_undone_command_takes_its_results_back(dialogue: BookDialogue, tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    path.write_text("".join(referee.name(move) for move in squares(0)))
    dialogue.say("book new 1 6")
    dialogue.say(f"book save {tmp_path / 'b.book'}")
    dialogue.say(f"book add {path}")
    dialogue.say("play " + "".join(referee.name(move) for move in squares(1)))
    dialogue.say("book store")
    assert sum(results(dialogue.book)[START]) == 2
    assert "book store is taken back" in dialogue.say("book undo")
    assert sum(results(dialogue.book)[START]) == 1
    assert "Games counted: 1 of games.txt" in dialogue.say("book info")
    assert "book add" in dialogue.say("book undo")
    assert START not in results(dialogue.book) or sum(results(dialogue.book)[START]) == 0


@pytest.mark.needs("book.growth")
def test_games_that_were_played_count_each(dialogue: BookDialogue, tmp_path: Path) -> None:
    dialogue.say("book new 1 4")
    dialogue.say("book self-play 3 1")
    dialogue.say("book self-play 3 1")
    assert sum(results(dialogue.book)[START]) == 6
    assert "6 games taken back" in dialogue.say("book uncount self-play")
    assert not any(any(counts) for counts in results(dialogue.book).values())


@pytest.mark.needs("book.reports")
@pytest.mark.parametrize("learned", [False, True])
def test_a_book_without_games_is_merged_as_before(learned: bool) -> None:
    from desdaemon.book.reports.compare import merge

    book, old = small_book(), small_book()
    set_results(old, 0, (5.0, 6.0, 7.0))
    add_games(book, some_games(1, 4), Worker(toy), keep_results=True, adjusting=learned)
    before = results(book)[START]
    assert merge(book, old).without_games == 1
    assert results(book)[START] == pytest.approx([ours + more for ours, more in zip(before, (5, 6, 7), strict=True)])
    # What has no games is told from what has, and both are passed on.
    fresh = small_book()
    assert merge(fresh, book).without_games
    assert results(fresh)[START] == pytest.approx(results(book)[START])


def test_what_was_learned_is_taken_back() -> None:
    book = small_book()
    add_games(book, some_games(1, 5), Worker(toy), keep_results=True)
    before = results(book)
    others = [game._replace(source="learned", about="c") for game in some_games(2, 5)]
    add_games(book, others, Worker(toy), keep_results=True, adjusting=True)
    take_back(book, book.games[book.games["source"] == b"learned"])
    after = results(book)
    for key, counts in before.items():
        assert after[key] == pytest.approx(counts)


@pytest.mark.needs("book.reports")
@pytest.mark.parametrize("seed", range(6))
def test_any_sequence_equals_the_recount_of_the_set_of_games(seed: int, tmp_path: Path) -> None:
    from desdaemon.book.reports.compare import merge

    dice = random.Random(seed)
    books = [small_book(dice.choice((5, 7))) for _ in range(2)]
    known: list[dict[tuple[bytes, int, str], str]] = [{}, {}]
    for step in range(12):
        which, other = dice.sample((0, 1), 2)
        done = dice.choice(("add", "add", "merge", "copy", "back"))
        if done == "add":
            # A game has one score, whatever file it is in.
            games = [
                game._replace(score=len(game.moves) % 3 - 1, source=f"f{step}") for game in some_games(seed + step, 3)
            ]
            add_games(books[which], games, Worker(toy), keep_results=True, search=False)
            for game in games:
                known[which].setdefault((game.moves, game.score, game.about), game.source)
        elif done == "merge":
            merge(books[which], books[other])
            for game, source in known[other].items():
                known[which].setdefault(game, source)
        elif done == "copy":
            path = tmp_path / f"{step}.book"
            registry.save(path, books[other])
            with open_store(path) as store:
                store.book.step(1, 1)
            books[which] = registry.load(path).book
            known[which] = dict(known[other])
        elif known[which]:
            source = dice.choice(list(known[which].values()))
            take_back(books[which], books[which].games[books[which].games["source"] == source.encode()])
            known[which] = {game: name for game, name in known[which].items() if name != source}
        assert results(books[which]) == recounted(books[which], set(known[which])), (step, done)


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.egaroucid")
def test_the_file_and_the_journal_hold_the_games_as_the_document_says(tmp_path: Path) -> None:
    path = tmp_path / "b.book"
    game = BookGame(squares(0), 4, "black\nwhite\n\n2026", "a name of a file that is rather too long.txt")
    with create_store(path, small_book()) as store:
        assert struct.unpack_from("<I", path.read_bytes(), 8) == (3,)
        add_games(store.book, [game], Worker(toy), keep_results=True)
        store.commit()
        log = path.with_name("b.book.journal").read_bytes()
        store.save()
    data = path.read_bytes()
    assert struct.unpack_from("<I", data, 8) == (4,)
    at, number = struct.unpack_from("<QQ", data, 152)
    assert number == 1
    assert at + 128 == struct.unpack_from("<Q", data, 72)[0]
    record = data[at : at + 128]
    assert record in log
    start = struct.pack("<QQ", *START)
    assert record[:16] == hashlib.blake2b(start + squares(0) + b"\xffblack\nwhite\n\n2026", digest_size=16).digest()
    assert record[16:32] == start
    assert record[32:94] == squares(0).ljust(62, b"\xff")
    assert record[94:96] == b"\x04\x00"
    assert record[96:] == game.source.encode()[-32:]
    with open_store(path) as store:
        assert store.book.games.tobytes() == record
        store.book.options = store.book.options.at_level(3)
        registry.save(tmp_path / "copy.book", store.book)
        assert "which games were counted (1)" in registry.save(tmp_path / "b.dat", store.book).lost
    assert registry.load(tmp_path / "copy.book").book.games.tobytes() == record
