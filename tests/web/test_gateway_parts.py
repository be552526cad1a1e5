"""The parts of the gateway by themselves: cookies, the outbox, games, the list of files, and no tornado."""

from __future__ import annotations

import asyncio
import contextlib
import html
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checkout import IMPORT, ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_tables import cell
from test_xot import LINES, listed

from desdaemon.clients.errors import NoDaemon
from desdaemon.clients.programs.openings import listed_lines
from desdaemon.clients.programs.own_daemon import usual_book
from desdaemon.clients.web import gateway
from desdaemon.clients.web.access import Place, lasting_key
from desdaemon.clients.web.allowed import check, command_forms
from desdaemon.clients.web.games import ANSWERS, write
from desdaemon.clients.web.outbox import Outbox, TooFarBehind
from desdaemon.clients.web.page_files import COLOURS, page_files, page_weight
from desdaemon.clients.web.pasted import parse_pasted
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.formats import BASE_FORMATS
from desdaemon.protocol.othello.diagrams import COLOURS as ALL_COLOURS
from desdaemon.protocol.rows import EDITOR, READER
from desdaemon.protocol.wire.messages import RequestError

STATIC = ROOT / "clients" / "web" / "static"


@pytest.mark.posix
def test_the_key_of_cookies_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    key = lasting_key(folder, 1)
    assert lasting_key(folder, 1) == key
    assert lasting_key(folder, 2) != key
    assert (folder / "web-1.key").stat().st_mode & 0o777 == 0o600
    assert lasting_key(folder, 1, renew=True) != key
    folder.chmod(0o755)
    assert lasting_key(folder, 1) != lasting_key(folder, 1)


def test_a_place_knows_its_address_hosts_and_origins() -> None:
    place = Place("https", ("board.example", "127.0.0.1"), 443)
    assert place.address == "https://board.example/"
    assert place.knows_host("board.example")
    assert place.knows_host("Board.Example:443")
    assert not place.knows_host("board.example:444")
    assert place.knows_origin("https://board.example", "board.example")
    assert not place.knows_origin("http://board.example", "board.example")
    assert not place.knows_origin("", "board.example")


@given(st.lists(st.tuples(st.text("ab", max_size=9), st.one_of(st.none(), st.integers(0, 3)))))
def test_the_outbox_keeps_all_finals_and_the_newest_partials(frames: list[tuple[str, int | None]]) -> None:
    outbox = Outbox()
    for frame, replaces in frames:
        outbox.put(frame, replaces)
    sent = []
    while (frame := outbox.take()) is not None:
        sent.append(frame)
    newest = {replaces: at for at, (_, replaces) in enumerate(frames) if replaces is not None}
    expected = [frame for at, (frame, replaces) in enumerate(frames) if replaces is None or newest[replaces] == at]
    assert sent == expected
    assert outbox.behind == 0


def test_the_outbox_has_an_end() -> None:
    outbox = Outbox(most_behind=10)
    outbox.put("12345678")
    with pytest.raises(TooFarBehind):
        outbox.put("123")
    assert outbox.take() == "12345678"
    outbox.put("123")


@given(st.binary(max_size=300))
def test_anything_may_be_pasted(data: bytes) -> None:
    with contextlib.suppress(BadInput):
        parse_pasted(data, "x", lambda line: None)


def test_of_pasted_games_and_complaints_so_many_are_read() -> None:
    complaints: list[str] = []
    assert len(parse_pasted(b"f5\nx\n" * 9, "x.txt", complaints.append, 5)) == 5
    assert len(complaints) == 4
    assert len(parse_pasted(b"f5\n" + b"x\n" * 9, "x.txt", complaints.append, 5)) == 1
    assert len(complaints) == 9


DROPPED = f"""{IMPORT}
import base64, gzip, random, resource
from desdaemon.clients.web.games import read
from desdaemon.protocol.errors import BadInput
resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))
noise = base64.b16encode(random.Random(1).randbytes(70_000))
for content in (b"f5\\n", b"x\\n", b"["):
    for size in (4_000_000, 5_000_000):
        text = noise + b"\\n" + content * ((size - 140_000) // len(content))
        try:
            found = read({{"name": "x.txt", "data": base64.b64encode(gzip.compress(text)).decode()}})
            print(len(found["games"]), len(found["complaints"]))
        except BadInput as error:
            print(error)
"""


