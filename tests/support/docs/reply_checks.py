"""The check of replies against the tables of the protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from desdaemon.protocol.wire.constants import VERSION
from desdaemon.protocol.wire.fields import Field, Shape
from desdaemon.protocol.wire.messages import BASIC_OPERATIONS, ERROR_CODES, OPERATIONS
from desdaemon.protocol.wire.replies import BOOK_RESULTS, ENVELOPE, EVENTS, JOB_RESULT, SHAPES

Shapes = Mapping[str, Shape]

REPLIES = {operation.name: operation.replies for operation in BASIC_OPERATIONS}
"""The shapes of each operation's final data; every other operation on the book has `job_result` and `BOOK_RESULTS`."""

PARTIALS = {operation.name: operation.partial for operation in OPERATIONS if operation.partial}
"""The shapes of partials, by operation."""

FINAL, PARTIAL, ERROR = "final", "partial", "error"

_CARRYING = ("cancelled", "shutting_down")
"""Error codes of an `analyze` that come with data."""


def shape_faults(shape: str, data: object) -> list[str]:
    """The differences of a map from a shape; empty where there are none."""
    return faults(SHAPES, SHAPES[shape], data, shape)


def final_faults(op: str, data: object) -> list[str]:
    """The differences of the data of a final from the shape of its operation."""
    if op not in REPLIES:
        return faults(SHAPES, (*JOB_RESULT, *BOOK_RESULTS.get(op, ())), data, op)
    attempts = [shape_faults(shape, data) for shape in REPLIES[op]]
    return [] if [] in attempts else min(attempts, key=len)


def event_faults(topic: str, data: object) -> list[str]:
    """The differences of an event's map from its shape."""
    return shape_faults(EVENTS["job.<id>" if topic.startswith("job.") else topic], data)


def reply_faults(op: str | None, reply: object) -> list[str]:
    """The differences of a whole reply from the protocol, its data included; ``op`` is None where it is not known."""
    found = faults(SHAPES, ENVELOPE, _without_data(reply), "reply")
    if found or not isinstance(reply, dict):
        return found
    kind, data = reply["type"], reply.get("data")
    if reply["v"] != VERSION or kind not in (FINAL, PARTIAL, ERROR):
        found.append(f"reply.v or reply.type: {reply['v']!r}, {kind!r}")
    if (kind == ERROR) != ("error" in reply) or (kind != ERROR and "data" not in reply):
        found.append(f"reply: a {kind} has {'no ' if kind == ERROR else ''}error, or no data")
    if kind == ERROR:
        found += _error_faults(op, reply)
    elif kind == PARTIAL:
        if op is not None:
            found += shape_faults(PARTIALS[op], data) if op in PARTIALS else [f"{op}: has no partials"]
        if op == "analyze" and not found and "done" not in reply["data"]:
            found.append("analysis.done: missing in a partial")
    elif op is not None:
        found += final_faults(op, data)
    return found


def _without_data(reply: object) -> object:
    return {name: value for name, value in reply.items() if name != "data"} if isinstance(reply, dict) else reply


def _error_faults(op: str | None, reply: dict[str, object]) -> list[str]:
    error, data = reply.get("error"), reply.get("data")
    assert isinstance(error, dict)
    found = [] if error["code"] in ERROR_CODES else [f"error.code: {error['code']!r} is no code"]
    if "\n" in error["message"]:
        found.append("error.message: has more than one line")
    if data is not None and op is not None:
        if op != "analyze" or error["code"] not in _CARRYING:
            found.append(f"{op}: an error {error['code']} with data")
        else:
            found += final_faults(op, data)
            if not isinstance(data, dict) or data.get("finished") is not False:
                found.append("data.finished: not false in an error")
    return found


_PLAIN: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "str": (str,),
    "bool": (bool,),
    "id": (str, int),
}


def faults(shapes: Shapes, fields: Iterable[Field], data: object, path: str) -> list[str]:
    """The differences of ``data`` from a map of these fields: ``path.field: what`` for each missing, unknown or wrong
    one.
    """
    if not isinstance(data, dict):
        return [f"{path}: expected a map"]
    known = {field.name: field for field in fields}
    found = [f"{path}.{name}: unknown" for name in data if name not in known]
    for field in known.values():
        place = f"{path}.{field.name}"
        if field.name not in data:
            found += [] if field.absent else [f"{place}: missing"]
        elif data[field.name] is None:
            found += [] if field.nil else [f"{place}: nil"]
        else:
            attempts = [_value_faults(shapes, kind, data[field.name], place) for kind in field.type.split(" or ")]
            found += [] if [] in attempts else attempts[0]
    return found


def _value_faults(shapes: Shapes, kind: str, value: object, path: str) -> list[str]:
    if kind[0] == "[":
        if not isinstance(value, list):
            return [f"{path}: expected a list"]
        return [fault for item in value for fault in _value_faults(shapes, kind[1:-1], item, path)]
    if kind[0] == "{":
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            return [f"{path}: expected a map from strings"]
        return [fault for item in value.values() for fault in _value_faults(shapes, kind[1:-1], item, path)]
    if kind in shapes:
        return faults(shapes, shapes[kind], value, path)
    fits = isinstance(value, _PLAIN[kind]) and (kind == "bool" or not isinstance(value, bool))
    return [] if fits else [f"{path}: expected {kind}, not {value!r}"]
