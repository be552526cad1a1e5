"""The operation `games.get`: what people played in a position, by the index of games."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.wire.constants import MOST_LISTED_MOVES
from desdaemon.protocol.wire.messages import RequestError
from desdaemon.protocol.wire.positions import check_list_alone, last_position, read_listed

from .files import games_index
from .rows import GAMES_FILE

if TYPE_CHECKING:
    from desdaemon.core.requests.operations import OperationContext
    from desdaemon.core.requests.request import Data, PendingRequest

    from .index import Played, TalliedMove


def get(context: OperationContext, request: PendingRequest) -> Data:
    """Return what was played, as the data of the request's final; if the request ends meanwhile, as much as was looked
    up until then. Raises `RequestError` for a wrong position, too many games to list, and if there is no index.
    """
    values = request.values
    many = values.get("positions")
    if many is not None:
        check_list_alone(values)
        if len(many) * values.get("games", 0) > MOST_LISTED_MOVES:
            message = f"{len(many)} positions with {values['games']} games: expected at most {MOST_LISTED_MOVES}"
            raise RequestError("too_large", message, "games")
        positions = [read_listed(number, item, last_position) for number, item in enumerate(many)]
    else:
        positions = [last_position(values)]
    file = context.settings.value(GAMES_FILE, str)
    try:
        results = list(_looked_up(file, request, [position[:2] for position in positions]))
    except BadInput as error:
        raise RequestError("not_found", context.hidden.sub("", str(error))) from None
    return {"results": results} if many is not None else results[0] if results else {}


def _looked_up(file: str, request: PendingRequest, positions: list[tuple[int, int]]) -> Iterator[Data]:
    index = games_index(file)
    from .index import Filter

    chosen = Filter(**{name: request.values[name] for name in Filter._fields if name in request.values})
    games = request.values.get("games", 0)
    for played in index.look_up_many(positions, chosen, games=games):
        if request.over:
            return
        yield played_data(played, listed=games > 0)


def played_data(played: Played, *, listed: bool) -> Data:
    """Return what was played in a position as data; with ``listed`` the games and the players of each move too."""
    data: Data = {"moves": [_move_data(move, listed=listed) for move in played.moves]}
    if listed:
        data["games"] = [{**game._asdict(), "year": game.year or None} for game in played.games]
    return data


def _move_data(move: TalliedMove, *, listed: bool) -> Data:
    data: Data = {
        "move": move.move,
        "games": move.games,
        "wins": move.wins,
        "draws": move.draws,
        "losses": move.losses,
        "mean": None if move.mean is None else round(move.mean, 2),
        "first": move.first or None,
        "last": move.last or None,
    }
    if listed:
        data["players"] = [{"name": name, "games": games} for name, games in move.players]
    return data
