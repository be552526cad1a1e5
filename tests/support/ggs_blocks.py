"""What the Generic Game Server says, as the public descriptions of the protocol have it, and damaged."""

from __future__ import annotations

import random

UPDATE = """\
/os: update .5.1 s8r14 K?
|  2: d6/-1.25/3.47
|alice    (1720.0 *) 00:59,0:0/00:03,0:0/02:00,0:0
|bob      (1650.5 O) 01:02:00,0:0/00:03,0:0/02:00,0:0
|
|   A B C D E F G H
| 1 - - - - - - - - 1
| 2 - - - - - - - - 2
| 3 - - - - - - - - 3
| 4 - - - O * - - - 4
| 5 - - - O * * - - 5
| 6 - - - O - - - - 6
| 7 - - - - - - - - 7
| 8 - - - - - - - - 8
|   A B C D E F G H
|
|* to move
READY
"""
JOINED = UPDATE.replace(
    "/os: update .5.1 s8r14 K?\n",
    """\
/os: join .5.1 s8r14 K?
|alice    (1720.0 *) 05:00,0:0/00:03,0:0/02:00,0:0
|bob      (1650.5 O) 05:00,0:0/00:03,0:0/02:00,0:0
|
|   A B C D E F G H
| 1 - - - - - - - - 1
| 2 - - - - - - - - 2
| 3 - - - - - - - - 3
| 4 - - - O * - - - 4
| 5 - - - * O - - - 5
| 6 - - - - - - - - 6
| 7 - - - - - - - - 7
| 8 - - - - - - - - 8
|   A B C D E F G H
|
|* to move
|
|2 move(s)
|  1: f5//3.47
""",
)
SAMPLES = (
    ": Enter login (yours, or one you'd like to use).\n",
    ": Enter your password.\n",
    ": + /os 1\nREADY\n",
    ": - /os 1\nREADY\n",
    "/os: + .8 1720.0 alice 01:00//02:00 8b U 1720.0 bob\nREADY\n",
    "/os: - .8 1720.0 alice 01:00//02:00 s8kr18 R\nREADY\n",
    "/os: + match .5 1720.0 alice 1720.0 bob s8r14 U\nREADY\n",
    "/os: - match .5 1720.0 alice 1720.0 bob 8b U -64.00 .1234\nREADY\n",
    UPDATE,
    UPDATE.replace("update", "join").replace("|  2: d6/-1.25/3.47", "|0 move(s)\n|  0: PASS"),
    "/os: look .12\n|2 (;GM[Othello]PB[alice];)(;GM[Othello]\n|PB[bob];)\nREADY\n",
    "/os: error .5 not found\nREADY\n",
    "alice: hello\nREADY\n",
    JOINED,
    "/os: end .31.1 ( alice vs. bob ) +2.00\nREADY\n",
    "/os: stored 1\n|.82726 alice bob s8r20\nREADY\n",
)


def mutated(choices: random.Random) -> bytes:
    """A few blocks with some of their bytes lost, doubled, exchanged or replaced."""
    data = bytearray("".join(choices.choices(SAMPLES, k=choices.randint(1, 3))).encode())
    for _ in range(choices.randint(0, 6)):
        at = choices.randrange(len(data))
        end = at + choices.randint(1, 12)
        kind = choices.randrange(4)
        if kind == 0 and len(data) > 20:
            del data[at:end]
        elif kind == 1:
            data[at:at] = data[choices.randrange(len(data)) :][: choices.randint(1, 40)]
        elif kind == 2:
            data[at] = choices.randrange(256)
        else:
            data[at:at] = choices.choice([b"\n", b"|", b"READY", b"\xff\xfb\x01", b"9" * 40, b"nan", b"/", b".", b"(;"])
    return bytes(data)
