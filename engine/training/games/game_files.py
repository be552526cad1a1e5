"""Stage `games`: from game files to verified lists of moves.

WTHOR databases (.wtb) and text with one game a line (`f5d6c3...`, case and blanks ignored, no other words). Every game
is replayed by the rules.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from desdaemon.clients.gamefiles import wthor_bases
from desdaemon.engine.training.labelling import boards
from desdaemon.engine.training.store import Arrays, StageProgress, TrainingError, digest, save
from desdaemon.protocol.games import bases
from desdaemon.protocol.games.contents import content_of
from desdaemon.protocol.othello.notation import parse_moves
from desdaemon.protocol.system import logs

_LINE = re.compile(r"(?:[a-h][1-8]){1,60}")


def read_wthor(path: Path) -> NDArray[np.uint8]:
    """Return the squares (games, 60) of a WTHOR file, uint8, 0 = A1, NO_SQUARE after the last move.

    Records that cannot be read are left out, with a message. Raises `BadInput` for an unusable file.
    """
    return squares_of([game.moves for game in wthor_bases.read_wthor(str(path), logs.message).games.values()])


def read_lines(path: Path) -> NDArray[np.uint8]:
    """Return the squares (games, 60) uint8, as `read_wthor` does, of a text file with a game a line; skip blank lines.

    Raises `BadInput` for an unusable file, and `TrainingError` for a line that is no game, with its number.
    """
    games = []
    for number, line in enumerate(content_of(str(path)).lines(), 1):
        text = "".join(line.lower().split())
        if text and not _LINE.fullmatch(text):
            raise TrainingError(f"{path}:{number}: expected up to 60 moves like f5d6c3, found {line[:40]!r}")
        if text:
            games.append(bytes(parse_moves(text)))
    return squares_of(games)


def squares_of(games: list[bytes]) -> NDArray[np.uint8]:
    """Return the moves of games as rows of 60 squares, NO_SQUARE after the last move."""
    rows = np.full((len(games), 60), boards.NO_SQUARE, np.uint8)
    for row, moves in zip(rows, games, strict=True):
        row[: len(moves)] = np.frombuffer(moves, np.uint8)
    return rows


def wthor_files(paths: list[Path]) -> list[Path]:
    """Return the files of ``paths``; a folder stands for its .wtb files, packed or not, sorted by name."""
    files: list[Path] = []
    for path in paths:
        inside = sorted(path.iterdir()) if path.is_dir() else []
        files += [file for file in inside if bases.extension_of(file.name) == "wtb"] if path.is_dir() else [path]
    return files


def read_files(paths: list[Path]) -> tuple[NDArray[np.uint8], list[str]]:
    """Return the squares of all files, as one array, and a line about each file. A folder stands for its .wtb files,
    sorted by name.

    Raises `TrainingError` if there is no file or a line is no game, and `BadInput` for an unusable file.
    """
    files = wthor_files(paths)
    if not files:
        raise TrainingError(f"{', '.join(map(str, paths))}: no game files (*.wtb) there")
    parts, account = [], []
    for file in files:
        games = read_wthor(file) if bases.extension_of(file.name) == "wtb" else read_lines(file)
        parts.append(games)
        account.append(f"{file.name}: {len(games)}")
    return np.concatenate(parts), account


def verify(squares: NDArray[np.uint8]) -> tuple[Arrays, dict[str, int]]:
    """Replay games and drop illegal, empty and repeated ones; games that a symmetry of the start position turns into
    one another count as repeated.

    Returns arrays (squares (games, 60) uint8, lengths uint8, scores int8 in discs for the first player, finished bool)
    and counts for the record.
    """
    lengths = np.zeros(len(squares), np.uint8)
    scores = np.zeros(len(squares), np.int8)
    finished = np.zeros(len(squares), np.bool_)
    illegal = boards.replay(squares, lengths, scores, finished)
    file, rank = squares % 8, squares // 8
    turned = np.stack(
        [squares, rank + 8 * file, (7 - file) + 8 * (7 - rank), (7 - rank) + 8 * (7 - file)], axis=1
    ).astype(np.uint8)
    turned[np.broadcast_to((squares == boards.NO_SQUARE)[:, None, :], turned.shape)] = boards.NO_SQUARE
    # The first move names the symmetry: only one image begins with D3.
    image = np.argmax(turned[:, :, 0] == 19, axis=1)
    standard = turned[np.arange(len(squares)), image]
    _, first = np.unique(standard.view("V60").ravel(), return_index=True)
    keep = np.zeros(len(squares), np.bool_)
    keep[first] = True
    keep &= lengths > 0
    account = {
        "records": len(squares),
        "illegal": int(illegal),
        "repeated": int(len(squares) - len(first)),
        "unfinished": int((keep & ~finished).sum()),
        "games": int(keep.sum()),
    }
    arrays = {"squares": squares, "lengths": lengths, "scores": scores, "finished": finished}
    return {name: array[keep] for name, array in arrays.items()}, account


def run(sources: list[Path], out: Path) -> None:
    """Read and verify the games of ``sources``, and write them to ``out``."""
    progress = StageProgress("games")
    squares, files = read_files(sources)
    progress.say(f"{len(squares)} records in {len(files)} files")
    arrays, account = verify(squares)
    progress.say(", ".join(f"{value} {name}" for name, value in account.items()))
    record = {"stage": "games", "files": files, **account, "digest": digest(arrays["squares"])}
    save(out, arrays, record, compress=True)
