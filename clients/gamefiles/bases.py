"""The commands ``base ...`` convert, compare, check and complete files of many games."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import NamedTuple

from desdaemon.dialogue.interrupt import StoppableSearch
from desdaemon.dialogue.session import CommandContext, unlimited
from desdaemon.protocol.commands.options import file_names, number_within
from desdaemon.protocol.errors import BadInput, Complaints, quoted
from desdaemon.protocol.games.bases import FileGame, append_to_file, expect_other_files, read_games, write_games
from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, board_text
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.spelling import did_you_mean, plural
from desdaemon.protocol.system.terminal import ElapsedTime

from .pgn import fen_text
from .rows import BASE_COMMANDS

MOST_EMPTIES = 30
"""Most empty squares of a position that is solved."""
MOST_DIFFERENT = 1_000_000
"""Most games or positions that are told apart; each takes some 100 bytes of memory."""


def run(context: CommandContext, argument: str) -> None:
    words = file_names(argument)
    name = words[0].lower() if words else ""
    command = next((command for command in BASE_COMMANDS if command.name == name), None)
    if command is None:
        names = [command.name for command in BASE_COMMANDS]
        meant = did_you_mean(name, names, f"one of {', '.join(names)}")
        raise BadInput(f"base {quoted(argument)}: {meant}")
    if len(words) - 1 != len(command.parameters.split()):
        raise BadInput(f"base {quoted(argument)}: expected base {command.name} {command.parameters}")
    if command.parameters.endswith(" out"):
        expect_other_files({f"base {name}": words[-1]}, words[1:2])
    with (
        context.session.interrupt.searching(bounded=True) as search,
        ElapsedTime(f"base {name}", wanted=not context.session.remote),
    ):
        _ACTIONS[name](_BaseCommand(context, search), words[1:])


class _BaseCommand(NamedTuple):
    """A running command: its dialogue, and the search that a stop ends."""

    context: CommandContext
    search: StoppableSearch

    def games(self, path: str) -> Iterator[FileGame]:
        """Yield the games of a file until a stop; report and skip unreadable ones."""
        with Complaints(self.context.warn) as few:
            for game in read_games(path, few):
                if self.search.stopped:
                    return
                yield game

    def say_written(self, count: int, what: str, path: str) -> None:
        """Report that ``count`` games or positions (``what``, in the singular) were written to ``path``."""
        self.context.say(f"{plural(count, what)} written to {path}")


def _convert(work: _BaseCommand, words: list[str]) -> None:
    source, target = words
    work.say_written(write_games(target, work.games(source), append=True), "game", target)


def _unique(work: _BaseCommand, words: list[str]) -> None:
    source, target = words
    work.say_written(write_games(target, _different(work.games(source)), append=True), "different game", target)


def _different(games: Iterator[FileGame]) -> Iterator[FileGame]:
    """Yield the games without those that equal an earlier one, mirrored or not."""
    seen = _Seen("games")
    return (game for game in games if seen.add(min(_image(game.record, symmetry) for symmetry in range(8))))


class _Seen:
    """What was seen, as digests: ``what``, in the plural, such as games."""

    def __init__(self, what: str) -> None:
        self.digests: set[bytes] = set()
        self._what = what

    def add(self, item: object) -> bool:
        """Add an item, which its `repr` says in full; return whether it is new. Raises `BadInput` for more than
        `MOST_DIFFERENT`.
        """
        count = len(self.digests)
        self.digests.add(blake2b(repr(item).encode(), digest_size=16).digest())
        if len(self.digests) > MOST_DIFFERENT:
            raise BadInput(f"expected at most {MOST_DIFFERENT:,} different {self._what}: split the file")
        return len(self.digests) > count


def _image(record: GameRecord, symmetry: int) -> tuple[Position, bytes]:
    """Return a game's first position and moves under a symmetry of `rules.transform`."""
    player, opponent, black = record.initial
    moves = bytes(rules.transform_move(played.move, symmetry) for played in record.moves)
    return Position(rules.transform(player, symmetry), rules.transform(opponent, symmetry), black), moves


def _problem(work: _BaseCommand, words: list[str]) -> None:
    _write_positions(work, words, lambda position: f"{board_text(position)};")


def _to_fen(work: _BaseCommand, words: list[str]) -> None:
    _write_positions(work, words, fen_text)


def _write_positions(work: _BaseCommand, words: list[str], line: Callable[[Position], str]) -> None:
    source, count, target = words
    empties = number_within("base, empties", count, 0, 60)
    seen = _Seen("positions")
    lines = bytearray()
    for game in work.games(source):
        for position, _ in _steps(game.record):
            key = rules.canonical(position.player, position.opponent)
            if position.empties == empties and not position.must_pass and not position.over and seen.add(key):
                lines += f"{line(position)}\n".encode()
    append_to_file(target, lines)
    work.say_written(len(seen.digests), "different position", target)


def _steps(record: GameRecord) -> Iterator[tuple[Position, int]]:
    """Yield each position of a game with the move played there."""
    position = record.initial
    for played in record.moves:
        yield position, played.move
        position = position.after(played.move)


