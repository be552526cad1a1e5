"""Which handshake gives way when there are too many: `HandshakeTable`, whatever comes in whatever order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from desdaemon.server.handshakes import HandshakeTable

STEP = st.tuples(st.sampled_from(["add", "remove", "wait"]), st.sampled_from(["", "a", "b"]), st.integers(0, 30))


@given(st.lists(STEP, max_size=60))
def test_the_oldest_gives_way_in_all_and_by_address(steps: list[tuple[str, str, int]]) -> None:
    table: HandshakeTable[int] = HandshakeTable(6, 3)
    there: list[tuple[int, str, float]] = []
    now = 0.0
    for number, (what, address, choice) in enumerate(steps):
        if what == "add":
            table.add(number, address, now)
            there.append((number, address, now))
        elif what == "wait":
            now += choice / 10
        elif there:
            gone = there.pop(choice % len(there))
            table.discard(gone[0])
            table.discard(gone[0])
        assert len(table) == len(there)
        assert all(connection in table for connection, _, _ in there)
        assert table.is_full() == (len(there) >= 6)
        for name in ("", "a", "b"):
            of_it = [entry for entry in there if name in ("", entry[1])]
            assert not name or table.is_full(name) == (len(of_it) >= 3)
            late = [connection for connection, _, since in of_it[:1] if now - since >= 1.0]
            assert table.oldest(now, 1.0, name) == (late[0] if late else None)
