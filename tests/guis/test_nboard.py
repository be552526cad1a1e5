"""NBoard's protocol: its lines, streams that stop, clocks out of GGF, and the lines of the real program."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import referee
from fake_engine import ENDLESS_DEPTH, FakeSearcher
from gui_fuzzing import NBOARD_LINE
from in_process import InProcess
from live import Live
from transcripts import read

from desdaemon.clients.gamefiles.ggf import parse_ggf
from desdaemon.core.books.service import ScoredMove
from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Line, Result
from desdaemon.guis.nboard import NBoardDialect, _HintStream
from desdaemon.protocol.othello.notation import parse_move
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.selectivity import Selectivity

EMPTY = (
    "(;GM[Othello]PC[NBoard]PB[]PW[]RE[?]TI[5:00]TY[8]BO[8 -------- -------- -------- ---O*--- "
    "---*O--- -------- -------- -------- *];)"
)
START = "---------------------------OX------XO--------------------------- X"


class Talk(InProcess):
    def __init__(self, searcher: FakeSearcher | None = None, **values: object) -> None:
        super().__init__(searcher, **{"level": 4, "level_chosen": True, **values})
        self.nboard = NBoardDialect(self.session, self.output)

    def say(self, line: str) -> list[str]:
        """The lines of the answer, each of them one that NBoard understands."""
        self.nboard.execute(line)
        out = self.written()
        assert out == "" or out.endswith("\n")
        lines = out.split("\n")[:-1]
        for answer in lines:
            assert NBOARD_LINE.fullmatch(answer), answer
        return lines

    def refused(self, line: str) -> str:
        """The one warning about a line, which changed nothing."""
        before = self.state
        (warning,) = self.say(line)
        assert warning.startswith("warning ")
        assert self.state == before
        return warning

    @property
    def state(self) -> object:
        game, clocks = self.session.game, self.session.clocks
        return (
            game.initial,
            game.position,
            list(game.moves),
            {black: (clock.left, clock.increment) for black, clock in clocks.items()},
            self.session.settings.level,
            self.nboard.leaving,
        )


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_the_program_greets_with_its_name(version: str) -> None:
    assert Talk().say(f"nboard {version}") == ["set myname desdaemon"]


@pytest.mark.parametrize("move", ["F5", "f5", "F5//4.798", "F5/1.16/0.2", "F5/1.16", "F5 1.16 0.2", "f5/ -2.34 / 0.2"])
@pytest.mark.parametrize("word", ["move ", ""])
def test_a_move_that_nboard_sends_is_played(word: str, move: str) -> None:
    talk = Talk()
    assert talk.say(word + move) == []
    assert talk.session.game.moves == [parse_move("F5")]


def test_passes_may_be_played_or_left_out() -> None:
    boards = []
    for explicit in (True, False):
        talk = Talk()
        while not talk.session.game.position.must_pass:
            moves = talk.session.game.position.moves
            talk.session.play_move(moves.bit_length() - 1)
        assert talk.say("go")[1].startswith("=== PA/")
        before = talk.state
        hint = talk.say("hint 4")
        assert hint[1].startswith("search PA ")
        assert talk.state == before
        if explicit:
            talk.say("move PA/-0.11/0.03")
            assert talk.session.game.moves[-1] == PASS
        after = talk.session.game.position
        moves = after.moves if explicit else after.after(PASS).moves
        talk.say(f"move {referee.name(moves.bit_length() - 1)}")
        boards.append((talk.board, talk.session.game.moves))
    assert boards[0] == boards[1]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("move A1", "A1"),
        ("A1", "A1"),
        ("move PA", "PA"),
        ("move", '""'),
        ("move F5/x/y", '"F5/x/y"'),
        ("move F5/1/-3", '"F5/1/-3"'),
        ("move F5/1/nan", '"F5/1/nan"'),
        ("hint none", '"none"'),
        ("hint 0", '"0"'),
        ("set depth deep", '"deep"'),
        ("set depth 99", '"99"'),
        ("set contempt much", '"much"'),
        ("set game", '""'),
        ("set game hello", '"hello"'),
        ("set game (;GM[Othello]B[F5]W[A1];)", "A1"),
        ("set game (;GM[Othello]B[F5]B[D6];)", "move 2"),
        ("set game (;GM[Othello]B[Z9];)", '"Z9"'),
        ("set game (;GM[Go]B[F5];)", "Go"),
        ("set game (;BO[10 ---];)", "size 8"),
        ("set game (;BO[8 --- *];)", "3 squares"),
        ("set game (;TI[soon];)", '"soon"'),
        ("hello world", "unknown command"),
        ("set", "unknown command"),
        ("set colour red", "unknown command"),
    ],
)
def test_refusals_change_nothing(line: str, named: str) -> None:
    talk = Talk()
    talk.say("set game (;TI[10:00/5];)")
    assert named in talk.refused(line)


def test_a_game_comes_with_its_history_and_clocks() -> None:
    talk = Talk()
    talk.say(
        "set game (;GM[Othello]PB[a]PW[b]TI[5:00//02:00]BO[8 " + START[:64] + " X]B[F5//4.5]W[D6/1.16/0.25]B[C3//1];)"
    )
    assert len(talk.session.game.moves) == 3
    assert talk.session.clocks[True].left == 294_500
    assert talk.session.clocks[False].left == 299_750
    talk.say("move D3/1/100")
    assert talk.session.clocks[False].left == 199_750
    talk.say("go")
    assert 0 < talk.searcher.calls[-1][2].time_ms < 150_000
    assert talk.session.clocks[True].left == 294_500
    talk.say("hint 1")
    assert talk.searcher.calls[-1][2].time_ms == 0
    talk.say(f"set game {EMPTY}")
    assert talk.session.clocks[True].left == 300_000
    assert talk.board == START


@pytest.mark.parametrize(
    ("text", "main", "increment"),
    [
        ("5:00", 300_000, 0),
        ("15:00//02:00", 900_000, 0),
        ("05:00/0:10/02:00", 300_000, 10_000),
        ("1:02:03", 3_723_000, 0),
        ("1.01:00:00", 90_000_000, 0),
        ("30", 30_000, 0),
        ("", 0, 0),
        ("15:00,N0//02:00,N1", 900_000, 0),
    ],
)
def test_clocks_are_read_from_ggf(text: str, main: float, increment: float) -> None:
    record = parse_ggf(f"(;GM[Othello]TI[{text}];)")
    assert record.black_clock == record.white_clock == (main, increment)
    record = parse_ggf(f"(;GM[Othello]TB[{text}]TW[7];)")
    assert (record.black_clock, record.white_clock) == ((main, increment), (7000, 0))


def test_go_leaves_the_board_alone() -> None:
    talk = Talk()
    before = talk.state
    answers = talk.say("go")
    assert answers[0] == "status desdaemon is thinking"
    assert answers[1].startswith("nodestats 12345 ")
    assert answers[2].startswith("=== D3/10.00/0.")
    assert answers[3] == "status"
    assert talk.state == before


def test_hints_are_a_stream() -> None:
    answers = Talk().say("hint 2")
    assert [answer for answer in answers if answer.startswith("search")] == [
        "search D3 10.00 0 2",
        "search C4 8.00 0 2",
        "search D3 10.00 0 4",
        "search C4 8.00 0 4",
    ]
    assert (answers[0], answers[-1]) == ("status desdaemon is analysing", "status")


def test_depth_is_a_level() -> None:
    talk = Talk()
    for depth in (8, 12, 8):
        talk.say(f"set depth {depth}")
        talk.say("go")
        assert talk.searcher.calls[-1][2].depth == depth


def test_analysis_goes_back_over_every_position() -> None:
    talk = Talk()
    for move in ("F5", "D6", "C3"):
        talk.say(f"move {move}")
    answers = talk.say("analyze")
    assert [answer.split()[1] for answer in answers if answer.startswith("analysis")] == ["3", "2", "1", "0"]
    assert answers[-1] == "status"


class Exact(FakeSearcher):
    """Knows the outcome of every endgame from the referee."""

    def search(self, player: int, opponent: int, limits: Limits, **options: Any) -> Result:
        result = super().search(player, opponent, limits, **options)
        score = referee.solve(referee.from_bits(player, opponent))
        return result._replace(lines=(result.lines[0]._replace(score=score, lower=score, upper=score),))


def test_values_are_seen_from_black() -> None:
    cells = referee.random_position(5, 53)
    player, opponent = referee.to_bits(cells)
    squares = "".join("*" if player >> at & 1 else "O" if opponent >> at & 1 else "-" for at in range(64))
    score = referee.solve(cells)
    values = {}
    for side, discs in (("*", squares), ("O", squares.translate(str.maketrans("*O", "O*")))):
        talk = Talk(Exact())
        talk.say(f"set game (;GM[Othello]BO[8 {discs} {side}];)")
        values[side] = float(talk.say("analyze")[1].split()[2])
    assert values == {"*": score, "O": -score}


def test_learning_says_that_there_is_no_book() -> None:
    assert Talk().say("learn") == ["status there is no book: nothing is learned"]


# Pipes


@pytest.mark.parametrize(
    ("request_", "ending"),
    [(b"hint 4\n", b""), (b"analyze\n", b"stop\n"), (b"hint 4\n", b"set depth 3\n"), (b"hint 4\n", b"move F5//1\n")],
)
def test_lines_that_change_the_game_end_an_endless_hint(request_: bytes, ending: bytes) -> None:
    with Live("-nboard", "-depth", str(ENDLESS_DEPTH)) as live:
        live.send(b"ping 1\n" + request_)
        live.until(b"is analysing\n")
        live.send(ending + b"ping 2\n")
        live.until(b"pong 2\n")
        live.send(b"quit\n")
        out, err, status = live.end()
        assert (out, err, status) == (b"", b"", 0)


def test_only_a_ping_ends_a_go() -> None:
    with Live("-nboard", "-depth", str(ENDLESS_DEPTH)) as live:
        live.send(b"go\nset contempt 0\nset depth 3\n")
        live.until(b"is thinking\n")
        live.send(b"ping 9\n")
        assert live.until(b"pong 9\n").split(b"\n")[-4:-1] == [b"status", b"set myname desdaemon3", b"pong 9"]


def test_a_ping_does_not_wait_for_the_engine() -> None:
    with Live("-nboard", DELAY="30") as live:
        live.send(b"hint 4\n")
        live.until(b"is analysing\n")
        live.send(b"ping 1\n")
        live.until(b"pong 1\n")


# The real program


@pytest.mark.parametrize("name", ["nboard_human_analyze_learn.txt", "nboard_selfplay.txt"])
def test_recorded_dialogues_are_answered_as_recorded(name: str, shared_data: Path) -> None:
    path = shared_data / "transcripts" / name
    if not path.is_file():
        pytest.skip("the recorded dialogue is not here")
    said, _ = read(path)
    assert len(said) > 50
    talk = Talk()
    played = 0
    for line in said:
        before = talk.state
        answers = talk.say(line)
        word = line.split()[0]
        assert not any(answer.startswith("warning") for answer in answers), (line, answers)
        if word == "ping":
            assert answers == [f"pong {line.split()[1]}"]
        elif word == "go":
            move = next(answer for answer in answers if answer.startswith("==="))[4:6]
            legal = referee.legal_moves(referee.from_bits(*talk.session.game.position[:2]))
            assert (referee.square(move) in legal) if legal else move == "PA"
        elif word == "hint":
            assert {answer[7:9] for answer in answers if answer.startswith("search")}
        elif word == "move":
            played += 1
            assert answers == []
        if word in ("ping", "go", "hint", "analyze", "learn"):
            assert talk.state == before
    assert played
    cells = referee.start()
    for move in talk.session.game.moves:
        cells = referee.passed(cells) if move == PASS else referee.play(cells, move)
    assert referee.to_bits(cells) == talk.session.game.position[:2]


def test_a_game_saved_by_nboard_is_read(shared_data: Path) -> None:
    path = shared_data / "transcripts" / "nboard_game.ggf"
    if not path.is_file():
        pytest.skip("the recorded game is not here")
    record = parse_ggf(path.read_text(encoding="utf-8"))
    assert (record.black, record.white, record.black_clock.main) == ("root", "FakeNB12", 300_000)
    assert record.final.over
    assert record.final.black.bit_count() - record.final.white.bit_count() == 10
    assert record.moves[0].ms == 4798


class Shelf:
    """A book that knows two moves of the opening position."""

    book = object()
    opening = False

    def look_up(self, player: int, opponent: int) -> object:
        if (player | opponent).bit_count() == 4:
            moves = [ScoredMove(19, 2), ScoredMove(26, 0)]
            return SimpleNamespace(playable_on=lambda _: moves, level=21, lines=9)
        return SimpleNamespace(level=21, lines=7)

    def line(self, player: int, opponent: int) -> list[int]:
        return []


def test_hints_of_the_book_come_first_and_contempt_is_the_value_of_a_draw() -> None:
    talk = Talk()
    talk.session.books = Shelf()  # type: ignore[assignment]
    talk.say("set contempt 100")
    _, first, second, search, stats, *_ = talk.say("hint 3")
    assert (first, second) == ("book D3 2.00 7 21", "book C4 100.00 7 21")
    assert search.startswith("search F5 ")
    assert stats.startswith("nodestats ")
    talk.say("set contempt -100")
    assert talk.say("hint 2")[1:-1] == ["book D3 2.00 7 21", "book C4 -100.00 7 21"]


def test_remarks_about_a_book_reach_nboard() -> None:
    with Live("-nboard", "-book-file", "/nowhere/book.dat") as live:
        live.send(b"nboard 2\nping 1\n")
        seen = live.until(b"/nowhere/book.dat") + live.until(b"\n")
        live.send(b"ping 2\n")
        seen += live.until(b"pong 2\n")
        live.send(b"quit\n")
        rest, errors, status = live.end()
    assert (rest, errors, status) == (b"", b"", 0)
    assert b"\nwarning " in b"\n" + seen
    assert all(NBOARD_LINE.fullmatch(line) for line in seen.decode().splitlines())


def test_a_hint_that_found_nothing_out_says_nothing() -> None:
    said: list[str] = []
    stream = _HintStream(said.append, 1)
    line = Line(19, 0, -64, 64, 0, Selectivity(73), (19,), 1, 0.0, 60)
    stream.finish(Result((line,), 1, 0.0, False))
    assert [text.split()[0] for text in said] == ["nodestats"]
    stream.finish(Result((line,), 1, 0.0, True))
    assert said[1:] == ["search D3 0.00 0 0@73%"]