@pytest.mark.posix
def test_a_dropped_file_that_unpacks_to_much_takes_little_memory() -> None:
    """Small files that hold sixty times as much, in an address space of 300 MB."""
    done = subprocess.run(
        [sys.executable, "-c", DROPPED], capture_output=True, text=True, cwd=ROOT, timeout=300, check=False
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 6, done.stderr
    assert lines[0] == "5000 1"
    assert all("more than 4194304 bytes when unpacked" in line for line in lines[1::2])


def test_a_busy_daemon_is_waited_for_longer_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that needs twenty seconds for a newcomer lets a tab in, which is told once more each time."""
    waits: list[float] = []
    told: list[str] = []
    client: Any = object()

    async def connect(patience_s: float) -> Any:
        waits.append(patience_s)
        if patience_s < 20:
            raise NoDaemon("no answer")
        return client

    monkeypatch.setattr(gateway, "_RETRY_S", 0.0)
    made = gateway.Gateway(Place("http", ("127.0.0.1",), 1), b"key", READER, connect)
    assert asyncio.run(asyncio.wait_for(made.reach(told.append), 60)) is client
    assert waits == [2, 4, 8, 16, 32]
    assert told == ["no_daemon"] * 4


def checked(op: str, args: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a page's request; raises `RequestError`."""
    return check({"v": 1, "id": 1, "op": op, "args": args}, READER)[1]


def test_games_are_written_with_notes_and_scores() -> None:
    game = {"moves": "f5d6", "black": "a", "white": "b", "notes": ["why", ""], "scores": [2, None]}
    assert "C[why]" in write({"games": [game], "format": "sgf"})["text"]
    assert "{why}" in write({"games": [game], "format": "pgn"})["text"]
    assert "B[F5/2.00" in write({"games": [game], "format": "ggf"})["text"]
    for wrong in ({"format": "exe", "games": [game]}, {"format": "sgf", "games": []}, {"format": "sgf", "games": [1]}):
        with pytest.raises((BadInput, RequestError)):
            write(checked("web.write", wrong))
    with pytest.raises(BadInput):
        write({"format": "sgf", "games": [{"moves": "f5f5"}]})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
LIKELY = st.sampled_from(
    ["", "f5", "f5d6c3", "2026-01-31", "2026", "20x6", "\u0662\u0660\u0662\u0664", "31-01-2026", "65535", "\ud800"]
)
FIELDS = ("board", "moves", "black", "white", "event", "date", "result", "notes", "scores")
GAME = st.dictionaries(
    st.sampled_from(FIELDS), LIKELY | st.integers(-70, 70) | st.lists(LIKELY | st.none()) | JSON, max_size=4
)
QUEST = st.fixed_dictionaries(
    {"moves": st.lists(st.fixed_dictionaries({"m": LIKELY | JSON}), min_size=1, max_size=3)},
    optional={"players": JSON | st.lists(st.dictionaries(st.just("name"), JSON)), "created": JSON | LIKELY},
)


@settings(max_examples=300, deadline=None)
@given(
    st.fixed_dictionaries({"text": QUEST.map(json.dumps) | JSON}, optional={"name": LIKELY | JSON})
    | st.fixed_dictionaries({"data": JSON | LIKELY})
    | st.fixed_dictionaries({"format": st.sampled_from(BASE_FORMATS), "games": st.lists(GAME, min_size=1, max_size=2)})
    | st.fixed_dictionaries({"format": JSON, "games": JSON}),
)
def test_whatever_a_page_sends_is_answered_or_refused(args: dict[str, Any]) -> None:
    op = "web.write" if "format" in args else "web.read"
    refusal = ""
    try:
        json.dumps(ANSWERS[op](checked(op, args)))
    except (BadInput, RequestError) as error:
        refusal = str(error)
    assert "\n" not in refusal


@pytest.mark.parametrize("format", BASE_FORMATS)
@pytest.mark.parametrize("date", ["x", "20x6-01-01", "2026-01-31 12:00", "2026]PB[x", "31"])
def test_a_date_that_is_none_is_refused(format: str, date: str) -> None:
    with pytest.raises((BadInput, RequestError), match="date"):
        write(
            check({"v": 1, "id": 1, "op": "web.write", "args": {"format": format, "games": [{"date": date}]}}, READER)[
                1
            ]
        )


@pytest.mark.parametrize("format", ["wtb", "edx"])
def test_no_folder_of_the_gateway_is_named(format: str) -> None:
    """An unusual start is more than these formats can say."""
    board = "X" * 30 + "O" * 30 + "---- X"
    games = [{"board": board}, {"moves": "f5", "result": 64, "black": "x" * 40}]
    for game in games:
        try:
            write(checked("web.write", {"format": format, "games": [game]}))
        except BadInput as error:
            told = str(error)
        else:
            told = ""
        assert "desdaemon-web" not in told


@pytest.mark.parametrize(
    "op", ["web.read", "web.write", "web.names", "web.start", "web.follow", "web.commands", "ping"]
)
@pytest.mark.parametrize("version", [True, 1.0, "1", 2])
def test_a_version_that_is_no_number_is_refused(op: str, version: object) -> None:
    with pytest.raises(RequestError):
        check({"v": version, "id": 1, "op": op}, READER)


def test_the_page_gets_a_start_of_xot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = listed(tmp_path, monkeypatch)
    assert ANSWERS["web.start"]({})["moves"] in LINES
    (folder / "openingslarge.txt").unlink()
    assert ANSWERS["web.start"]({})["moves"] in listed_lines()


# The files of the page


def test_no_file_names_an_address_elsewhere_or_makes_markup() -> None:
    for name, file in page_files().items():
        text = file.data.decode()
        addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text)) - {"http://www.w3.org"}
        assert not addresses, name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), (
            name
        )
        assert " style=" not in text, name
        assert not re.search(r"\son\w+=\"", text), name


