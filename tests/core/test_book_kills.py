"""Kills inside budgets: the same command goes on, and the finished book is the one of runs without kills."""

import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from book_dialogue import BookDialogue
from toys import contents

from desdaemon.book.games import moves_of
from desdaemon.book.storage import snapshot
from desdaemon.book.storage.store import journal_path
from desdaemon.protocol.othello import rules

pytestmark = pytest.mark.needs("book.growth")

COMMANDS = (
    "deviate 2 6 --positions 40",
    "learn 7 3 6 3 1 --positions 40",
    "self-play 24 1 4 --positions 150",
)

BEFORE = ("book-seed 5", "book-tasks 1", "book-randomness 2")

MOST_RUNS = 200


def content(dialogue: BookDialogue, command: str, folder: Path) -> object:
    """The bytes of a copy of the book, identity and time aside. After self-play all that it has but what tells equal
    games apart, which is drawn anew for each.
    """
    book = dialogue.book
    if not command.startswith("self-play"):
        copy = folder / "content"
        dialogue.say(f"book backup {copy}")
        return copy.read_bytes()[snapshot.PAGE :]
    games = sorted(zip(moves_of(book.games), book.games["score"].tolist(), strict=True))
    return [(entry, book.table.results(book.table.find(*entry[:2]))) for entry in contents(book)], games


def opened(path: Path) -> BookDialogue:
    dialogue = BookDialogue()
    dialogue.both(f"book load {path}")
    for line in BEFORE:
        dialogue.say(line)
    return dialogue


def finished(dialogue: BookDialogue, command: str) -> bool:
    """Give the command once; returns whether it has finished."""
    said = dialogue.say(f"book {command}")
    assert "no errors" in dialogue.say("book verify")
    return "finished: " in said


def made(kind: str, folder: Path) -> Path:
    """A new book, or an overlay over one; the file that changes."""
    dialogue = BookDialogue()
    dialogue.say("book new 1 9")
    dialogue.say(f"book save {folder / 'base.book'}")
    if kind == "overlay":
        dialogue.say("book new 1 7")
        dialogue.say(f"book load {folder / 'base.book'} --overlay {folder / 'mine'}")
    dialogue.close()
    return folder / ("mine" if kind == "overlay" else "base.book")


def whole(command: str, path: Path) -> object:
    """What the command makes of a book in as many runs as it takes."""
    for _ in range(MOST_RUNS):
        dialogue = opened(path)
        done = finished(dialogue, command)
        found = content(dialogue, command, path.parent)
        dialogue.close()
        if done:
            return found
    raise AssertionError("it never ends")


SLOW = [pytest.param(command, kind, 10, marks=pytest.mark.slow) for command in COMMANDS for kind in ("book", "overlay")]


@pytest.mark.parametrize(
    ("command", "kind", "kills"),
    [
        (COMMANDS[0], "overlay", 3),
        (COMMANDS[1], "book", 2),
        (COMMANDS[2], "book", 2),
        # The fourth kill leaves a parent whose leaf has become a link.
        (COMMANDS[2], "overlay", 4),
        *SLOW,
    ],
)
def test_a_command_cut_inside_its_budget_goes_on_to_the_same_book(
    command: str, kind: str, kills: int, tmp_path: Path
) -> None:
    """Its journal ends anywhere, as a kill leaves it; another process may have looked at the book since."""
    folders = [tmp_path / name for name in ("whole", "cut")]
    for folder in folders:
        folder.mkdir()
    wanted = whole(command, made(kind, folders[0]))
    path = made(kind, folders[1])
    log = path if kind == "overlay" else journal_path(path)
    rng = random.Random(f"{command} {kind}")
    for kill in range(kills):
        dialogue = opened(path)
        before = log.stat().st_size
        finished(dialogue, command)
        dialogue.books.commit()
        after = log.stat().st_size
        files = {each: each.read_bytes() for each in (path, log)}
        dialogue.close()
        for each, data in files.items():
            each.write_bytes(data)
        with log.open("r+b") as stream:
            stream.truncate(rng.randrange(before, max(after, before + 1)))
        if kill % 2:
            looking = opened(path)
            looking.say("book verify")
            looking.close()
    assert whole(command, path) == wanted


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["book", "overlay"])
@pytest.mark.parametrize("command", COMMANDS)
def test_ten_kills_inside_budgets_leave_the_same_book(command: str, kind: str, tmp_path: Path) -> None:
    """Ten times the program is killed at random moments of the command."""
    folders = [tmp_path / name for name in ("whole", "killed")]
    for folder in folders:
        folder.mkdir()
    command = command.replace("24", "80")
    wanted = whole(command, made(kind, folders[0]))
    path = made(kind, folders[1])
    rng = random.Random(f"{command} {kind}")
    for _ in range(10):
        program = [sys.executable, "-m", "desdaemon", "--config", "none", "-q"]
        with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n".join([f"book load {path}", *BEFORE, f"book {command}"]) + "\n")
            process.stdin.flush()
            while "positions" not in (said := process.stdout.readline()):
                assert said, "it ended before the command began"
            time.sleep(rng.uniform(0, 0.5))
            process.kill()
            if "finished: " in process.stdout.read():
                break
    else:
        whole(command, path)
    dialogue = opened(path)
    assert content(dialogue, command, tmp_path) == wanted
    dialogue.close()


def test_a_killed_add_that_is_repeated_makes_the_same_book(tmp_path: Path) -> None:
    """The second game reaches, in another order, the position behind the leaf of the first game's last one: a parent
    that is not on its line.
    """
    path = made("book", tmp_path)
    dialogue = opened(path)
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text("f5d6c3d3\n", encoding="utf-8")
    second.write_text("f5d6c4d3c3\n", encoding="utf-8")
    dialogue.say(f"book add {first}")
    dialogue.say("play f5d6c3d3")
    parent = dialogue.book.entry(*dialogue.session.game.position[:2])
    assert parent is not None
    dialogue.say("play c4")
    behind = rules.play(parent.player, parent.opponent, parent.leaf_move)
    assert rules.canonical(*behind) == rules.canonical(*dialogue.session.game.position[:2])
    before = journal_path(path).stat().st_size
    dialogue.say(f"book add {second}")
    wanted = contents(dialogue.book)
    dialogue.books.commit()
    base, log = path.read_bytes(), journal_path(path).read_bytes()
    dialogue.close()
    for end in range(before, len(log), 64):
        path.write_bytes(base)
        journal_path(path).write_bytes(log[:end])
        dialogue = opened(path)
        dialogue.say(f"book add {second}")
        assert contents(dialogue.book) == wanted, end
        dialogue.close()


def test_a_step_of_a_schedule_tells_what_it_added_after_a_kill(tmp_path: Path) -> None:
    steps = tmp_path / "steps.txt"
    steps.write_text("learn 6 3 5 3 1\nlearn 7 3 5 3 1\n", encoding="utf-8")
    path = made("book", tmp_path)
    dialogue = opened(path)
    before = journal_path(path).stat().st_size
    dialogue.say(f"book schedule {steps}")
    dialogue.books.commit()
    files = {each: each.read_bytes() for each in (path, journal_path(path))}
    dialogue.close()
    for each, data in files.items():
        each.write_bytes(data[: (before + len(data)) // 2] if each != path else data)
    dialogue = opened(path)
    left = len(dialogue.book)
    assert left > 2
    lines = dialogue.lines(f"book schedule {steps}")
    added = [int(re.findall(r"(\d+) positions? added", line)[0]) for line in lines]
    assert sum(added) == len(dialogue.book) - left > 0
    dialogue.close()
