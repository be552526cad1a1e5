"""The index page of many analyses: the games, and each player's losses in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from desdaemon.protocol.othello.scores import BlackScore

from .game import PlayerSummary
from .page_style import STYLE


class GameRow(NamedTuple):
    """A row of the index: the summary of a game's analysis. ``page`` is the file name of its page, or empty; names may
    be empty.
    """

    number: int
    black: str
    white: str
    about: str
    result: BlackScore | None
    summaries: tuple[PlayerSummary, PlayerSummary]
    worst: tuple[str, str]
    page: str


class PlayerRow(NamedTuple):
    """A player, identified by name, over all games."""

    name: str
    games: int
    choices: int
    accuracy: float
    lost: int


def players(rows: Sequence[GameRow]) -> list[PlayerRow]:
    """The players that have names, the most accurate first; accuracy is the mean of all their choices."""
    found: dict[str, list[tuple[int, float, int]]] = {}
    for row in rows:
        for name, account in zip((row.black, row.white), row.summaries, strict=True):
            if not name:
                continue
            found.setdefault(name, []).append((account.choices, account.accuracy, account.lost))
    listed = []
    for name, games in found.items():
        choices = sum(count for count, _, _ in games)
        accuracy = sum(count * value for count, value, _ in games) / choices if choices else 100.0
        listed.append(PlayerRow(name, len(games), choices, accuracy, sum(lost for _, _, lost in games)))
    return sorted(listed, key=lambda player: (-player.accuracy, player.name))


def index_page(rows: Sequence[GameRow], engine: str) -> str:
    """The HTML page."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{len(rows)} games, analysed by {escape(engine)}</title>
<style>{STYLE}</style>
</head>
<body>
<header><h1>{len(rows)} {"game" if len(rows) == 1 else "games"}</h1><p>analysed by {escape(engine)}</p></header>
<section class="games"><h2>Games</h2>
{_games(rows)}
</section>
<section class="games"><h2>Players</h2>
{_players(players(rows))}
</section>
</body>
</html>
"""


_HEADS = (
    ("Game", ""),
    ("Black", "text"),
    ("acc.", ""),
    ("lost", "minor"),
    ("White", "text"),
    ("acc.", ""),
    ("lost", "minor"),
    ("Result", "text"),
    ("Costliest", "minor"),
    ("Event", "text minor"),
)
"""The columns of the games and their classes; ``minor`` ones are left out on narrow screens."""


def _games(rows: Sequence[GameRow]) -> str:
    body = []
    for row in rows:
        number = f'<a href="{escape(row.page)}">{row.number}</a>' if row.page else str(row.number)
        cells = [f'<th scope="row">{number}</th>']
        for name, account in zip((row.black, row.white), row.summaries, strict=True):
            cells.append(f'<td class="text">{escape(name or "?")}</td>')
            cells.append(f'<td>{account.accuracy:.1f}&nbsp;%</td><td class="minor">{account.lost}</td>')
        at = max((0, 1), key=lambda side: _cost(row, side))
        worst = row.summaries[at].worst
        text = escape(row.worst[at])
        if worst and row.page:
            text = f'<a href="{escape(row.page)}#{worst}">{text}</a>'
        cells.append(f'<td class="text">{_result(row.result)}</td><td class="minor">{text}</td>')
        cells.append(f'<td class="text minor">{escape(row.about)}</td>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    return _table("Games", _HEADS, body)


def _result(score: int | None) -> str:
    if not score:
        return "" if score is None else "draw"
    return f"{'Black' if score > 0 else 'White'} +{abs(score)}"


def _cost(row: GameRow, side: int) -> int:
    """The loss of a side's costliest move."""
    return int(row.worst[side].rpartition(" ")[2] or 0)


def _players(listed: Sequence[PlayerRow]) -> str:
    body = [
        f'<tr><th scope="row">{escape(one.name)}</th><td>{one.games}</td><td class="minor">{one.choices}</td>'
        f"<td>{one.accuracy:.1f}&nbsp;%</td><td>{one.lost}</td>"
        f'<td class="minor">{one.lost / max(1, one.choices):.2f}</td></tr>'
        for one in listed
    ]
    heads = [("Player", ""), ("Games", ""), ("Choices", "minor"), ("Accuracy", ""), ("Lost", ""), ("a move", "minor")]
    return _table("Players", heads, body)


def _table(label: str, heads: Sequence[tuple[str, str]], body: Sequence[str]) -> str:
    """A table that scrolls where it is too wide, by the keyboard too; ``heads`` are names and classes of columns."""
    head = "".join(f'<th scope="col" class="{kind}">{name}</th>' for name, kind in heads)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    return f'<div class="scroll index" role="region" tabindex="0" aria-label="{label}">{table}</div>'
