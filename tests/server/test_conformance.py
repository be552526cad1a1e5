"""The wire protocol, written down from its contract alone: the envelope, and the operations that answer at once."""

from __future__ import annotations

import re
from typing import Any

import msgpack
import pytest
import referee
from served import ENDLESS, Peer, line_of

START = "---------------------------OX------XO--------------------------- X"


def moves_of(cells: referee.Cells) -> list[str]:
    return sorted(referee.name(move).lower() for move in referee.legal_moves(cells))


# --- the envelope


def test_ids_come_back_as_they_were_sent(admin: Peer) -> None:
    for wanted in (0, 1, 2**64 - 1, "", "x", "ü" * 32, "a" * 64):
        assert admin.ask("ping", id=wanted)["id"] == wanted
    for bad in ("a" * 65, "ü" * 33, -1, 1.5, True, None, [1], {"a": 1}, b"x"):
        admin.request("ping", id=bad)
        reply = admin.reply()
        assert (reply["id"], reply["type"], reply["error"]["code"]) == (None, "error", "bad_request")
    admin.send(msgpack.packb({"v": 1, "op": "ping"}))
    assert admin.reply()["id"] is None


def test_a_delimiter_comes_back_when_it_was_sent(admin: Peer) -> None:
    body = msgpack.packb({"v": 1, "id": 1, "op": "ping"})
    admin.socket.send_multipart([b"", body])
    frames = admin.socket.recv_multipart()
    assert (len(frames), frames[0]) == (2, b"")
    admin.socket.send_multipart([b"", b"moves"])
    frames = admin.socket.recv_multipart()
    assert (len(frames), frames[0]) == (2, b"")
    admin.send(body)
    assert admin.reply()["type"] == "final"


@pytest.mark.parametrize("frames", [[b"", b""], [b"a", b"b"], [b"", b"moves", b"x"], [b""] * 100])
def test_other_numbers_of_frames_are_answered_or_counted(admin: Peer, frames: list[bytes]) -> None:
    admin.socket.send_multipart(frames)
    admin.socket.send_multipart([b"", msgpack.packb({"v": 1, "id": "after", "op": "ping"})])
    while True:
        answer = admin.socket.recv_multipart()
        if answer[-1] and answer[-1][0] >= 0x80 and msgpack.unpackb(answer[-1])["id"] == "after":
            return


def test_a_message_of_one_mebibyte_is_the_longest(admin: Peer) -> None:
    def request(size: int) -> bytes:
        empty = msgpack.packb({"v": 1, "id": 7, "op": "ping", "args": {"x": b"\0" * 70_000}})
        return msgpack.packb({"v": 1, "id": 7, "op": "ping", "args": {"x": b"\0" * (70_000 + size - len(empty))}})

    for size in (1 << 20, (1 << 20) + 1):
        body = request(size)
        assert len(body) == size
        admin.send(body)
        reply = admin.reply()
        if size == 1 << 20:
            assert (reply["type"], reply["id"]) == ("final", 7)
        else:
            assert (reply["type"], reply["error"]["code"]) == ("error", "too_large")


# --- the operations


def test_ping_is_answered_whatever_is_searching(admin: Peer) -> None:
    busy = [admin.request("analyze", {"moves": line_of(seed, 3), **ENDLESS}) for seed in range(4)]
    for _ in range(20):
        assert admin.final("ping") == {}
    for number in busy:
        assert admin.final("cancel", {"target": number}) == {"cancelled": True}


def test_metrics_are_open_metrics_text(admin: Peer) -> None:
    text = admin.final("metrics")["text"]
    assert text.endswith("# EOF\n")
    for line in text.splitlines()[:-1]:
        sample = r"[a-zA-Z_:][a-zA-Z0-9_:]*(\{[^{}]*\})? [0-9.eE+-]+(inf|nan)?"
        assert re.fullmatch(rf"# (HELP|TYPE|UNIT) \S+ .*|{sample}", line), line


