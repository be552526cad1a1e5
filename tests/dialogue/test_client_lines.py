"""A client's lines: one at a time, in order, each once; and those of a client that has gone live or die together."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from desdaemon.dialogue.text_sessions import ClientLine, ClientLines, LineReceiver
from desdaemon.protocol.commands.text import read_line

LINES = {"asks": "moves", "changes": "play f5", "outlives": "book store"}
NOBODY = LineReceiver(lambda _: None, None)

EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(tuple(LINES))),
        st.tuples(st.just("ended")),
        st.tuples(st.just("cancel"), st.integers(0, 30)),
        st.tuples(st.just("refuse"), st.booleans()),
        st.tuples(st.just("leave")),
    ),
    max_size=60,
)


@settings(max_examples=500)
@given(EVENTS)
def test_a_departed_client_has_all_its_lines_carried_out_or_none(
    events: list[tuple[object, ...]],
) -> None:
    lines = ClientLines()
    put: list[ClientLine] = []
    begun: list[ClientLine] = []
    dead: set[ClientLine] = set()
    lasting: set[ClientLine] = set()
    """Lines that must outlive the client, but for those behind a refused one: they work on a board it does not know."""
    gap = gone = False

    def advance() -> None:
        nonlocal gap
        line = lines.next()
        assert lines.running is line
        if line is not None:
            assert line not in dead
            begun.append(line)
        else:
            gap = gone

    for event in events:
        if event[0] == "put":
            line, begins = lines.put(read_line(LINES[str(event[1])]), NOBODY)
            put.append(line)
            lasting |= {line} if event[1] == "outlives" and not gap else set()
            dead |= {line} if gone else set()
            assert begins == (lines.running is None)
            assert not lines.deserted
            if begins:
                advance()
        elif event[0] == "ended" and lines.running is not None:
            lines.ended()
            advance()
        elif event[0] == "cancel" and put:
            line = put[int(str(event[1])) % len(put)]
            lines.cancel(line)
            assert line.cancelled
            dead.add(line)
        elif event[0] == "refuse":
            lines.refuse(gone=bool(event[1]))
            gone = gone or bool(event[1])
            gap = gap or gone or not lines.idle
        elif event[0] == "leave":
            running = lines.running
            alive = [line for line in put if line is running or line not in begun]
            alive = [line for line in alive if line not in dead]
            last = max((line.number for line in alive if line in lasting), default=0)
            dying = {line for line in alive if line.line.asks or line.number > last}
            assert lines.leave() is (running if running in dying else None)
            assert lines.deserted
            dead |= dying
        assert {line for line in put if line.cancelled} == dead
        assert lines.idle == (lines.running is None)
        # Nothing waits beside an idle client.
        assert not (lines.idle and len(lines))
    while lines.running is not None:
        lines.ended()
        advance()
    assert [line.number for line in put] == list(range(1, len(put) + 1))
    assert [line for line in put if line not in dead] == [line for line in begun if line not in dead]
    assert lines.idle
    assert len(lines) == 0
