"""Who is connected, who may come back, who is forgotten: `ClientTable`, whatever comes in whatever order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from desdaemon.server.client_table import Action, ClientTable, Instruction, PresentClient

MOST, GRACE_S, SESSION_S = 3, 10.0, 60.0


class Link:
    """A connection."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.broken = False
        self.queued = False


class Guest(PresentClient):
    """A client with what the machine asks of it."""

    connection: Link | None
    requests = 0
    session = False

    @property
    def waits(self) -> bool:
        return self.requests > 0

    @property
    def has_session(self) -> bool:
        return self.session


NAMES = st.integers(0, 4)
"""Those below 2 have given a routing id."""

EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("join"), NAMES),
        st.tuples(st.just("leave"), NAMES),
        st.tuples(st.just("request"), NAMES),
        st.tuples(st.just("reply"), NAMES),
        st.tuples(st.just("session"), NAMES),
        st.tuples(st.just("wait"), st.sampled_from([1.0, 15.0, 50.0])),
    ),
    max_size=60,
)


class Office:
    """Carries instructions out, and checks each of them against what it knows of the clients."""

    def __init__(self) -> None:
        self.table: ClientTable[Guest] = ClientTable(MOST, GRACE_S, SESSION_S)
        self.now = 0.0
        self.open: dict[Link, Guest] = {}
        self.known: set[Guest] = set()
        self.cancelled: list[Guest] = []
        self.links = 0

    def apply(self, instructions: list[Instruction[Guest]]) -> None:
        for action, guest, link in instructions:
            if action is Action.CANCEL:
                self.cancelled.append(guest)
                guest.requests = 0
            elif action is Action.END_SESSION:
                guest.session = False
            elif action is Action.SUPERSEDE:
                assert self.open.pop(link) is guest
                # Its end is told late, and is nothing to the client.
                newer = guest.connection
                assert self.table.left(guest, link, self.now) == []
                assert guest.connection is newer is not link
                assert guest.gone is None
            elif action is Action.CLOSE:
                assert self.open.pop(link) is guest
                # The loop tells of every end of a connection, also of those that it was asked for.
                assert self.table.left(guest, link, self.now) == []
        self.known = set(self.table)

    def join(self, name: int) -> None:
        guest = self.table.find(name)
        if guest is not None and not guest.named and guest.connection is not None:
            # Without a routing id each connection is another client.
            return
        if guest is None:
            before = list(self.table)
            evictions = self.table.make_place()
            assert bool(evictions) == (len(before) == MOST)
            if evictions:
                (evicted,) = {guest for _, guest, _ in evictions}
                assert evicted not in set(self.table)
                # Nobody who is connected goes as long as another is not.
                assert evicted.connection is None
                connected = [action for action, _, _ in evictions if action is Action.CLOSE]
                assert not connected or all(other.connection is not None for other in before if other is not evicted)
            self.apply(evictions)
            guest = Guest(name, named=name < 2)
            self.table.add(guest)
        self.links += 1
        link = Link(self.links)
        self.open[link] = guest
        self.apply(self.table.joined(guest, link, self.now))

    def wait(self, seconds: float) -> None:
        self.now += seconds
        dropped = len(self.cancelled)
        gone = {guest: self.now - guest.gone for guest in self.table if guest.gone is not None}
        first = {guest for guest in gone if not guest.dropped}
        self.apply(self.table.tidy(self.now))
        for guest, away in gone.items():
            kept = SESSION_S if guest.named and guest.session else GRACE_S
            assert (guest in self.known) == (away < kept)
            # Once for each absence, and once more where it is forgotten.
            times = self.cancelled[dropped:].count(guest)
            assert times == (guest in first and away >= GRACE_S) + (guest not in self.known)
        assert all(guest in gone for guest in self.cancelled[dropped:])


@settings(max_examples=500)
@given(EVENTS)
def test_clients_are_dropped_and_forgotten_in_time_and_never_while_connected(events: list[tuple[str, float]]) -> None:
    office = Office()
    for event, value in events:
        guest = office.table.find(int(value)) if event != "wait" else None
        if event == "join":
            office.join(int(value))
        elif event == "wait":
            office.wait(value)
        elif guest is None:
            continue
        elif event == "leave" and guest.connection is not None:
            link = guest.connection
            del office.open[link]
            had = guest.waits
            office.apply(office.table.left(guest, link, office.now))
            assert (guest in office.known) == (guest.named or had)
        elif event == "request":
            guest.requests += 1
        elif event == "reply":
            guest.requests = max(0, guest.requests - 1)
        elif event == "session":
            guest.session = True
        assert len(office.table) <= MOST
        assert {guest.connection: guest for guest in office.table if guest.connection is not None} == office.open
        for guest in office.table:
            assert (guest.gone is None) == (guest.connection is not None)
            assert guest.connection is None or not guest.dropped
    office.wait(2 * SESSION_S)
    assert all(guest.connection is not None for guest in office.table)