def test_the_page_has_the_grades_of_the_reports() -> None:
    (content,) = re.findall(r'<meta name="grades" content="([^"]*)">', page_files()["index.html"].data.decode())
    grades = [[10, "blunder"], [4, "mistake"], [2, "inaccuracy"]]
    assert json.loads(html.unescape(content)) == {"grades": grades, "half": 4}


def test_the_page_weighs_less_than_its_limit() -> None:
    assert page_weight()[0] < 200_000


def test_no_line_of_a_script_is_longer_than_120_characters() -> None:
    for path in sorted(STATIC.rglob("*.js")):
        lines = path.read_text("utf-8").splitlines()
        assert [number for number, line in enumerate(lines, 1) if len(line) > 120] == [], path.name


def test_no_pane_names_another_or_the_page() -> None:
    """Panes take what they use, and tell; `main.js` alone knows who hears it."""
    panes = {name: file.data.decode() for name, file in page_files().items() if name.startswith("panes/")}
    classes = {name: re.findall(r"^export class (\w+)", script, re.MULTILINE) for name, script in panes.items()}
    assert len(panes) > 8
    for name, script in panes.items():
        others = [one for other in panes if other != name for one in classes[other]]
        assert re.findall(rf"\b(?:app|App|panes|{'|'.join(others)})\b", script) == [], name
        assert re.findall(r'from "(?!\.\./(?:model|view|engine)/)[^"]*"', script) == [], name


def test_no_field_hides_a_method() -> None:
    for path in sorted(STATIC.rglob("*.js")):
        script = path.read_text("utf-8")
        fields = set(re.findall(r"this\.(\w+) = ", script))
        methods = set(re.findall(r"^  (?:async |get |static )*(\w+)\(", script, re.MULTILINE))
        assert not fields & methods, path.name


def test_scripts_are_served_without_comments_and_each_line_keeps_its_number() -> None:
    for name, file in page_files().items():
        if name == COLOURS or not name.endswith((".js", ".css")):
            continue
        source, served = (STATIC / name).read_text("utf-8").splitlines(), file.data.decode().splitlines()
        assert len(served) == len(source), name
        for number, (line, kept) in enumerate(zip(source, served, strict=True), 1):
            plain, served_plain = (re.sub(r"/\*.*?\*/| ", "", text) for text in (line, kept))
            assert not kept or plain.endswith(served_plain), f"{name}:{number}"
            assert "/*" not in kept, f"{name}:{number}"
            assert not kept.startswith(("//", " ")), f"{name}:{number}"
            # A text over several lines would lose its margins.
            assert kept.count("`") % 2 == 0, f"{name}:{number}"


def test_texts_keep_blanks_at_their_ends() -> None:
    """What is between quotes is served as it is written."""
    text = re.compile(r'"[^"\n]*"')
    for name, file in page_files().items():
        if name.endswith(".js"):
            source = (STATIC / name).read_text("utf-8")
            written = re.sub(r"/\*.*?\*/|^ *//[^\n]*", "", source, flags=re.DOTALL | re.MULTILINE)
            assert text.findall(file.data.decode()) == text.findall(written), name


