"""Players on a small server of our own: whole matches, clocks, requests, lost connections, text of others."""

from __future__ import annotations

import asyncio
import contextlib
import re
from functools import partial
from pathlib import Path

import pytest
import referee
from book_dialogue import BookDialogue
from ggs_server import FULL_LOSS, LEAST_LOSS, PASSWORD, BoardGame, Server
from ggs_table import ANY, KINDS, NEVER, Dice, Table, replayed, run, until

from desdaemon.clients.arguments import print_text
from desdaemon.clients.ggs.player import AcceptRules, Answer, Player, StartSearch, Wishes
from desdaemon.clients.ggs.session import Outside, ServerSession
from desdaemon.clients.ggs.thinking import Thinker
from desdaemon.core.settings import SessionSettings
from desdaemon.protocol.games.bases import parse_games

# Matches


@pytest.mark.parametrize("kind", KINDS)
def test_matches_are_played_and_their_records_kept(kind: str, tmp_path: Path) -> None:
    pair = kind.startswith("s")

    async def scene() -> None:
        async with Table(tmp_path) as table:
            alice = Dice(1)
            await table.play(f"{kind} 5:00//2:00", alice, Dice(2), matches=2)
            assert [(result.type, result.flagged) for result in table.server.results] == [(kind, frozenset())] * 2
            assert table.server.refused == []
            assert {search.board for search in alice.searches} == ({"0", "1"} if pair else {""})

    run(scene())
    for name in ("alice", "bob"):
        games = replayed(tmp_path / f"{name}.ggf")
        assert len(games) == (4 if pair else 2)
        assert [float(game.told) for game in games] == [game.discs for game in games]
        assert len(list(parse_games((tmp_path / f"{name}.ggf").read_bytes(), name))) == len(games)
        if pair:
            assert games[0].start == games[1].start
            assert games[0].black == games[1].white
        elif kind in ("8b", "8w"):
            assert {game.black for game in games} == {"bob" if kind == "8b" else "alice"}
        assert PASSWORD not in (tmp_path / f"{name}.log").read_text("utf-8")


class Copycat(Dice):
    """Plays on each board of a pair what the opponent has played on the other in the same position."""

    def __init__(self, opponent: Watched) -> None:
        super().__init__(1)
        self.opponent = opponent

    async def think(self, search: StartSearch) -> Answer:
        await until(lambda: (search.board, search.position) in self.opponent.moves)
        move = self.opponent.moves[search.board, search.position]
        return Answer(search.game, search.position, move, 0.0, 0.0)


class Watched(Dice):
    """Plays at random; the moves are seen by another, who will have these positions on the other board."""

    def __init__(self) -> None:
        super().__init__(1)
        self.moves: dict[tuple[str, object], int] = {}

    async def think(self, search: StartSearch) -> Answer:
        answer = await super().think(search)
        self.moves["1" if search.board == "0" else "0", search.position] = answer.move
        return answer


