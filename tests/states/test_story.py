"""Stories are bounded and say what came last; the package of state machines has no I/O."""

from __future__ import annotations

import ast

from checkout import ROOT
from hypothesis import given
from hypothesis import strategies as st

from desdaemon.core.story import EVENTS_KEPT, Story
from desdaemon.dialogue.stops import Stops


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(1, 10))
def test_a_story_is_the_last_events(values: list[int], most: int) -> None:
    story = Story("a machine", most)
    for value in values:
        story.add("event", value)
    numbered = [f"{number} event {value}" for number, value in enumerate(values, 1)]
    assert story.text() == "a machine: " + "; ".join(numbered[-most:])
    assert story.taken == len(values)


def test_a_story_tells_of_times_and_has_one_line() -> None:
    stops = Stops()
    stops.begin(3)
    stops.search_begins(1.25, bounded=False)
    stops.stop(4)
    assert stops.story.text() == "stops: 1 begin 3; 2 search unbounded asked 1.250; 3 stop 4 0 False"
    for number in range(10 * EVENTS_KEPT):
        stops.heard(number)
    assert len(stops.story.text()) < 32 * EVENTS_KEPT


def test_state_machines_import_nothing_that_waits_or_talks() -> None:
    allowed = {"__future__", "abc", "collections", "collections.abc", "enum", "math", "typing"}
    machines = ("dialogue/stops", "server/client_table", "dialogue/client_lines", "core/books/job_turns", "core/story")
    paths = [ROOT / "daemon" / f"{machine}.py" for machine in machines]
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                assert not node.names, f"{path.name} imports {node.names[0].name}"
            elif isinstance(node, ast.ImportFrom):
                assert node.module in {*allowed, "desdaemon.core.story"}, f"{path.name} imports {node.module}"