def test_legal_moves_are_the_referees(admin: Peer) -> None:
    for seed in range(20):
        plies = 3 * seed
        cells = referee.random_position(seed, plies)
        data = admin.final("legal", {"moves": line_of(seed, plies)})
        assert sorted(data["moves"]) == (moves_of(cells) or ([] if referee.game_over(cells) else ["pa"]))
        assert data["over"] == referee.game_over(cells)
        assert re.fullmatch("[XO-]{64} ?[XO]", data["board"])
        assert data["discs"] == [data["board"][:64].count("X"), data["board"][:64].count("O")]
        again = admin.final("legal", {"board": data["board"]})
        assert again == data
        assert admin.final("legal", {"board": data["board"].replace(" ", "")}) == data


def analysis_is_sound(data: dict[str, Any], legal: list[str]) -> None:
    assert data.keys() >= {"board", "moves", "nodes", "time_ms", "canonical"}
    for move in data["moves"]:
        assert move.keys() >= {"move", "score", "lower", "upper", "depth", "selectivity", "exact"}
        assert move.keys() >= {"source", "pv", "nodes"}
        assert move["move"] in legal
        assert move["pv"].startswith(move["move"]) or move["source"] == "book"
        assert -64 <= move["lower"] <= move["score"] <= move["upper"] <= 64
        assert move["source"] in ("book", "search")
        assert isinstance(move["exact"], bool)
    scores = [move["score"] for move in data["moves"]]
    assert scores == sorted(scores, reverse=True)


def test_analyses_have_the_fields_of_the_contract(admin: Peer) -> None:
    legal = admin.final("legal", {"moves": "f5d6"})["moves"]
    for limits in ({"level": 2}, {"depth": 4}, {"depth": 4, "selectivity": 73}, {"nodes": 2000}, {"time_ms": 20}):
        data = admin.final("analyze", {"moves": "f5d6", "book": "ignore", **limits})
        analysis_is_sound(data, legal)
        assert len(data["moves"]) == 1
        assert re.fullmatch("[XO-]{64} ?[XO]", data["board"])
    data = admin.final("analyze", {"moves": "f5d6", "level": 1, "multipv": 60})
    analysis_is_sound(data, legal)
    assert sorted(move["move"] for move in data["moves"]) == sorted(legal)
    data = admin.final("analyze", {"moves": "f5d6", "level": 1, "allow": legal[:2], "multipv": 5})
    assert sorted(move["move"] for move in data["moves"]) == sorted(legal[:2])
    data = admin.final("analyze", {"moves": "f5d6", "level": 1, "avoid": legal[1:]})
    assert [move["move"] for move in data["moves"]] == legal[:1]


def test_solved_positions_have_the_referees_scores(admin: Peer) -> None:
    for seed in range(8):
        plies = 54
        cells = referee.random_position(seed, plies)
        data = admin.final("analyze", {"moves": line_of(seed, plies), "depth": 60, "book": "ignore", "multipv": 64})
        scores = {referee.name(move).lower(): score for move, score in referee.solve_moves(cells).items()}
        assert {move["move"]: move["score"] for move in data["moves"]} == scores
        assert all(move["exact"] for move in data["moves"])


def test_an_analysis_sends_partials(admin: Peer) -> None:
    legal = admin.final("legal", {"moves": "f5d6c3"})["moves"]
    number = admin.request("analyze", {"moves": "f5d6c3", "partial_ms": 10, **ENDLESS})
    times = [0.0]
    for _ in range(3):
        reply = admin.reply()
        assert (reply["id"], reply["type"]) == (number, "partial")
        analysis_is_sound(reply["data"], legal)
        times.append(reply["data"]["time_ms"])
    assert times == sorted(times)
    # Of a search that nothing has interrupted yet, too.
    assert times[-1] > 0
    admin.final("cancel", {"target": number})


def test_moves_to_look_at_have_to_be_legal(admin: Peer) -> None:
    assert admin.refused("analyze", {"allow": ["a1"], "level": 1}) == "illegal_move"
    assert admin.refused("analyze", {"allow": ["nonsense"], "level": 1}) in ("illegal_move", "bad_request")
