"""The command ``games show``: what people played in the position on the board."""

from __future__ import annotations

from typing import TYPE_CHECKING

from desdaemon.dialogue.session import CommandContext, Session
from desdaemon.protocol.commands.options import number_within, split_words, whole_number
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.judgement import equivalents
from desdaemon.protocol.othello.notation import Position, parse_move
from desdaemon.protocol.othello.scores import BlackScore, discs_text
from desdaemon.protocol.spelling import did_you_mean
from desdaemon.protocol.wire.constants import MOST_GAMES

from .files import games_index
from .rows import GAMES_FILE

if TYPE_CHECKING:
    from .index import Filter, ListedGame, Played, TalliedMove

_USAGE = "games show [n] [player|black|white|event name] [years first-last]"
_GAMES = 10
_COLUMNS = 75
"""Most columns of a row after its move; players that do not fit are left out."""


def show(context: CommandContext, argument: str) -> None:
    words = split_words(argument)
    if not words or words[0].lower() != "show":
        raise BadInput(f"games {quoted(argument)}: {did_you_mean(words[0] if words else '', ('show',), _USAGE)}")
    del words[0]
    wanted = _GAMES
    if words and whole_number(words[0]) is not None:
        wanted = number_within("games show", words.pop(0), 0, MOST_GAMES)
    chosen = _filter(words)
    index = games_index(context.settings.value(GAMES_FILE, str))
    position = context.session.game.position
    played = index.look_up(position.player, position.opponent, chosen, games=wanted)
    if not played.moves:
        context.say("no game")
        return
    losses = _losses(context.session, position, played)
    name = str.upper if position.black_to_move else str.lower
    context.say(" move    games   won drawn  lost   mean" + ("  loss" if losses else "") + "  years      often by")
    for move in played.moves:
        loss = f"  {losses.get(move.move, ''):>4}" if losses else ""
        context.say(f"  {name(move.move)} {_row(move, loss)}".rstrip())
    if losses:
        known = [move for move in played.moves if move.move in losses]
        lost = sum(move.games * losses[move.move] for move in known)
        context.say(f"{lost / sum(move.games for move in known):.2f} discs lost a move by the book's scores")
    if played.games:
        context.say("")
    for game in played.games:
        context.say(f"{_game(game)} {name(game.move)}")


def _filter(words: list[str]) -> Filter:
    """Return the filter that words such as ``black NAME years 1990-1999`` spell; without a word it lets every game
    pass. Raises `BadInput` for words that spell no filter.
    """
    from .index import Filter

    values: dict[str, str | int] = {}
    for place in range(0, len(words), 2):
        word = words[place].lower()
        if word not in ("player", "black", "white", "event", "years"):
            meant = did_you_mean(word, ("player", "black", "white", "event", "years"), _USAGE)
            raise BadInput(f"games show {quoted(word)}: {meant}")
        value = words[place + 1] if place + 1 < len(words) else ""
        if word != "years" and value:
            values[word] = value
            continue
        first, dash, last = value.partition("-")
        years = [whole_number(year or "0") for year in (first, last if dash else first)]
        if not value or any(year is None or not 0 <= year <= 9999 for year in years):
            raise BadInput(
                f"games show {word} {quoted(value)}: expected {'1990-1999' if word == 'years' else 'a name'}"
            )
        values["from_year"], values["to_year"] = (year or 0 for year in years)
    return Filter(**values)  # type: ignore[arg-type]


def _losses(session: Session, position: Position, played: Played) -> dict[str, int]:
    """Return, for each move in ``played``, by how many discs its score in the book is below the best move's. Moves that
    the book lacks are left out; {} without a book.
    """
    book = session.books.book if session.books is not None else None
    if book is None:
        return {}
    with book.table.lock:
        scores = {move.move: move.score for move in book.moves_on(position.player, position.opponent)}
    scores = {move: score for move, score in scores.items() if -64 <= score <= 64}
    losses = {}
    for move in played.moves:
        same = equivalents(position, parse_move(move.move))
        known = [score for other, score in scores.items() if same >> other & 1]
        if known:
            losses[move.move] = max(scores.values()) - known[0]
    return losses


def _row(move: TalliedMove, loss: str) -> str:
    known = move.wins + move.draws + move.losses
    parts = (f"{100 * part / known:5.1f}" if known else "     " for part in (move.wins, move.draws, move.losses))
    mean = f"{move.mean:+6.2f}" if move.mean is not None else "      "
    years = f"{move.first}-{move.last}" if move.last > move.first else str(move.last or "")
    line = f"{move.games:>9} {' '.join(parts)} {mean}{loss}  {years:<9}  "
    for place, (name, number) in enumerate(move.players):
        player = f"{', ' if place else ''}{name} {number}"
        line += player if len(line) + len(player) <= _COLUMNS else ""
    return line


def _game(game: ListedGame) -> str:
    discs = discs_text(BlackScore(game.result)) if game.result is not None else "?"
    event = game.event or game.file
    return f"{game.year or '':>4}  {game.black:<20.20} {discs:>5}  {game.white:<20.20} {event:<20.20}"
