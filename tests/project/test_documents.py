"""README and docs/: every session shown is carried out and true, links lead somewhere, tables are whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from checkout import ROOT
from documents import DOCUMENTS, KINDS, SESSION, blocks, carry_out, difference, essence, steps, tables

ACTIVE = [path for path in DOCUMENTS if any(block.kind in ("console", "python") for block in blocks(path))]
SLOW = [path for path in ACTIVE if any(block.slow for block in blocks(path))]


def name(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("document", ACTIVE, ids=name)
def test_the_examples_of_a_document_are_true(document: Path, tmp_path: Path) -> None:
    carry_out(document, tmp_path, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("document", SLOW, ids=name)
def test_slow_examples_of_documents_are_true(document: Path, tmp_path: Path) -> None:
    carry_out(document, tmp_path, slow=True)


def test_progress_of_a_slow_machine_is_not_compared() -> None:
    meanwhile = [
        "Book new...running",
        "Book new...compile: 0 positions",
        "Book fix...negamax 3/7 done, 0:02 left: 1 position",
        "Book deviate...round 3, search 12/57 done, 0:11 left, 25% of the budget: 183 positions, 100 added, "
        "92 searches, 4.1/s, 1 worker, 4 slots, 97% busy",
    ]
    ends = [
        "Book store...finished: 5 positions added, 5 searches, book now has 6 positions",
        "Book verify...no errors: 74 positions, 0 still to be searched",
        "Book deviate 3 6...its budget is spent (repeat it to continue): 2 positions added",
    ]
    assert essence("\n".join([*meanwhile, *ends]), typed=False) == ends


def test_an_example_of_an_older_version_is_true() -> None:
    """A release changes no example."""
    assert essence("Elo of desdaemon 9.8.7: 0", typed=False) == essence("Elo of desdaemon 0.1.2: 0", typed=False)


def test_a_game_is_analysed_on_another_machine_in_fewer_than_ten_commands() -> None:
    console = [block for block in blocks(ROOT / "docs" / "remote-analysis.md") if block.kind == "console"]
    commands = [step.command for block in console for step in steps(block) if "shell" not in step.command]
    assert any(" analyze " in command for command in commands[:9])


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_session_is_one_that_is_carried_out(document: Path) -> None:
    """Nothing that looks like a session stands in a block that no test reads."""
    for block in blocks(document):
        assert block.kind in KINDS, f"{document.name}:{block.line}: {block.kind!r} is not one of {' '.join(KINDS)}"
        session = SESSION.search(block.text) if block.kind not in ("console", "python", "sh") else None
        assert session is None, f"{document.name}:{block.line}: a session in a block of kind {block.kind}"
    text = re.sub(r"^( *)```.*?^\1```$", "", document.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    indented = [line for line in text.splitlines() if line.startswith("    ") and SESSION.match(line)]
    assert not indented, f"{document.name}: a session without a fence: {indented[0]!r}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_row_of_a_table_is_whole(document: Path) -> None:
    """Every table has its head and its rule, and as many cells in each row: an empty line in one makes it two."""
    for line, rows in tables(document.read_text("utf-8")):
        cells = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
        ruled = len(rows) > 1 and re.fullmatch(r"[|\s:-]+", rows[1])
        assert ruled, f"{document.name}:{line}: a table without a head"
        assert len(set(cells)) == 1, f"{document.name}:{line}: rows with {sorted(set(cells))} bars"


def test_every_link_leads_somewhere() -> None:
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("book/*.md"), *ROOT.glob("protocol/*.md")]
    for document in documents:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a", "b"], ["a", "c"], False),
        (["a"], ["a", "b"], False),
        (["a", "b"], ["a"], False),
        (["a", "...", "c"], ["a", "b", "b", "c"], True),
        (["a", "..."], ["a", "b"], True),
        (["a", "...", "c"], ["a", "c", "b"], False),
        (["...", "b", "..."], ["a", "b", "c"], True),
        (["a ... c"], ["a bb c"], True),
        (["a... c"], ["a... d"], False),
    ],
)
def test_outputs_are_compared_but_for_times(shown: list[str], printed: list[str], same: bool) -> None:
    assert (difference(shown, printed) == "") == same
