"""`desdaemon analyze` with a daemon that runs already."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from random_games import random_game
from served import Served, serving

from desdaemon.clients import Client
from desdaemon.clients.analysis import analyze as command
from desdaemon.protocol.games.bases import FileGame, write_games
from desdaemon.protocol.othello.rules import PASS


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("d")) as served:
        yield served


def test_a_game_is_analysed_by_a_running_daemon(
    daemon: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "game.ggf")
    game = random_game(3, 99)
    write_games(path, [FileGame(game._replace(black="a", white="b"))])
    assert command.main([path, "--depth", "2", "--server", daemon.ipc, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["steps"]) == len(game.moves)
    assert all(step["sure"] for step, played in zip(found["steps"], game.moves, strict=True) if played.move != PASS)


def test_a_missing_daemon_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Client, "connect", functools.partial(Client.connect, timeout_s=0.2))
    path = tmp_path / "game.txt"
    path.write_text("f5d6c3\n")
    assert command.main([str(path), "--server", f"ipc://{tmp_path}/none"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("desdaemon analyze: ")
    assert err.count("\n") == 1
