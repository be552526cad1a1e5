"""Games by the referee's rules, drawn by lot."""

from __future__ import annotations

import functools
import random

import referee

from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, Position
from desdaemon.protocol.othello.rules import PASS

OTHER_START = "-------------------O-------OO------OX--------------------------- X"


@functools.lru_cache(4096)
def random_game(seed: int, plies: int, initial: Position = START) -> GameRecord:
    """A game of the referee's, with its passes."""
    cells = referee.from_bits(*initial[:2])
    choices = random.Random(seed)
    moves: list[PlayedMove] = []
    while len(moves) < plies and not referee.game_over(cells):
        legal = referee.legal_moves(cells)
        move = choices.choice(legal) if legal else PASS
        cells = referee.play(cells, move) if legal else referee.passed(cells)
        moves.append(PlayedMove(move, 0.0))
    return GameRecord(initial, tuple(moves), 'Bl"ack \\ ', "Wh]ite")


@functools.cache
def with_pass() -> GameRecord:
    """A finished game with a pass in it."""
    return next(
        game
        for game in (random_game(seed, 99) for seed in range(100))
        if any(played.move == PASS for played in game.moves[:-1])
    )


def random_boards(number: int, empties: int, seed: int) -> list[tuple[int, int]]:
    """Boards (mover, opponent) with a legal move and so many empty squares, from random play."""
    dice = random.Random(seed)
    found: list[tuple[int, int]] = []
    while len(found) < number:
        player, opponent = rules.START
        while legal := rules.legal_moves(player, opponent) or rules.legal_moves(opponent, player):
            if not rules.legal_moves(player, opponent):
                player, opponent = opponent, player
            if (player | opponent).bit_count() >= 64 - empties:
                break
            moves = rules.squares(legal)
            move = moves[int(dice.random() * len(moves))]
            turned = rules.flips(player, opponent, move)
            player, opponent = opponent ^ turned, player | turned | 1 << move
        else:
            continue
        found.append((player, opponent))
    return found
