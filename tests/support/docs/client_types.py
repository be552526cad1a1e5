"""The client library's types of replies, made from the tables of the wire protocol: the text of clients/shapes.py."""

from __future__ import annotations

import re
import textwrap

from desdaemon.protocol.wire.fields import Field
from desdaemon.protocol.wire.replies import SHAPES

CLASSES = {
    "hello": ("Hello", "The daemon and the rights of this client."),
    "move": ("AnalysedMove", "A move of an analysis, with its score and the search behind it."),
    "analysis": ("Analysed", "An analysed position with its best moves."),
    "legal": ("Legal", "The legal moves of a position."),
    "results": ("GameResults", "Games through a position of the book."),
    "link": ("BookLink", "A move to a position of the book."),
    "leaf": ("BookLeaf", "The best move that leaves the book."),
    "child": ("BookChild", "A legal move with data in the book."),
    "book_position": ("BookPosition", "The book's data of a position; all defaults unless ``found``."),
    "progress": ("JobProgress", "The progress of a job on the book."),
}
"""The classes by the names of their shapes, in the order in which one may use another."""

DEFAULTS = {"bool": "False", "int": "0", "float": "0.0", "str": '""', "[": "()", "{": "{}"}
OWN_DEFAULTS = {
    ("analysis", "ply"): ("int | None", "None"),
    ("analysis", "score"): ("int | None", "None"),
    ("analysis", "done"): ("bool", "True"),
    ("analysis", "finished"): ("bool", "True"),
    ("move", "level"): ("int | None", "None"),
    ("book_position", "results"): ("GameResults | None", "None"),
    ("child", "results"): ("GameResults | None", "None"),
    ("book_position", "leaf"): ("BookLeaf | None", "None"),
}
"""Type and default of fields where absence means something else than nothing."""

EXTRAS = {
    "analysis": '''
    @property
    def best(self) -> AnalysedMove | None:
        """The best move; None if the game is over, or if with ``book`` ``only`` the book has none."""
        return self.moves[0] if self.moves else None
'''
}
HEAD = '''"""The types of replies, made from protocol/wire/replies.py: not to be edited by hand.

Fields that a reply does not have get the defaults; those without a default are in every reply. Scores are in discs.
"Seen by the mover" means: by the side to move in the position asked about; "by the player": by the side that plays the
move that the reply describes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
'''


def text() -> str:
    """The whole module."""
    return HEAD + "".join(f"\n\n{_class(shape)}" for shape in CLASSES)


def _class(shape: str) -> str:
    name, about = CLASSES[shape]
    fields = sorted(SHAPES[shape], key=lambda field: bool(_default(shape, field)))
    body = "\n".join(_field(shape, field) for field in fields)
    return f'class {name}(NamedTuple):\n    """{about}"""\n\n{body}{EXTRAS.get(shape, "")}'


def _field(shape: str, field: Field) -> str:
    default = _default(shape, field)
    declared = f"    {field.name}: {_type(shape, field)}{f' = {default}' if default else ''}\n"
    about = re.sub(r"\[(.*?)\]\(.*?\)", r"docs/protocol.md, \1", field.help).replace("`", "``")
    kind = ", ".join([field.unit] if field.unit else []) + (f", seen by the {field.view}" if field.view else "")
    about = f"{about[:-1]} ({kind})." if kind else about
    about = f"{about} None: {field.nil}." if field.nil else about
    lines = textwrap.wrap(about, 112, break_long_words=False)
    tail = '"""' if len(lines) == 1 else '\n    """'
    return declared + textwrap.indent('"""' + "\n".join(lines) + tail, "    ").replace("    \n", "\n") + "\n"


def _type(shape: str, field: Field) -> str:
    own = OWN_DEFAULTS.get((shape, field.name))
    if own:
        return own[0]
    made = re.sub(r"\w+", lambda word: CLASSES[word[0]][0] if word[0] in CLASSES else word[0], field.type)
    if made == "[int]":
        made = "tuple[int, int]"
    made = re.sub(r"^\[(.*)\]$", r"tuple[\1, ...]", made)
    made = re.sub(r"^\{(.*)\}$", r"Mapping[str, \1]", made)
    return f"{made} | None" if field.nil else made


def _default(shape: str, field: Field) -> str:
    own = OWN_DEFAULTS.get((shape, field.name))
    if own:
        return own[1]
    if field.nil:
        return "None"
    if not field.absent and field.since == "1.0":
        return ""
    return DEFAULTS.get(field.type, DEFAULTS.get(field.type[0], "None"))