def test_style_sheets_use_colours_that_there_are() -> None:
    own = set(re.findall(r"--([\w-]+):", page_files()["style.css"].data.decode()))
    used = set(re.findall(r"var\(--([\w-]+)\)", page_files()["style.css"].data.decode()))
    assert used <= own | set(ALL_COLOURS)
    assert not (STATIC / COLOURS).exists()


def test_every_text_of_the_page_is_used() -> None:
    known = re.findall(r"^  (\w+): \[", (STATIC / "view" / "texts.js").read_text("utf-8"), re.MULTILINE)
    assert len(known) > 100
    everything = "".join(file.data.decode() for file in page_files().values())
    used = set(re.findall(r"""["=](\w+)(?=["\s>])""", everything))
    assert [name for name in known if name not in used] == []


def test_the_documentation_has_every_key() -> None:
    shown = {"ArrowLeft": "←", "ArrowRight": "→", "ArrowUp": "↑", "ArrowDown": "↓", "PageUp": "Page Up"}
    shown |= {"PageDown": "Page Down", "Escape": "Esc"}
    script = (STATIC / "view" / "keys.js").read_text("utf-8")
    keys = [key for found in re.findall(r'^  key\("([^"]+)"', script, re.MULTILINE) for key in found.split()]
    assert len(keys) > 20
    table = re.search(r"\| keys \|.*?\n\n", (ROOT / "docs" / "web.md").read_text("utf-8"), re.DOTALL)
    assert table
    for key in keys:
        last = key.removeprefix("Shift+")
        assert re.search(rf"(?<!\w){re.escape(cell(shown.get(last, last)))}(?!\w)", table[0]), key


# Without tornado


def test_without_tornado_it_says_how_to_get_it() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'tests' / 'support')!r}); import checkout\n"
        "sys.modules['tornado'] = None\nfrom desdaemon.cli.main import main\nsys.exit(main(['web']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "pip install tornado" in done.stderr


def test_clients_and_the_version_load_no_tornado() -> None:
    """Nor does the command line of `desdaemon web`, until it has to serve."""
    for line in (
        "import desdaemon.clients",
        "import desdaemon.clients.web.web as web; web.command_line()",
        "from desdaemon.cli.main import main; main(['--version'])",
        "from desdaemon.cli.main import main; main(['web', '--help'])",
    ):
        code = (
            f"import sys; sys.path.insert(0, {str(ROOT / 'tests' / 'support')!r}); import checkout\n"
            f"try: {line}\nexcept SystemExit: pass\n"
            "sys.exit(' '.join(name for name in sys.modules if name.split('.')[0] == 'tornado') or 0)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), line


def test_a_bad_command_line_is_refused() -> None:
    for arguments, told in (
        (["--listen", "x:99999", "--no-browser", "ipc:///nothing"], '"x:99999": expected HOST, HOST:PORT or :PORT'),
        (["--tls-key", "x", "ipc:///nothing"], "--tls-key needs --tls-certificate"),
        (["--book", "x", "ipc:///nothing"], "--book excludes an ENDPOINT"),
        (["--key", "x"], "--key needs an ENDPOINT"),
        (["--book", "x" * 300, "--no-browser"], "it cannot be made"),
    ):
        command = [sys.executable, "-m", "daemon", "web", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert done.returncode in (1, 2), arguments
        assert (done.stdout, done.stderr.count("\n")) == ("", 1), done.stderr
        assert told in done.stderr


def test_the_book_that_ships_is_used_where_the_configuration_names_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert usual_book() == "builtin"
    (tmp_path / "desdaemon").mkdir()
    for content, book in (
        ("level = 8", "builtin"),
        ('[gtp]\nbook-file = "x"', "builtin"),
        ('book-file = "x"', ""),
        ('[serve]\nbook-file = "x"', ""),
        ("nonsense", ""),
    ):
        (tmp_path / "desdaemon" / "config.toml").write_text(content)
        assert usual_book() == book, content


def test_no_help_of_a_book_command_is_marked_up() -> None:
    """The page shows it as it is."""
    forms = command_forms(EDITOR)
    helps = [form["help"] for form in forms] + [one["help"] for form in forms for one in form["parameters"]]
    assert len(helps) > 50
    assert not any("`" in text or "](" in text for text in helps)
