"""What a session asks of those it shares the process with."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from fake_engine import FakeSearcher, build_fake
from in_process import session_of
from live import Live

from desdaemon.core.search.loader import Abandoned, EngineConfig, EngineSource, LoadedEngine, TooLate
from desdaemon.core.search.schedule import Purpose
from desdaemon.core.search.scheduler import Lease, Scheduler
from desdaemon.core.search.workers import EnginePool, HelperPool, SearchThreads
from desdaemon.core.settings import SessionSettings
from desdaemon.dialogue.clock import Clock
from desdaemon.dialogue.session import Session
from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Result
from desdaemon.protocol.commands.options import OPTIONS
from desdaemon.protocol.othello.notation import START


class Turnstile(Scheduler):
    """A scheduler that counts, and can be closed."""

    def __init__(self) -> None:
        super().__init__(4)
        self.closed = False
        self.leases: list[tuple[Purpose, Hashable, int]] = []
        self.inside = 0

    @contextmanager
    def turn_of(self, lease: Lease, abandoned: Callable[[], bool] = lambda: False) -> Iterator[None]:
        while self.closed:
            if abandoned():
                raise Abandoned
        self.leases.append((lease.purpose, lease.client, lease.threads))
        self.inside += 1
        yield
        self.inside -= 1


def session(turnstile: Turnstile, **options: str) -> Session:
    made = Session(SessionSettings(), EngineSource(build_fake), scheduler=turnstile)
    for name, value in options.items():
        option = OPTIONS.find(name.replace("_", "-"))
        assert option
        made.set_option(option, value)
    return made


@pytest.mark.parametrize(
    ("tasks", "deterministic", "slots"),
    [("1", "off", 1), ("3", "off", 3), ("200", "off", 4), ("0", "off", 4), ("3", "on", 1), ("0", "on", 1)],
)
def test_a_search_takes_a_slot_for_each_thread_and_gives_them_back(
    tasks: str, deterministic: str, slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("desdaemon.protocol.system.processors.processors", lambda: 6)
    turnstile = Turnstile()
    asking = session(turnstile, n_tasks=tasks, deterministic=deterministic)
    assert asking.config.threads == (1 if deterministic == "on" else min(int(tasks) or 6, 6))
    asking.choose()
    assert turnstile.leases == [(Purpose.INTERACTIVE, asking.name, slots)]
    assert turnstile.inside == 0


@pytest.mark.parametrize(("tasks", "joined"), [("0", True), ("2", True), ("1", False)])
def test_with_helpers_a_search_takes_one_slot_and_idle_threads_join_it(
    tasks: str, joined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where there is one processor no thread would join.
    monkeypatch.setattr("desdaemon.protocol.system.processors.processors", lambda: 3)
    turnstile = Turnstile()
    scheduler = Scheduler(3)
    asking = session(turnstile, n_tasks=tasks)
    asking.helpers = HelperPool(SearchThreads(scheduler, EnginePool(build_fake, 3, 10)))
    assert (asking.config.threads, asking.config.guests) == (1, 2)
    searcher = asking.engine().searcher
    assert isinstance(searcher, FakeSearcher)
    searcher.team = object()  # type: ignore[attr-defined]
    asking.choose()
    assert turnstile.leases == [(Purpose.INTERACTIVE, asking.name, 1)]
    assert (searcher.calls[0][3]["welcome"] is not None) is joined


def test_moves_that_need_no_search_take_no_slot() -> None:
    turnstile = Turnstile()
    asking = session(turnstile)
    asking.force([37])
    assert asking.choose()[1] is None
    assert turnstile.leases == []


def test_a_clock_does_not_wait_for_a_slot() -> None:
    turnstile = Turnstile()
    turnstile.closed = True
    asking = session(turnstile, move_time="0.1")
    move, result = asking.choose()
    assert result is None
    assert asking.game.position.moves >> move & 1
    with pytest.raises(TooLate):
        asking.search(asking.game.position, asking.limits(asking.game.position), patient=False)


class Slow(EngineSource):
    """An engine that is never there in time; ``waits`` says how often each who waited for it asked whether to go on."""

    def __init__(self) -> None:
        super().__init__(build_fake)
        self.waits: list[int] = []

    def get(self, config: EngineConfig, abandoned: Callable[[], bool] = lambda: False) -> LoadedEngine:
        asked = 0
        while not abandoned():
            asked += 1
            time.sleep(0.001)
        self.waits.append(asked)
        raise Abandoned


def test_only_slow_games_wait_for_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    # A clock that goes on by a millisecond each time it is read.
    ticks = itertools.count()
    monkeypatch.setattr("desdaemon.dialogue.session.time", SimpleNamespace(perf_counter=lambda: next(ticks) / 1000))
    engines = Slow()
    asking = Session(SessionSettings(), engines)
    for main, increment in ((1_000, 50), (10_000, 1_000)):
        asking.clocks[True] = Clock(main, increment=increment)
        assert asking.choose()[1] is None
    asking.clocks.clear()
    asking.settings.move_time = 500
    assert asking.choose()[1] is None
    fast, slow, fixed = engines.waits
    assert fast < slow
    assert fast < fixed


class Opening:
    """Books whose file is never open in time; ``waits`` is how often somebody asked whether to go on."""

    opening = True
    waits = 0

    def ready(self, abandoned: Callable[[], bool]) -> None:
        while not abandoned():
            self.waits += 1
            time.sleep(0.001)
        raise Abandoned

    def look_up(self, player: int, opponent: int) -> None:
        return None


@pytest.mark.parametrize(
    "ask", [lambda session: session.choose()[0], lambda session: session.suggest(START, Limits(4, 100, time_ms=50))]
)
def test_a_book_that_is_being_opened_is_waited_for_no_longer_than_the_move_may_take(
    ask: Callable[[Session], int],
) -> None:
    asking = session_of(FakeSearcher())
    asking.books = books = Opening()  # type: ignore[assignment]
    asking.settings.move_time = 50
    assert START.moves >> ask(asking) & 1
    assert books.waits
    asking.settings.move_time, asking.settings.game_time, books.waits = 0, 5_000, 0
    asking.choose()
    assert not books.waits, "in a fast game the book is not waited for"


def test_the_book_and_the_engine_share_the_time_of_a_move() -> None:
    searcher = FakeSearcher()
    asking = session_of(searcher)
    asking.books = Opening()  # type: ignore[assignment]
    asking.settings.move_time = 200
    asking.choose()
    assert searcher.calls[0][2].time_ms < 100


class Checked:
    """A book with E6 and D3, of which it plays E6."""

    opening = False

    def look_up(self, player: int, opponent: int) -> object:
        return SimpleNamespace(links=(), leaf=None)

    def choose(self, player: int, opponent: int, settings: SessionSettings) -> object:
        return SimpleNamespace(move=37, score=0)


def test_without_an_engine_in_time_book_check_plays_the_move_of_the_book() -> None:
    for engines in (Slow(), EngineSource(build_fake)):
        turnstile = Turnstile()
        turnstile.closed = True
        asking = Session(SessionSettings(), engines, books=Checked(), scheduler=turnstile)  # type: ignore[arg-type]
        asking.settings.book_check = True
        asking.settings.move_time = 50
        assert asking.choose() == (37, None)
        assert asking.suggest(START, Limits(4, 100, time_ms=50)) == 37


def test_the_opponents_time_is_used_for_the_reply_that_is_expected() -> None:
    searcher = FakeSearcher()
    asking = session_of(searcher)
    asking.settings.level, asking.settings.level_chosen = 4, True
    move, _ = asking.choose()
    asking.play_move(move)
    asking.ponder()
    assert len(searcher.calls) == 1, "nobody asked for it"
    asking.settings.ponder = True
    asking.interrupt.heard(1)
    asking.ponder()
    player, opponent, limits, _ = searcher.calls[-1]
    assert (player, opponent) == asking.game.position[:2]
    assert (limits.depth, limits.time_ms, limits.nodes) == (59, 0, 0)
    asking.game.undo()
    asking.ponder()
    assert len(searcher.calls) == 2, "not what it thought about"


def ponders(protocol: str, lines: bytes, answer: bytes) -> None:
    """After ``answer`` the engine thinks in the opponent's time, which a line or the end of the input ends at once: the
    search that pretends would never end by itself.
    """
    for ending in (b"\n\nquit\n", b""):
        with Live(f"-{protocol}", "-level", "4", "-ponder", "on") as live:
            live.send(lines)
            live.until(answer)
            live.send(ending)
            assert live.end()[1:] == (b"", 0)


def test_a_line_or_the_end_of_the_input_ends_it_at_once() -> None:
    ponders("text", b"mode 1\n", b"plays D3\n")


class _Late(FakeSearcher):
    """Takes a quarter of a second more than it may, by a clock of its own."""

    now = 0.0

    def search(self, player: int, opponent: int, limits: Limits, **options: Any) -> Result:
        self.now += limits.time_ms / 1000 + 0.25
        return super().search(player, opponent, limits, **options)

    def perf_counter(self) -> float:
        return self.now


def test_how_late_moves_come_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = _Late()
    session = session_of(searcher)
    session.settings.game_time = 10_000
    session.engine()
    first = session.limits(START).time_ms
    monkeypatch.setattr("desdaemon.dialogue.session.time", searcher)
    session.choose()
    assert session.overhead.worst == pytest.approx(250)
    assert session.game.black_ms == pytest.approx(first + 250)
    assert session.limits(START).time_ms < first - 200


# Black may play D3, C4, F5, E6 and H8.
CORNER = "---------------------------OX------XO-----------------------XOO- X"


class _Stopped(FakeSearcher):
    """Was told to end before it had finished an iteration."""

    def search(self, player: int, opponent: int, limits: Limits, **options: Any) -> Result:
        result = super().search(player, opponent, limits._replace(depth=1), **options)
        return result._replace(lines=(result.lines[0]._replace(depth=0),), complete=False)


def test_a_search_that_found_nothing_out_is_no_reason_for_a_move() -> None:
    """A corner is taken without any search, though other squares come before it."""
    session = session_of(_Stopped())
    session.set_board(CORNER)
    assert session.choose() == (63, None)


def test_exchanged_colours_exchange_the_time_left() -> None:
    played = session(Turnstile())
    played.game.charge(True, 400)
    option = OPTIONS.find("game-time")
    assert option
    played.set_option(option, "10")
    played.game.charge(False, 300)
    left = played.remaining_ms(True), played.remaining_ms(False)
    assert left == (10_000, 9_700)
    played.transform(0, swap_colours=True)
    assert (played.remaining_ms(False), played.remaining_ms(True)) == left
