"""The codec and the table of structured messages."""

from __future__ import annotations

import copy
import os
import random
import re
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from desdaemon.protocol.commands.book import BOOK_COMMANDS
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, board_text, moves_text, parse_board
from desdaemon.protocol.wire import codec, messages
from desdaemon.protocol.wire.connection import read_connection
from desdaemon.protocol.wire.messages import RequestError
from desdaemon.protocol.wire.positions import read_board, read_line

SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(max_size=8), v, max_size=4), max_leaves=20
)
MESSAGES = st.dictionaries(st.text(max_size=8), VALUES, max_size=6)


@settings(max_examples=50)
@given(MESSAGES)
def test_a_message_comes_back_as_it_went(message: dict[str, object]) -> None:
    body = codec.encode(message)
    assert codec.is_structured(body)
    assert codec.decode(body) == message


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"\xff\xfe", b'{"pid": [], "protocol": 1}', b"[" * 60_000, b'{"pid": 1e999, "protocol": 1}']
)
def test_what_is_no_connection_file_is_told_by_name(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "connection.json"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=re.escape(str(path))):
        read_connection(str(path))


@pytest.mark.posix
def test_a_pipe_in_the_place_of_the_connection_file_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "connection.json"
    os.mkfifo(path)
    with pytest.raises(OSError, match="regular file"):
        read_connection(str(path))


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_map_or_one_kind_of_error(body: bytes) -> None:
    try:
        message: object = codec.decode_request(body)
        assert message == codec.decode(body)
    except codec.WireError as error:
        message = error
    assert isinstance(message, dict | codec.WireError)
    assert "\n" not in str(message) or isinstance(message, dict)


NO_MESSAGES = (
    *(
        b"\x81",
        b"\x80\x80",
        b"\xde\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\x81\xa1v",
        b"\x81\xa1\xff\x01",
        b"\x81\x01\x01",
    ),
    *(b"\x81\xc4\x01a\x01", b"\x81\xa1a\xc1", b"\x81\xa1a" * 5000 + b"\x80", b"\x81\xa1a\xdd\xff\xff\xff\xff"),
    b"\x81\xa1a\xdd" + (60_000).to_bytes(4, "big") + b"\x80" * 60_000,
    b"\x81\xa4args" + b"\x91" * 100_000 + b"\x90",
)


@pytest.mark.parametrize("body", NO_MESSAGES, ids=range(len(NO_MESSAGES)))
def test_what_is_no_map_with_names_for_keys_is_refused(body: bytes) -> None:
    with pytest.raises(codec.WireError):
        codec.decode_request(body)


def test_a_reply_may_be_longer_than_any_request() -> None:
    reply = {"data": {"lines": [{} for _ in range(100_000)]}}
    assert codec.decode(codec.encode(reply)) == reply


@pytest.mark.parametrize("decode", [codec.decode, codec.decode_request])
def test_lists_that_announce_more_than_they_have_take_no_memory(decode: Callable[[bytes], object]) -> None:
    tracemalloc.start()
    with pytest.raises(codec.WireError):
        decode(b"\x81\xa1a" + b"\xdc\x7f\xff" * 1000)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


@settings(max_examples=60)
@given(MESSAGES, st.integers(0, 300))
def test_the_id_of_a_message_that_is_cut_off_is_found_or_nothing(message: dict[str, object], size: int) -> None:
    whole = codec.encode({**message, "id": 7})
    assert codec.find_value(whole, "id") == 7
    assert codec.find_value(whole[:size], "id") in (7, None)
    assert codec.find_value(whole[:size][::-1], "id") in (7, None)