def test_an_opponent_may_copy_the_moves_of_the_other_board(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            watched = Watched()
            await table.play("s8r14 5:00//2:00", watched, Copycat(watched))
            assert [result.discs for result in table.server.results] == [0]

    run(scene())
    first, second = replayed(tmp_path / "alice.ggf")
    assert first.moves == second.moves


def test_records_go_into_a_book_but_for_random_starts(tmp_path: Path) -> None:
    async def scene() -> None:
        for kind in ("8", "s8r14"):
            async with Table(tmp_path) as table:
                await table.play(f"{kind} 5:00", Dice(1), Dice(2))

    run(scene())
    with contextlib.closing(BookDialogue()) as dialogue:
        dialogue.say("book new 1 6")
        assert "1 game counted" in dialogue.say(f"book add {tmp_path / 'alice.ggf'}")


# Clocks


@pytest.mark.parametrize("overtime", ["told", "jump", "pinned"])
@pytest.mark.parametrize("late", ["alice", "bob"])
def test_a_soft_time_out_is_seen_and_caps_the_result(
    late: str, overtime: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    matches = 3
    passed: dict[str, int] = {}
    # With these numbers the late one has more discs in some game.
    dice = {"alice": Dice(2), "bob": Dice(1)} if late == "alice" else {"alice": Dice(1), "bob": Dice(2)}

    async def scene() -> None:
        async with Table(tmp_path, overtime=overtime) as table:
            server = table.server

            def after_move(board: BoardGame) -> None:
                if board.mover == late and (number := passed.setdefault(board.id, 0)) < 2:
                    passed[board.id] += 1
                    server.elapse(board, [29.5 * 60, 40][number])

            server.on_move = after_move
            await table.play("8 30:00//2:00", dice["alice"], dice["bob"], matches)
            assert [result.flagged for result in server.results] == [{late}] * matches
            discs.extend(result.discs for result in server.results)

    discs: list[float] = []
    run(scene())
    told, own = capsys.readouterr()
    assert own.count(f"{late} was out of time and can no longer win") == 2 * matches
    assert own.count("out of time") == 2 * matches
    for name, sign in (("alice", -1), ("bob", 1)):
        other = "bob" if name == "alice" else "alice"
        assert [float(found) for found in re.findall(rf"^match \S+ with {other}: (\S+)$", told, re.M)] == [
            sign * won for won in discs
        ]
    games = replayed(tmp_path / "alice.ggf")
    assert {game.told[-2:] for game in games} == {":t"}
    on_board = [game.discs * (1 if game.black == late else -1) for game in games]
    late_discs = [won if late == "bob" else -won for won in discs]
    assert late_discs == [min(won, -LEAST_LOSS) for won in on_board]
    assert max(on_board) > 0, "some result was changed"
    # What is left of the extension is the clock then.
    clocks = [search.clock for search in dice[late].searches]
    assert {clock.extension for clock in clocks} == {120_000}
    assert clocks[-1].main <= 110_000


@pytest.mark.parametrize("late", ["alice", "bob"])
def test_a_hard_time_out_loses_all_and_ends_the_search(
    late: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            server = table.server
            slow, quick = Dice(1, NEVER), Dice(2)
            players = (slow, quick) if late == "alice" else (quick, slow)
            play = asyncio.create_task(
                table.play(f"{'8w' if late == 'alice' else '8b'} 5:00//2:00", players[0], players[1])
            )
            await until(lambda: slow.searches)
            (match,) = server.matches.values()
            server.elapse(match.boards[0], 5 * 60)
            await asyncio.sleep(0)
            assert not server.results, "the extension is granted once"
            server.elapse(match.boards[0], 2 * 60)
            await play
            (result,) = server.results
            assert (result.discs, result.flagged) == (FULL_LOSS if late == "alice" else -FULL_LOSS, {late})
            assert (slow.cancelled, len(slow.searches), quick.searches) == (1, 1, [])

    run(scene())
    shown = capsys.readouterr().out
    assert ("with bob: -64" in shown) == (late == "alice")
    assert ("with bob: +64" in shown) == (late == "bob")


def test_a_clock_that_runs_out_by_itself_ends_the_match(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            slow = Dice(1, NEVER)
            await table.play("8w 0:01//0:01", slow, Dice(2))
            assert [result.discs for result in table.server.results] == [FULL_LOSS]
            assert slow.cancelled == len(slow.searches) == 1

    run(scene())


class SlowOnOne(Dice):
    """Never moves on the first board of a pair."""

    async def think(self, search: StartSearch) -> Answer:
        self.pause_s = NEVER if search.board == "0" else 0.0
        return await super().think(search)


def test_a_time_out_on_one_board_of_a_pair_leaves_the_other(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            server = table.server
            slow = SlowOnOne(1)
            play = asyncio.create_task(table.play("s8 5:00//2:00", slow, Dice(2)))
            await until(lambda: server.matches)
            (match,) = server.matches.values()
            lost, other = match.boards
            await until(lambda: other.result is not None)
            server.elapse(lost, 7 * 60)
            await play
            assert other.result is not None
            won = other.result * (1 if other.names[0] == "bob" else -1)
            assert [result.discs for result in server.results] == [(FULL_LOSS + won) / 2]
            assert slow.cancelled == 1

    run(scene())


def test_increments_are_no_time_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            alice = Dice(1)
            await table.play("8 1:00/0:10/2:00", alice, Dice(2))
            clocks = [search.clock for search in alice.searches]
            assert {clock.increment for clock in clocks} == {10_000}
            assert clocks[-1].main > clocks[0].main

    run(scene())
    assert "out of time" not in capsys.readouterr().err


# Requests


def test_requests_are_accepted_by_the_rules(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            server = table.server
            rules = AcceptRules(("8", "s8r*"), opponents=("bob",))
            alice = table.sit("alice", Dice(1), rules, matches=1)
            for name in ("bob", "carol"):
                table.sit(name, Dice(2))
            for name in ("alice", "bob", "carol"):
                await table.ready(name, 2)
            refused = ("8r14 5:00 alice", "8 0:30 alice", "8 31:00 alice", "8k 5:00 alice", "10 5:00 alice")
            asked = [("bob", "rated +", False), ("bob", "ask 8 5:00 alice", True), ("bob", "rated -", False)]
            asked += [("bob", f"ask {request}", True) for request in refused]
            asked += [("carol", "ask s8r14 5:00 alice", True), ("carol", "ask 8 5:00", False)]
            for name, line, _ in asked:
                table.sessions[name].typed(f"tell /os {line}")
                await until(partial(said, server, name, f"tell /os {line}"))
            table.sessions["bob"].typed("tell /os ask s8r14 5:00")
            assert await alice == ""
            refusals = [answered for _, _, answered in asked].count(True)
            assert answers(server) == [("alice", "decline")] * refusals + [("alice", "accept")]
            assert [result.names for result in server.results] == [("bob", "alice")]

    run(scene())


def said(server: Server, name: str, line: str) -> bool:
    return (name, line) in server.lines


def answers(server: Server) -> list[tuple[str, str]]:
    """Who has accepted and declined, in order."""
    return [(name, line.split()[2]) for name, line in server.lines if re.match(r"tell /os (accept|decline)", line)]


def test_two_programs_that_ask_each_other_play(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            alice = table.sit("alice", Dice(1), offer="8 5:00 bob", matches=2)
            bob = table.sit("bob", Dice(2), offer="8 5:00 alice", matches=2)
            assert await asyncio.gather(alice, bob) == ["", ""]
            assert len(table.server.results) == 2
            assert answers(table.server) == []

    run(scene())


def test_a_match_of_a_tournament_is_played_alone_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            server = table.server
            asked: list[str] = []

            def after_move(board: BoardGame) -> None:
                if not asked:
                    asked.append("carol")
                    table.sessions["carol"].typed("tell /os ask 8 5:00 alice")

            server.on_move = after_move
            alice, bob = (table.sit(name, Dice(1), ANY, matches=1) for name in ("alice", "bob"))
            table.sit("carol", Dice(2))
            for name in ("alice", "bob", "carol"):
                await table.ready(name, 2)
            server.tournament("s8r20", "5:00//2:00", ("alice", "bob"))
            assert await asyncio.gather(alice, bob) == ["", ""]
            assert [result.type for result in server.results] == ["s8r20"]
            assert answers(server) == [("alice", "decline")]

    run(scene())
    assert len(re.findall(r"^match \S+ with bob: ", capsys.readouterr().out, re.M)) == 1
    assert len(replayed(tmp_path / "alice.ggf")) == 2


# Logins, lost connections


def test_a_wrong_password_and_a_second_login_are_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            assert "it is wrong" in await table.sit("alice", Dice(1), password="wrong")
            first = table.sit("alice", Dice(1))
            await table.ready("alice")
            assert "alice" in await table.sit("alice", Dice(1))
            assert not first.done()
            assert table.server.refused == ["alice", "alice"]

    run(scene())


def test_a_server_that_cannot_be_reached_ends_the_program() -> None:
    async def scene() -> None:
        async with Server() as server:
            pass
        place, player = Outside("127.0.0.1", server.port), Player("alice", PASSWORD, ANY, Wishes())
        thinker = Thinker(SessionSettings(), 0)
        assert f"127.0.0.1:{server.port}" in await ServerSession(place, player, thinker, print_text).run()

    run(scene())


def test_a_server_that_cannot_encrypt_hears_nothing() -> None:
    async def scene() -> None:
        async with Server() as server:
            place, player = Outside("127.0.0.1", server.port, tls=True), Player("a", "x", ANY, Wishes())
            thinker = Thinker(SessionSettings(), 0)
            assert "no TLS" in await ServerSession(place, player, thinker, print_text).run()
            assert server.lines == server.refused == []

    run(scene())


def test_a_server_that_closes_within_the_handshake_of_tls_is_told() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1 << 14)
        writer.close()

    async def scene() -> None:
        async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as listening:
            port = listening.sockets[0].getsockname()[1]
            place, player = Outside("127.0.0.1", port, tls=True), Player("a", "x", ANY, Wishes())
            told = await ServerSession(place, player, Thinker(SessionSettings(), 0), print_text).run()
            assert re.search("the server has ended the connection|Connection reset by peer", told)

    run(scene())


@pytest.mark.parametrize("resuming", ["alice", "bob", "--resume"])
def test_a_match_that_a_lost_connection_adjourned_is_resumed_when_asked_for(
    resuming: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            server = table.server
            dropped: list[str] = []

            def after_move(board: BoardGame) -> None:
                if len(board.moves) == 20 and not dropped:
                    dropped.append(board.id)
                    server.elapse(board, 60)
                    # For a while the server thinks that this user is still there.
                    server.drop("bob", ghost=True)

            server.on_move = after_move
            dice = Dice(1), Dice(2)
            itself = resuming == "--resume"
            alice = table.sit("alice", dice[0], ANY, matches=1)
            bob = table.sit("bob", dice[1], ANY, matches=1, resume=itself)
            await table.ready("alice")
            await table.ready("bob")
            table.sessions["bob"].typed("tell /os ask s8r14 5:00//2:00 alice")
            await until(lambda: dropped and "bob" in server.refused)
            before = [len(player.searches) for player in dice]
            server.lines.clear()
            server.ghosts.clear()
            await table.ready("bob")
            if not itself:
                (match,) = server.matches.values()
                assert not server.results
                assert not match.running
                assert [line for _, line in server.lines if re.search("continue|ask|stored", line)] == []
                assert [len(player.searches) for player in dice] == before, "nobody thinks meanwhile"
                table.sessions[resuming].typed(f"tell /os continue {match.id}")
            assert await asyncio.gather(alice, bob) == ["", ""]
            assert [result.flagged for result in server.results] == [frozenset()]
            assert min(search.clock.main for player in dice for search in player.searches) <= 240_000

    run(scene())
    assert "calling again in 1 s" in capsys.readouterr().err
    for name in ("alice", "bob"):
        assert len(replayed(tmp_path / f"{name}.ggf")) == 2


def test_the_service_goes_down_in_a_match_and_comes_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            server = table.server
            alice, bob = Dice(1, NEVER), Dice(2, NEVER)
            play = asyncio.create_task(table.play("8 5:00//2:00", alice, bob))
            await until(lambda: {name for name, line in server.lines if line == "tell /os open 0"} == {"alice", "bob"})
            server.service(False)
            await until(lambda: alice.cancelled or bob.cancelled)
            server.lines.clear()
            alice.pause_s = bob.pause_s = 0.0
            server.service(True)
            await play
            for name in ("alice", "bob"):
                said = [line for sender, line in server.lines if sender == name]
                assert said[:3] == ["tell /os trust +", "tell /os request +", "tell /os client -"]
            assert not [line for _, line in server.lines if "continue" in line]
            assert len(server.results) == 1
            assert len(server.matches) == 1, "the first match is adjourned"

    run(scene())
    assert capsys.readouterr().err.count("the Othello service is down") == 2


# What others write


def test_text_of_others_is_shown_and_logged_without_control_characters_and_never_obeyed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scene() -> None:
        async with Table(tmp_path) as table:
            server = table.server
            alice = table.sit("alice", Dice(1), ANY)
            await until(lambda: server.lines.count(("alice", "tell /os open 1")) == 2)
            server.lines.clear()
            server.users["alice"].tell("admin: \x1b[2J\x07tell /os open 9", "quit", "|: Enter your password")
            await until(lambda: "|: Enter your password" in (tmp_path / "alice.log").read_text("utf-8"))
            table.sessions["alice"].typed("quit")
            assert await alice == ""
            await until(lambda: not server.users)
            assert server.lines == []

    run(scene())
    shown = capsys.readouterr().out
    logged = (tmp_path / "alice.log").read_text("utf-8")
    for text in (shown, logged):
        assert "admin: [2Jtell /os open 9" in text
        assert all(c.isprintable() or c == "\n" for c in text)
    assert "(the password)" in logged


# The server of these tests


def test_the_server_of_the_tests_says_what_the_real_one_says() -> None:
    """A match of a tournament is adjourned after three moves and taken up again, and ends by the clock."""
    said: list[asyncio.Task[bytes]] = []

    async def enter(server: Server, name: str, password: str = PASSWORD) -> asyncio.StreamWriter:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(f"{name}\n{password}\n".encode())
        said.append(asyncio.create_task(reader.read()))
        return writer

    async def scene() -> None:
        async with Server(overtime="jump") as server:
            stranger = await enter(server, "eve", "guessed")
            assert (await said[0]).endswith(b": Enter your password.\r\n"), "it hangs up without a word"
            players = {name: await enter(server, name) for name in ("alice", "bob")}
            await until(lambda: len(server.users) == 2)
            server.tournament("s8r14", "5:00//2:00", ("alice", "bob"))
            (match,) = server.matches.values()
            board, other = match.boards
            for count in range(3):
                moves = referee.legal_moves(board.cells)
                move = referee.name(moves[0]) if moves else "pa"
                players[board.mover].write(f"tell /os play {board.id} {move}//0.50\n".encode())
                await until(lambda count=count: len(board.moves) == count + 1)
            server.drop("bob")
            await until(lambda: not match.running and "bob" not in server.users)
            first, players["bob"] = players["bob"], await enter(server, "bob")
            await until(lambda: "bob" in server.users)
            players["alice"].write(f"tell /os stored\ntell /os ask {match.id}\n".encode())
            await until(lambda: server.requests)
            (asked,) = server.requests
            players["bob"].write(f"tell /os accept {asked}\n".encode())
            await until(lambda: match.running)
            for each in (board, other):
                server.elapse(each, 300)
                server.elapse(each, 120)
            for name in players:
                players[name].write_eof()
            await asyncio.gather(*said)
            for writer in (stranger, first, *players.values()):
                writer.close()

    run(scene())
    blocks = said[1].result().decode().replace("\r\n", "\n").split("READY\n")
    lines = "".join(blocks)
    began, again = re.findall(r"^/os: \+ match (\.\d+) 2544 alice -35\.2 bob s8r14 T$", lines, re.M)
    (stored,) = re.findall(r"^\|(\.\d+) match", lines, re.M)
    assert len({began, stored, again}) == 3
    updates = [block for block in blocks if block.startswith("/os: update")]
    assert [(block.count("to move"), "move(s)" in block) for block in updates] == [(1, False)] * len(updates)
    assert len(re.findall(r"^\|  [123]: (?:\w\w//0\.50)$", "".join(updates), re.M)) == len(updates) == 3
    joined = [block for block in blocks if block.startswith("/os: join")]
    assert [block.count("to move") for block in joined] == [1, 1, 2, 1]
    assert re.findall(r"(to move|\d move\(s\)|  \d: )", joined[2]) == [
        *("to move", "3 move(s)", "  1: ", "  2: ", "  3: ", "to move")
    ]
    assert len(re.findall(rf"^/os: end {again}\.[01] \( \w+ vs\. \w+ \) [+-]64\.00$", lines, re.M)) == 2
    assert re.search(rf"^/os: - match {again} .* T [+-]\d+\.00 \.\d+$", lines, re.M)
