"""A client's lines: one at a time, in order, each once; cancelled ones never, and of a client that left only some."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from desdaemon.dialogue.client_lines import ClientLine, ClientLines

EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.booleans()),
        st.tuples(st.just("ended")),
        st.tuples(st.just("cancel"), st.integers(0, 30)),
        st.tuples(st.just("forget")),
    ),
    max_size=60,
)


@settings(max_examples=300)
@given(EVENTS)
def test_lines_are_carried_out_one_after_the_other_in_their_order(events: list[tuple[object, ...]]) -> None:
    lines = ClientLines()
    put: list[ClientLine] = []
    begun: list[ClientLine] = []
    gone: set[ClientLine] = set()

    def advance() -> None:
        line = lines.next()
        assert lines.running is line
        if line is not None:
            assert line not in gone
            begun.append(line)

    for event in events:
        if event[0] == "put":
            line, begins = lines.put("go", outlives=bool(event[1]))
            put.append(line)
            assert begins == (lines.running is None)
            if begins:
                advance()
        elif event[0] == "ended" and lines.running is not None:
            lines.ended()
            advance()
        elif event[0] == "cancel" and put:
            line = put[int(str(event[1])) % len(put)]
            lines.cancel(line)
            assert line.cancelled
            gone |= {line} - set(begun)
        elif event[0] == "forget":
            running = lines.running
            stops = lines.forget()
            assert stops == (running is None or not running.outlives)
            assert running is None or running.cancelled or running.outlives
            gone |= {line for line in put if not line.outlives} - set(begun)
        assert lines.idle == (lines.running is None)
        # Nothing waits beside an idle client.
        assert not (lines.idle and len(lines))
    while lines.running is not None:
        lines.ended()
        advance()
    assert [line.number for line in put] == list(range(1, len(put) + 1))
    assert begun == [line for line in put if line not in gone]
    assert lines.idle
    assert len(lines) == 0
