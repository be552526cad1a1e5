"""A book as pages: what is in their files, which folder is taken, and that the page finds what was written."""

import json
import random
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import referee
from toys import create_store, set_results, small_book, spread

from desdaemon.book.book import Book
from desdaemon.book.site import pages
from desdaemon.book.site.cli import main
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import START, moves_text, parse_move
from desdaemon.protocol.othello.rules import PASS, canonical

NODE = shutil.which("node")


@pytest.fixture(scope="module")
def book() -> Book:
    made = small_book(7)
    spread(made, 3)
    set_results(made, 0, (5.0, 1.5, 2.0))
    return made


def positions(folder: Path) -> dict[str, list[list[object]]]:
    """The data of all positions in the files of a site, each file checked to have its own."""
    found: dict[str, list[list[object]]] = {}
    for path in (folder / "positions").iterdir():
        call = re.fullmatch(r"book\((\d+),(\{.*\})\)\n", path.read_text(encoding="ascii"), re.DOTALL)
        assert call
        assert call[1] == path.stem
        found |= json.loads(call[2].replace(",\n}", "\n}"))
    return found


def test_a_site_has_every_position_with_its_moves(book: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PER_FILE", 8)
    site = pages.write(book, tmp_path / "new" / "site", "a book")
    found = positions(tmp_path / "new" / "site")
    assert len(found) == len(book) == site.positions > 64
    assert site.files == 1 + len([*(tmp_path / "new" / "site" / "positions").iterdir()]) > 8
    for row in range(len(book)):
        entry = book.table.entry(row)
        score, level, human, moves, *results = found[f"{entry.player:016x}{entry.opponent:016x}"]
        assert (score, level, human) == (entry.score, entry.level, 0)
        assert [(parse_move(move), score, bool(linked)) for move, score, linked in moves] == [
            (move.move, move.score, move.linked) for move in book.moves_on(entry.player, entry.opponent)
        ]
        assert results == ([[5, 1.5, 2]] if row == 0 else [])


def test_the_title_is_text_and_nothing_is_loaded_from_elsewhere(book: Book, tmp_path: Path) -> None:
    pages.write(book, tmp_path, '<script>alert("1")</script> & more')
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.count("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; more") == 2
    assert page.count("<script") == 1
    assert "//" not in page.replace("// ", "")


def test_a_title_is_shown_as_it_is_whatever_it_has(book: Book, tmp_path: Path) -> None:
    pages.write(book, tmp_path, "@FILES@ of \udcff\x1b @POSITIONS@ @TITLE@")
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<title>@FILES@ of \\udcff\\x1b @POSITIONS@ @TITLE@</title>" in page
    assert f"<p>{len(book)} positions" in page


def test_a_site_takes_the_place_of_an_earlier_one(book: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(pages, "PER_FILE", 8)
        pages.write(book, tmp_path, "large")
    pages.write(small_book(2), tmp_path, "small")
    assert len(positions(tmp_path)) == len(small_book(2))
    assert [path.name for path in (tmp_path / "positions").iterdir()] == ["0.js"]


def test_a_site_is_written_after_a_killed_run(book: Book, tmp_path: Path) -> None:
    pages.write(book, tmp_path, "a book")
    left = [tmp_path / ".index.html.4194305-1.new", tmp_path / "positions" / ".0.js.4194305-2.new"]
    for path in left:
        path.write_text("half")
    pages.write(book, tmp_path, "a book")
    assert not any(path.exists() for path in left)


def test_a_killed_run_leaves_no_page_of_an_earlier_book(book: Book, tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def kill(name: str, done: int, total: int) -> None:
        raise Killed

    pages.write(small_book(2), tmp_path, "a book")
    with pytest.raises(Killed):
        pages.write(book, tmp_path, "another", kill)
    assert not (tmp_path / "index.html").exists()
    pages.write(book, tmp_path, "another")
    assert len(positions(tmp_path)) == len(book)


@pytest.mark.posix
@pytest.mark.parametrize("there", ["notes.txt", "positions/notes.js", "positions/1/", "link", "positions/0.js", "file"])
def test_a_folder_with_other_files_stays_as_it_is(there: str, book: Book, tmp_path: Path) -> None:
    folder, other = tmp_path / "site", tmp_path / "other"
    other.write_text("other", encoding="utf-8")
    if there == "file":
        folder = other
    elif there == "link":
        folder.mkdir()
        (folder / "positions").symlink_to(tmp_path)
    elif there == "positions/0.js":
        (folder / "positions").mkdir(parents=True)
        (folder / there).symlink_to(other)
    elif there.endswith("/"):
        (folder / there).mkdir(parents=True)
    else:
        (folder / there).parent.mkdir(parents=True)
        (folder / there).write_text("mine", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BadInput, match=r"no part of a site|not a folder"):
        pages.write(book, folder, "a book")
    assert sorted(tmp_path.rglob("*")) == before
    assert other.read_text(encoding="utf-8") == "other"


def test_the_command_writes_a_book_with_its_journal(
    book: Book, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "my.book"
    with create_store(path, small_book(2)) as store:
        for row in range(len(book)):
            store.book.put(book.table.entry(row))
        store.commit()
        assert main([str(tmp_path / "site"), "--book", str(path)]) == 0
    assert f"{len(book)} positions in 2 files" in capsys.readouterr().out
    assert "<title>my.book</title>" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert main([str(tmp_path / "site"), "--book", str(tmp_path / "none.book")]) == 1
    assert "none.book" in capsys.readouterr().err


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_the_page_finds_a_position_as_the_book_has_it(tmp_path: Path) -> None:
    pages.write(small_book(2), tmp_path, "a book")
    page = (tmp_path / "index.html").read_text(encoding="utf-8").replace("FILES = 1,", "FILES = 1024,")
    script = page.partition('"use strict";')[2].partition("</script>")[0]
    lines, expected = [], []
    for seed in range(40):
        moves, position = referee.random_moves(seed, 60)[: random.Random(seed).randrange(61)], START
        for move in moves:
            # The page puts in the passes that a line leaves out, too.
            position = (position if position.moves else position.after(PASS)).after(move)
        lines.append(moves_text(moves))
        least = canonical(position.player, position.opponent)
        (number,) = pages.numbers(*(np.array([side], np.uint64) for side in least), 1024).tolist()
        expected.append([f"{least[0]:016x}{least[1]:016x}", number])
    made = (
        "const stub = () => ({append() {}, replaceChildren() {}});"
        "const document = {getElementById: stub, createElement: stub, head: stub()};"
        f"const location = {{hash: ''}}, window = {{}};{script}"
        f"const found = {json.dumps(lines)}.map(line => {{ const cells = played(line).position.cells;"
        "const least = [0,1,2,3,4,5,6,7].map(each => key(cells, each)).sort()[0]; return [least, number(least)]; });"
        "console.log(JSON.stringify(found));"
    )
    assert NODE is not None
    done = subprocess.run([NODE, "-"], input=made, capture_output=True, text=True, check=False, timeout=120)
    assert json.loads(done.stdout or json.dumps(done.stderr)) == expected
