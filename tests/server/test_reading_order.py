"""Which connection is read from next: `ReadingOrder` with connections that have messages and a clock of its own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from desdaemon.server.reading_order import Rank, ReadingOrder


class Connection:
    """A peer that has sent ``messages``."""

    def __init__(self, messages: int, *, closed: bool = False, deserted: bool = False) -> None:
        self.messages = messages
        self.closed = closed
        self.deserted = deserted
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
            assert not connection.queued
            count = 0
            while count < min(quantum, connection.messages) and (count == 0 or self.now < until):
                self.now += self.message_s
                count += 1
            connection.messages -= count
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


def test_what_nobody_hears_is_dealt_with_at_once() -> None:
    loop = Loop(0)
    deserted = Connection(64, deserted=True)
    for connection in (deserted, Connection(1), Connection(1), Connection(1)):
        loop.order.put(connection, Rank.BEHIND)
    assert loop.round()[0] == (deserted, 64)


CONNECTION = st.tuples(st.integers(1, 200), st.booleans(), st.booleans(), st.sampled_from(Rank))


@given(st.lists(CONNECTION, max_size=40), st.sampled_from([0.0, 0.0001, 0.001, 0.1]))
def test_everything_is_handled_and_no_rank_waits_for_another(
    given_: list[tuple[int, bool, bool, Rank]], message_s: float
) -> None:
    loop = Loop(message_s)
    connections = {Connection(messages, closed=c, deserted=d): rank for messages, c, d, rank in given_}
    for connection, rank in connections.items():
        loop.order.put(connection, rank)
        loop.order.put(connection, rank)
    for _ in range(10_000):
        if not loop.order:
            break
        began = loop.now
        waiting = [connection for connection in connections if connection.queued and not connection.closed]
        handled = [connection for connection, _ in loop.round()]
        # Once as what it was and once behind.
        assert all(handled.count(connection) <= 2 for connection in handled)
        assert handled or not waiting or message_s
        # Three ranks of 5 ms in all, each with one message that may begin at its last moment.
        assert loop.now - began <= 0.005 + 3 * message_s + 1e-9
    assert not loop.order
    assert all(connection.messages == 0 for connection in connections if not connection.closed)