class _EndgameErrors(NamedTuple):
    """Errors in endgames: moves checked, moves that lost discs, discs lost."""

    moves: int = 0
    mistakes: int = 0
    discs: int = 0

    def text(self) -> str:
        """Return a text such as ``2 of 12 moves lost 6 discs``."""
        return f"{self.mistakes} of {plural(self.moves, 'move')} lost {plural(self.discs, 'disc')}"


def _check(work: _BaseCommand, words: list[str]) -> None:
    source, count = words
    empties = number_within("base check, empties", count, 1, MOST_EMPTIES)
    total, games, wrong = _EndgameErrors(), 0, 0
    for game in work.games(source):
        errors, _ = _judged(work, game.record, empties)
        if work.search.stopped:
            break
        games += 1
        wrong += errors.mistakes > 0
        total = _EndgameErrors(*(a + b for a, b in zip(total, errors, strict=True)))
        if errors.mistakes:
            work.context.say(f"game {game.number}: {errors.text()}")
    work.context.say(f"{plural(games, 'game')}, {wrong} with mistakes; {total.text()}")


def _correct(work: _BaseCommand, words: list[str]) -> None:
    source, count = words
    empties = number_within("base correct, empties", count, 1, MOST_EMPTIES)
    corrected = 0

    def better() -> Iterator[FileGame]:
        nonlocal corrected
        for game in work.games(source):
            _, record = _judged(work, game.record, empties)
            corrected += record != game.record
            yield game._replace(record=record, result=None)

    _rewrite(work, source, better())
    work.context.say(f"{plural(corrected, 'game')} corrected in {source}")


def _judged(work: _BaseCommand, record: GameRecord, empties: int) -> tuple[_EndgameErrors, GameRecord]:
    """Check those moves of a game that were played with at most ``empties`` empty squares. Returns their errors, and
    the game with best play from the first error on. After a stop no errors and the unchanged game are returned.
    """
    moves = mistakes = discs = 0
    faultless: tuple[PlayedMove, ...] | None = None
    best = 0
    for number, (position, move) in enumerate(_steps(record)):
        if position.empties > empties or move == PASS:
            continue
        if not moves:
            best = _solved(work, position)
        after = position.after(move)
        worth = -_solved(work, after)
        moves += 1
        if worth < best:
            mistakes += 1
            discs += best - worth
            faultless = record.moves[:number] if faultless is None else faultless
        best = worth if after.must_pass else -worth
        if work.search.stopped:
            return _EndgameErrors(), record
    if faultless is None:
        return _EndgameErrors(moves, mistakes, discs), record
    return _EndgameErrors(moves, mistakes, discs), _finished(work, record._replace(moves=faultless), exact=True)


def _solved(work: _BaseCommand, position: Position) -> int:
    """Return the exact score in discs for the side to move; after a stop it may be inexact."""
    if position.over:
        return rules.final_score(position.player, position.opponent)
    return work.context.session.search(position, unlimited(position), window=(-64, 64)).lines[0].score


def _complete(work: _BaseCommand, words: list[str]) -> None:
    (source,) = words
    completed = 0

    def longer() -> Iterator[FileGame]:
        nonlocal completed
        for game in work.games(source):
            over = game.record.final.over
            completed += not over
            yield game if over else game._replace(record=_finished(work, game.record, exact=False), result=None)

    _rewrite(work, source, longer())
    work.context.say(f"{plural(completed, 'game')} completed in {source}")


def _finished(work: _BaseCommand, record: GameRecord, exact: bool) -> GameRecord:
    """Return the game played on to its end, by searches with the options' limits and window or, with ``exact``, by
    solving each position.
    """
    session = work.context.session
    position, moves = record.final, list(record.moves)
    while not position.over:
        move = PASS
        if not position.must_pass:
            limits, window = (unlimited(position), (-64, 64)) if exact else (session.limits(position), None)
            move = session.search(position, limits, window=window).lines[0].move
        moves.append(PlayedMove(move, 0.0))
        position = position.after(move)
    return record._replace(moves=tuple(moves))


def _rewrite(work: _BaseCommand, path: str, games: Iterable[FileGame]) -> None:
    """Replace a file by its changed games. Raises `BadInput` for a file that cannot be read, and after a stop; the file
    is then unchanged.
    """
    for _ in read_games(path):
        pass
    write_games(path, _unless_stopped(work, path, games))


def _unless_stopped(work: _BaseCommand, path: str, games: Iterable[FileGame]) -> Iterator[FileGame]:
    yield from games
    if work.search.stopped:
        raise BadInput(f"{quoted(path)}: stopped; the file is unchanged")


def _compare(work: _BaseCommand, words: list[str]) -> None:
    both = _Seen("games"), _Seen("games")
    for path, seen in zip(words, both, strict=True):
        for game in work.games(path):
            seen.add(_image(game.record, 0))
    if work.search.stopped:
        raise BadInput("base compare: stopped")
    first, second = both[0].digests, both[1].digests
    common = sum(mark in second for mark in first)
    work.context.say(f"{len(first) - common} only in {words[0]}, {len(second) - common} only in {words[1]}")
    work.context.say(f"{common} in both")


_ACTIONS: dict[str, Callable[[_BaseCommand, list[str]], None]] = {
    "convert": _convert,
    "unique": _unique,
    "problem": _problem,
    "tofen": _to_fen,
    "check": _check,
    "correct": _correct,
    "complete": _complete,
    "compare": _compare,
}