@pytest.mark.parametrize("value", [b"\xd4\x05\x00", b"\xd6\xff\x00\x00\x00\x00", b"\xc7\x00\x05"])
def test_a_value_of_an_extension_type_fits_no_argument(value: bytes) -> None:
    args = codec.decode(b"\x81\xa4args\x82\xa5level" + value + b"\xa5later" + value)["args"]
    later = {"later": args["later"]}
    assert messages.check_arguments(messages.OPERATIONS[0], later) == ({}, ['ping has no argument "later"'])
    analyze = messages.BY_NAME["analyze"]
    with pytest.raises(RequestError) as caught:
        messages.check_arguments(analyze, args)
    assert (caught.value.code, caught.value.field) == ("bad_request", "level")
    assert refused({"v": 1, "id": args["level"], "op": "ping"}) == "bad_request"


def test_the_first_byte_tells_messages_from_text() -> None:
    first = {bytes([byte]) for byte in range(256) if codec.is_structured(bytes([byte]))}
    assert first == {bytes([byte]) for byte in (*range(0x80, 0x90), 0xDE, 0xDF)}
    assert not codec.is_structured(b"")


def test_text_that_is_no_unicode_does_not_stop_a_reply() -> None:
    assert codec.decode(codec.encode({"a": "x\udc80"})) == {"a": "x?"}


def test_messages_are_packed_by_many_threads_and_after_one_that_cannot_be() -> None:
    with pytest.raises(codec.WireError):
        codec.encode({"a": {"b": [1, object()]}})
    assert codec.encode({"a": 1}) == b"\x81\xa1a\x01"
    with ThreadPoolExecutor(4) as pool:
        texts = [{"n": number, "s": "y" * number} for number in (*range(300), 100_000)]
        assert [codec.decode(body) for body in pool.map(codec.encode, texts)] == texts


def refused(message: dict[str, object]) -> str:
    with pytest.raises(RequestError) as caught:
        messages.check_request(message)
    assert caught.value.code in messages.ERROR_CODES
    assert "\n" not in caught.value.message
    return caught.value.code


@settings(max_examples=60)
@given(MESSAGES)
def test_any_message_is_a_request_or_refused(message: dict[str, object]) -> None:
    try:
        messages.check_arguments(*messages.check_request(message))
        code = ""
    except RequestError as error:
        code = error.code
    assert code in ("", *messages.ERROR_CODES)


@settings(max_examples=60)
@given(st.sampled_from(messages.OPERATIONS), st.data())
def test_any_arguments_are_taken_or_refused(operation: messages.Operation, data: st.DataObject) -> None:
    names = st.sampled_from([argument.name for argument in operation.arguments] or ["x"]) | st.text(max_size=5)
    args = data.draw(st.dictionaries(names, VALUES, max_size=4))
    known = {argument.name for argument in operation.arguments}
    try:
        values, warnings = messages.check_arguments(operation, args)
    except RequestError as error:
        values, warnings = {error.field: None}, []
    assert set(values) <= known
    of_maps = len([text for text in warnings if text.partition(":")[0] in known])
    assert of_maps <= len([argument for argument in operation.arguments if argument.kind == "maps"])
    assert len(warnings) - of_maps in (0, len([name for name in args if name not in known]))


ANYTHING = [
    *(True, False, 0, 1, 12, -1, 61, 1 << 70, 1.0, 12.0, float("nan"), "", "12", "1", "true", "f5", "xx", "black"),
    *(b"", b"f5", [], [[]], [{}], [1], [True], ["f5"], ["a.wtb"], [""], ["f5", 1], [None], {}, {"a": 1}),
    *([{"board": 5}], [{"moves": []}], [{"moves": True}], [{"id": True}], [{"id": 1.0}], msgpack.ExtType(5, b"")),
]


