"""Walks through the book from the start, by asyncio: all positions of a ply are asked for together.

python book_lines.py 4
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import asyncio

from desdaemon.clients import AsyncClient, DaemonError


async def walk(endpoint: str | None, plies: int) -> None:
    """Print up to ten lines of the book for each ply to ``plies``, with their scores for the side to move."""
    async with await AsyncClient.connect(endpoint) as client:
        lines = [""]
        for ply in range(plies + 1):
            looks = await client.look_up(lines)
            in_book = [(line, look) for line, look in zip(lines, looks, strict=True) if look.found]
            print(f"ply {ply}: {len(in_book)} positions")
            for line, look in in_book[:10]:
                leaf = f", next would be {look.leaf.move} {look.leaf.score:+d}" if look.leaf else ""
                print(f"  {line or 'start'} {look.score:+d}{leaf}")
            lines = [line + link.move for line, look in in_book for link in look.links]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plies", type=int)
    parser.add_argument("--endpoint")
    named = parser.parse_args()
    try:
        asyncio.run(walk(named.endpoint, named.plies))
    except DaemonError as error:
        raise SystemExit(str(error)) from None


main()
