"""Which connection is read from next: `ReadingOrder` with connections that have messages and a clock of its own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from desdaemon.server.reading_order import Rank, ReadingOrder


class Connection:
    """A peer that has sent ``messages``."""

    def __init__(self, messages: int, *, closed: bool = False, departed: bool = False) -> None:
        self.messages = messages
        self.closed = closed
        self.departed = departed
        self.queued = False


class Loop:
    """Handles messages as the order says; each takes ``message_s``."""

    def __init__(self, message_s: float) -> None:
        self.now = 0.0
        self.message_s = message_s
        self.order: ReadingOrder[Connection] = ReadingOrder(lambda: self.now)

    def round(self) -> list[tuple[Connection, int]]:
        """One round. Returns who was read from, with the number of messages."""
        handled = []
        for connection, quantum, until in self.order.round():
            assert connection.departed or not connection.queued
            assert not connection.closed
            count = 0
            while count < min(quantum, connection.messages) and (count == 0 or self.now < until):
                self.now += self.message_s
                count += 1
            connection.messages -= count
            if connection.departed and not connection.messages:
                connection.closed = True
                self.order.discard(connection)
            handled.append((connection, count))
            if connection.messages:
                self.order.put(connection, Rank.BEHIND)
        return handled


def test_a_question_goes_before_a_flood() -> None:
    loop = Loop(0.0001)
    flood, question = Connection(10_000), Connection(1)
    loop.order.put(flood, Rank.BEHIND)
    loop.round()
    loop.order.put(question, Rank.FRESH)
    assert loop.round()[0] == (question, 1)


def test_floods_take_turns_and_share_a_quantum() -> None:
    loop = Loop(0)
    floods = [Connection(1_000) for _ in range(4)]
    for flood in floods:
        loop.order.put(flood, Rank.BEHIND)
    handled = loop.round()
    assert [connection for connection, _ in handled] == floods
    assert [count for _, count in handled] == [16] * 4
    assert [connection for connection, _ in loop.round()] == floods


def test_a_departed_peer_waits_for_no_flood_and_for_none_that_leaves_later() -> None:
    """However many others there are, and however slow the machine is: here a message takes longer than a round may."""
    loop = Loop(0.01)
    for _ in range(1_000):
        loop.order.put(Connection(10**9), Rank.BEHIND)
    first, second = Connection(300, departed=True), Connection(300, departed=True)
    loop.order.put(first, Rank.BEHIND)
    loop.order.put(second, Rank.BEHIND)
    for number in range(600):
        assert first.closed == (number >= 300)
        handled = loop.round()
        assert handled[-1] == (first if number < 300 else second, 1)
        loop.order.put(Connection(300, departed=True), Rank.BEHIND)
    assert second.closed


def test_a_peer_that_departs_leaves_its_place_among_the_floods() -> None:
    loop = Loop(0.01)
    leaving = Connection(3)
    for connection in (*(Connection(10**9) for _ in range(1_000)), leaving):
        loop.order.put(connection, Rank.BEHIND)
    leaving.departed = True
    loop.order.put(leaving, Rank.BEHIND)
    for _ in range(3):
        assert leaving in dict(loop.round())
    assert leaving.closed


def test_what_was_closed_is_not_put_into_the_order() -> None:
    """Among the departed it would be the first for ever."""
    loop = Loop(0)
    for rank in Rank:
        loop.order.put(Connection(1, closed=True), rank)
        loop.order.put(Connection(1, closed=True, departed=True), rank)
    assert not loop.order


def test_the_departed_come_last() -> None:
    loop = Loop(0)
    departed = Connection(640, departed=True)
    loop.order.put(departed, Rank.FRESH)
    questions = [Connection(1) for _ in range(3)]
    for connection in questions:
        loop.order.put(connection, Rank.BEHIND)
    assert [connection for connection, _ in loop.round()] == questions + 10 * [departed]
    assert not loop.order


CONNECTION = st.tuples(st.integers(1, 200), st.booleans(), st.booleans(), st.sampled_from(Rank))


@given(st.lists(CONNECTION, max_size=40), st.sampled_from([0.0, 0.0001, 0.001, 0.1]))
def test_everything_is_handled_and_no_rank_waits_for_another(
    given_: list[tuple[int, bool, bool, Rank]], message_s: float
) -> None:
    loop = Loop(message_s)
    connections = {Connection(messages, closed=c, departed=d): rank for messages, c, d, rank in given_}
    for connection, rank in connections.items():
        loop.order.put(connection, rank)
        loop.order.put(connection, rank)
    for _ in range(10_000):
        if not loop.order:
            break
        began = loop.now
        waiting = [connection for connection in connections if connection.queued and not connection.closed]
        handled = [connection for connection, _ in loop.round()]
        # Once as what it was and once behind; the departed as long as there is time.
        assert all(handled.count(connection) <= 2 for connection in handled if not connection.departed)
        assert handled or not waiting or message_s
        # Four ranks and the departed, 6.25 ms in all, each with one message that may begin at its last moment.
        assert loop.now - began <= 0.00625 + 5 * message_s + 1e-9
    assert not loop.order
    assert all(connection.messages == 0 for connection in connections if not connection.closed)
