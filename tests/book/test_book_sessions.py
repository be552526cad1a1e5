"""Sessions of random commands: after each the scores that were followed from what changed are those of a negamax of the
whole book."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from toys import game_positions

from desdaemon.book.book import Book, ByHand
from desdaemon.book.check import verify
from desdaemon.book.editing import shrink
from desdaemon.book.editing.add import BookGame, add_games, add_positions, fix
from desdaemon.book.editing.by_hand import edit, unedit
from desdaemon.book.editing.game_results import count, live_game
from desdaemon.book.editing.rounds import CommandProgress, Worker
from desdaemon.book.growth import grow, learn, research
from desdaemon.book.layout import NO_SCORE
from desdaemon.book.options import BookOptions, Rule
from desdaemon.book.record import START, PositionEntry
from desdaemon.book.reports.compare import merge
from desdaemon.protocol.othello import rules

pytestmark = [pytest.mark.needs("book.growth"), pytest.mark.needs("book.reports")]

DEPTH = 9
MOST = 120
"""Of more positions than this a session keeps a part."""

Command = Callable[["Session"], object]


def scored(player: int, opponent: int, level: int, excluded: int) -> tuple[int, int]:
    """A search whose answer is made up: the same for the same question."""
    legal = Book().table.moves(player, opponent) & ~excluded
    dice = random.Random(player * 31 + opponent * 7 + excluded + level)
    return dice.choice([square for square in range(64) if legal >> square & 1]), dice.randint(-12, 12)


class Session:
    """A book, and what a session does with it."""

    def __init__(self, seed: int, rule: Rule) -> None:
        self.dice = random.Random(seed)
        self.book = Book(BookOptions(level=2, min_empties=61 - DEPTH, rule=rule))
        add_positions(self.book, [START], Worker(scored))

    def worker(self) -> Worker:
        """A worker, of which every third stops after some steps."""
        left = self.dice.choice([10**9, 10**9, self.dice.randrange(1, 20)])

        def on_progress(report: CommandProgress) -> bool:
            nonlocal left
            left -= 1
            return left > 0

        return Worker(scored, on_progress=on_progress)

    def moves(self, plies: int) -> list[int]:
        """The moves of a random game."""
        position, moves = START, list[int]()
        while len(moves) < plies:
            legal = self.book.table.moves(*position)
            if not legal:
                break
            moves.append(self.dice.choice([square for square in range(64) if legal >> square & 1]))
            position = self.book.table.play(*position, moves[-1])
        return moves

    def game(self) -> list[tuple[int, int]]:
        """The positions of a random game."""
        return game_positions(self.book, self.moves(self.dice.randrange(1, DEPTH + 1)))

    def entry(self) -> PositionEntry:
        """Any position of the book."""
        return self.book.table.entry(self.dice.randrange(len(self.book)))

    def window(self) -> learn.Window:
        """Any window of learning."""
        return learn.Window(self.dice.randrange(2, DEPTH), self.dice.randrange(12), self.dice.randrange(20))


def _edit(session: Session) -> None:
    entry, dice = session.entry(), session.dice
    legal = [move for move, _ in session.book.table.links(*entry[:2]) if move < 64]
    edit(session.book, *entry[:2], dice.choice([None, *legal]), dice.choice((-1, 1)) * dice.randint(30, 64))
    session.book.negamax()


def _unedit(session: Session) -> None:
    edited = [entry[:2] for entry in session.book.edited()]
    if edited:
        unedit(session.book, *session.dice.choice(edited))
        session.book.negamax()


def _forget_edits(session: Session) -> None:
    session.book.by_hand = ByHand()


def _delete(session: Session) -> None:
    entry = session.entry()
    if entry[:2] != START:
        shrink.delete(session.book, entry[:2])


def _results(session: Session) -> None:
    count(session.book, live_game(session.game(), session.dice.randint(-20, 20), "store", learned=True))


def _merge(session: Session) -> None:
    other = Session(session.dice.randrange(1 << 30), session.dice.choice(list(Rule)))
    for _ in range(3):
        session.dice.choice([_store, _unsearched, _edit])(other)
    merge(session.book, other.book)


def _store(session: Session) -> None:
    add_positions(session.book, session.game(), session.worker())


def _unsearched(session: Session) -> None:
    games = [BookGame(bytes(session.moves(DEPTH)), session.dice.randint(-4, 4)) for _ in range(2)]
    add_games(session.book, games, session.worker(), keep_results=True, search=False)


def _errors(session: Session) -> None:
    session.book.options = session.book.options._replace(midgame_error=session.dice.randrange(4))
    session.book.negamax()


def _rule(session: Session) -> None:
    session.book.options = session.book.options._replace(rule=session.dice.choice(list(Rule)))
    session.book.negamax()


COMMANDS: list[Command] = [
    _edit,
    _unedit,
    _unedit,
    _forget_edits,
    _delete,
    _delete,
    _results,
    _merge,
    _store,
    _unsearched,
    _errors,
    _rule,
    lambda session: fix(session.book, session.worker()),
    lambda session: grow.deviate(session.book, session.entry()[:2], session.worker(), 2, 8),
    lambda session: grow.play_out(session.book, session.entry()[:2], session.worker()),
    lambda session: research.deepen(session.book, session.worker(), session.dice.randrange(1, 5)),
    lambda session: learn.learn(session.book, START, session.worker(), session.window(), 2, 3),
    lambda session: learn.recalculate_leaves(session.book, START, session.worker(), session.window(), 3),
    lambda session: learn.reduce(session.book, session.entry()[:2], session.window()),
    lambda session: shrink.prune(session.book),
    lambda session: shrink.cut(session.book, session.dice.randrange(4, DEPTH)),
]


def fields(book: Book) -> list[PositionEntry]:
    return sorted(book.table.entry(row) for row in range(len(book)))


def negamaxed(book: Book) -> list[PositionEntry]:
    """The entries of a book with the same leaves, all of whose scores were computed at once."""
    whole = Book(book.options)
    whole.put_new(np.concatenate(list(book.table.chunks())))
    for entry in fields(whole):
        if not entry.human and any(child >= 0 for _, child in whole.table.links(*entry[:2])):
            # What its links and its leaf do not tell, nobody knows.
            whole.put(entry._replace(score=NO_SCORE, lower=NO_SCORE, upper=-NO_SCORE))
    whole.forget_state()
    whole.negamax()
    return fields(whole)


def check_session(seed: int, commands: int) -> None:
    session = Session(seed, list(Rule)[seed % 2])
    book = session.book
    for number in range(commands):
        command = session.dice.choice(COMMANDS)
        command(session)
        if len(book) > MOST:
            shrink.cut(book, DEPTH // 2)
        if book.table.find(*START) < 0:
            add_positions(book, [START], Worker(scored))
        book.options = book.options.at_depth(DEPTH)
        book.negamax()
        known, where = fields(book), f"seed {seed}, command {number}: {command}"
        assert known == negamaxed(book), where
        if not any(entry.human or rules.is_over(*entry[:2]) for entry in known):
            # Scores by hand are larger than those of searches: none outlives its position. So is that of a wipe-out.
            assert all(abs(entry.score) <= 12 or entry.score == NO_SCORE for entry in known), where
            assert all(abs(entry.leaf_score) <= 12 for entry in known if entry.has_leaf), where
        if book.options.rule is Rule.EDAX:
            assert verify(book).clean, where


@pytest.mark.parametrize("seed", range(6))
def test_scores_after_every_command_are_those_of_the_whole_book(seed: int) -> None:
    check_session(seed, 60)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_long_sessions_keep_every_rule_of_a_book(seed: int) -> None:
    check_session(seed, 500)