def is_of_its_kind(argument: messages.Argument, value: Any) -> bool:
    """The meaning of the kinds, said a second time."""
    number, text = type(value) is int, type(value) is str
    listed = value if type(value) is list else None
    if argument.kind == "maps" and listed is not None:
        kinds: dict[str, Any] = {"board": str, "moves": str, "id": (str, int)}
        fields = {field.name: kinds[field.name] for field in argument.fields}
        return all(
            type(item) is dict
            and all(
                type(item[name]) is not bool and isinstance(item[name], of)
                for name, of in fields.items()
                if name in item
            )
            for item in listed
        )
    return {
        "int": number and argument.low <= value <= argument.high,
        "text": text,
        "flag": type(value) is bool,
        "choice": text and value in argument.choices,
        "id": text or (number and 0 <= value < 1 << 64),
        "path": text and value != "",
        "move": value == "f5",
        "moves": listed is not None and all(type(item) is str for item in listed),
        "ints": listed is not None and all(type(item) is int for item in listed),
        "paths": bool(listed) and all(type(item) is str and item for item in value),
        "maps": False,
    }[argument.kind]


ARGUMENTS = [(operation, argument) for operation in messages.OPERATIONS for argument in operation.arguments]


@pytest.mark.parametrize(("operation", "argument"), ARGUMENTS, ids=lambda found: found.name)
def test_an_argument_is_of_its_kind_or_refused(operation: messages.Operation, argument: messages.Argument) -> None:
    bare = messages.Operation("bare", (argument,), operation.role, operation.help)
    for value in ANYTHING:
        if is_of_its_kind(argument, value):
            assert messages.check_arguments(bare, {argument.name: value})[0] == {argument.name: value}, repr(value)
        else:
            with pytest.raises(RequestError) as caught:
                messages.check_arguments(operation, {argument.name: value})
            assert (caught.value.code, caught.value.field) == ("bad_request", argument.name), repr(value)
    optional = copy.copy(argument)
    vars(optional)["required"] = False
    bare = messages.Operation("bare", (optional,), operation.role, operation.help)
    assert messages.check_arguments(bare, {argument.name: None})[0] == {}


def test_every_book_command_is_an_operation_of_the_same_role() -> None:
    for command in BOOK_COMMANDS:
        if command.about == "search":
            assert command.op not in messages.BY_NAME
            continue
        operation = messages.BY_NAME[command.op]
        assert operation.role == command.role
        assert {argument.name for argument in operation.arguments} >= {p.name for p in command.parameters}
    names = [operation.name for operation in messages.OPERATIONS]
    assert len(names) == len(set(names))


def test_roles_include_each_other() -> None:
    assert messages.allows("admin", "reader")
    assert messages.allows("editor", "editor")
    assert not messages.allows("reader", "editor")


# --- positions


@given(st.lists(st.sampled_from("XO-"), min_size=64, max_size=64), st.sampled_from("XO"), st.sampled_from(["", " "]))
def test_a_board_reads_the_same_either_way(squares: list[str], side: str, blank: str) -> None:
    text = "".join(squares) + blank + side
    assert read_board(text) == parse_board(text)
    assert board_text(read_board(text)) == "".join(squares) + " " + side


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_forced_passes_may_be_left_out_and_do_not_count_as_plies(seed: int) -> None:
    position, played, given_moves, reached = START, [], [], [START]
    choice = random.Random(seed)
    while not position.over:
        move = rules.PASS if position.must_pass else choice.choice(rules.squares(position.moves))
        played.append(move)
        if move != rules.PASS:
            given_moves.append(move)
        position = position.after(move)
        if move != rules.PASS:
            reached.append(position)
    line = read_line({"moves": moves_text(given_moves)})
    assert line.last == position
    assert line.moves == played
    assert line.first == START
    assert line.positions() == reached
    assert read_line({"moves": moves_text(played)}).last == position


def test_an_empty_list_is_an_empty_map_as_php_writes_it() -> None:
    operation, args = messages.check_request({"v": 1, "id": 1, "op": "hello", "args": []})
    assert (operation.name, args) == ("hello", {})
    with pytest.raises(RequestError, match="expected a map"):
        messages.check_request({"v": 1, "id": 1, "op": "hello", "args": [1]})
