"""Budgets of long book commands: kept, consistent, and with nodes the same book when the command is repeated."""

from __future__ import annotations

import time

import pytest
from book_dialogue import BookDialogue

from desdaemon.core.books.jobs import BookJob
from desdaemon.core.books.running import run_command
from desdaemon.core.books.service import Caller
from desdaemon.dialogue.commands.book import progress_line
from desdaemon.protocol.commands.book import BY_NAME, complete, parse_line, written_line

pytestmark = pytest.mark.needs("book.growth")

COMMANDS = (
    "answer games.txt --level 1 --plies 3",
    "deviate 3 6",
    "enhance 3 3",
    "fill 2",
    "play",
    "extend",
    "deepen 2",
    "fix",
    "learn 8 3 5 3 2",
    "recalculate-leaves 8 129 129 2",
    "schedule steps.txt",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_budget_ends_a_command_and_its_repetition_the_book(
    command: str, dialogue: BookDialogue, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("steps")
    monkeypatch.chdir(folder)
    (folder / "games.txt").write_text("f5d6c3d3\nf5f6e6f4\n")
    (folder / "steps.txt").write_text("learn 8 3 5 3 1\nlearn 8 2 3 2 2\n")

    def begin() -> None:
        dialogue.say("book new 1 8 --discard")
        if command != "play":
            dialogue.say("book deviate 1 2")
        # Some leaves without a search.
        dialogue.say("book level 2")

    begin()
    dialogue.say(f"book {command}")
    dialogue.say("book export whole.txt")
    # Extending takes ten times as many nodes as the others.
    for budget in ("--nodes 3000" if command == "extend" else "--nodes 300", "--positions 5"):
        begin()
        for _ in range(1000):
            answer = dialogue.say(f"book {command} {budget}")
            assert "no errors" in dialogue.say("book verify")
            if "finished: " in answer.splitlines()[-1]:
                break
            assert "its budget is spent (repeat it to continue)" in answer
        if "positions" in budget:
            # It ends inside a round; the scores then known choose the rest.
            continue
        dialogue.say("book export parts.txt")
        assert sorted((folder / "parts.txt").read_text().split("\n")) == sorted(
            (folder / "whole.txt").read_text().split("\n")
        )


def test_a_time_budget_ends_a_command(dialogue: BookDialogue) -> None:
    dialogue.say("book new 1 30")
    assert "its budget is spent" in dialogue.say("book learn 30 64 64 64 6 --time 1")


def test_budgets_are_read_and_written() -> None:
    for name in ("deviate", "enhance", "learn", "deepen", "fill", "recalculate-leaves", "schedule"):
        assert BY_NAME[name].goes_on
    command, values = parse_line("schedule --time 60 my steps.txt --nodes 7")
    assert (values["file"], values["time"], values["nodes"], values["positions"]) == ("my steps.txt", 60, 7, None)
    assert parse_line(written_line(command, values)) == (command, values)


def test_the_line_of_progress_says_what_is_left_of_what() -> None:
    job = BookJob(1, "book.deviate", "me", lambda job: {})
    job.round, job.budget = 3, {"positions": 400}
    job.effort = job.effort._replace(positions=100, searches=92)
    job.report("search", 12, 57, 183)
    job.reported = job.progress._replace(rate=4.1, eta_s=11.0)
    assert progress_line(job) == (
        "Book deviate...round 3, search 12/57 done, 0:11 left, 25% of the budget: "
        "183 positions, 100 added, 92 searches, 4.1/s"
    )
    new = BookJob(1, "book.new", "me", lambda job: {})
    new.report("compile", 0, 0, 0)
    assert progress_line(new) == "Book new...compile: 0 positions"


@pytest.mark.parametrize("most", [1, 2, 7])
@pytest.mark.parametrize(
    "command", ["deviate 2 8", "fill 3", "play", "extend", "learn 9 4 4 4 6", "self-play 40 1 10", "enhance 4 4"]
)
def test_no_more_positions_are_added_than_the_budget_has(dialogue: BookDialogue, command: str, most: int) -> None:
    """What does not fit waits for the next run; the positions that were added are searched."""
    dialogue.say("book new 1 9")
    dialogue.say("play f5d6c3")
    dialogue.say("book store")
    before = len(dialogue.book)
    said = dialogue.say(f"book {command} --positions {most}")
    assert len(dialogue.book) - before <= most
    if "finished" not in said:
        assert "its budget is spent" in said
        assert len(dialogue.book) - before == most
    assert "no errors" in dialogue.say("book verify")
    if "learn" not in command:
        assert "0 still to be searched" in dialogue.say("book verify")
    again = len(dialogue.book)
    dialogue.say(f"book {command} --positions {most}")
    assert len(dialogue.book) - again <= most


@pytest.mark.parametrize("seed", [0, 7])
def test_self_play_gets_on_with_less_than_a_round_at_a_time(dialogue: BookDialogue, seed: int) -> None:
    """What a stopped round has searched is not searched again, with chances of its own too."""
    dialogue.say("book new 1 8")
    dialogue.say(f"book-seed {seed}")
    for _ in range(400):
        said = dialogue.say("book self-play 4 3 4 --nodes 3000")
        # The budget may end after the last game, in the searches of what the games have added.
        if "Games counted: 0;" not in said:
            break
        assert "finished" not in said
        assert "no errors" in dialogue.say("book verify")
    assert "Games counted: 4;" in said
    assert not dialogue.book.memo
    assert not dialogue.book.steps


def test_a_command_of_small_budgets_comes_to_its_end(dialogue: BookDialogue) -> None:
    dialogue.say("book new 1 6")
    for _ in range(60):
        if "finished" in dialogue.say("book deviate 2 4 --positions 3"):
            break
    else:
        raise AssertionError("it never ends")
    assert "finished: 0 positions added" in dialogue.say("book deviate 2 4")


@pytest.mark.parametrize("budget", ["--nodes 100000", "--time 1"])
def test_a_budget_ends_a_search(dialogue: BookDialogue, budget: str) -> None:
    """One search of level 60 would take for ever."""
    dialogue.say("book new 1 20")
    dialogue.say("book level 60")
    begun = time.monotonic()
    said = dialogue.say(f"book deviate 2 4 {budget}")
    assert "its budget is spent" in said
    assert time.monotonic() - begun < 60
    assert "no errors" in dialogue.say("book verify")


def test_a_job_after_a_restart_counts_all_that_it_did(dialogue: BookDialogue) -> None:
    dialogue.say("book new 1 6")
    dialogue.say("book deviate 2 6")
    command, size = BY_NAME["deviate"], len(dialogue.book)
    values = complete(command, {"relative": 4, "absolute": 9})
    data = {"started": 1.5, "first": 1, "effort": (100.0, 50, 700, 0)}
    job = run_command(dialogue.books, command, values, Caller("laptop", dialogue.session.settings), (7, data))
    assert job.wait(600)
    now = len(dialogue.book)
    assert now > size
    assert job.result["added"] == now - 1
    assert job.result["searches"] > 700
    assert job.result["time_s"] > 100
    assert f": {now - 1} positions added, {job.result['searches']} searches" in job.result["text"][-1]
