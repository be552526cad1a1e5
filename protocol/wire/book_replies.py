"""The final data of operations on the book: the fields common to all, and those of each of the core's."""

from __future__ import annotations

from .fields import Field, Shape

JOB_RESULT: Shape = (
    Field("job", "int", "Number of the job; 0: done at once, and not listed by `jobs`."),
    Field("added", "int", "Positions added.", "positions"),
    Field("changed", "int", "Positions changed, where the command counts them; else 0.", "positions"),
    Field("positions", "int", "Positions of the book now.", "positions"),
    Field("time_s", "float", "Time that the job ran.", "s"),
    Field(
        "finished",
        "bool",
        "Whether the command reached its end; false: it was stopped, and what was done is kept.",
        absent="the command cannot be stopped half-way, and reached its end",
        since="1.1",
    ),
    Field(
        "text",
        "[str]",
        "What the command prints in the text protocol, a line each.",
        absent="it prints nothing",
        since="1.1",
    ),
    Field("notes", "[str]", "Remarks, such as what a file format has no place for.", absent="none", since="1.1"),
)

SEARCHES = Field("searches", "int", "Searches made.", "searches")
_ROUNDS = Field("rounds", "int", "Rounds of adding and negamax.", "rounds")
_OPEN = Field("open", "int", "Positions that need a search, see `book.fix`.", "positions")
_COUNTED = Field("counted", "int", "Games counted that were not before.", "games", since="1.1")
_KNOWN = Field("known", "int", "Games that had been counted before.", "games", since="1.1")
GROWTH: Shape = (SEARCHES, _ROUNDS)
STOPPED = "the command was stopped before it"


def unless_stopped(*fields: Field) -> Shape:
    """Return a result's own fields, which are absent when the command was stopped."""
    return tuple(field._replace(absent=field.absent or STOPPED) for field in fields)


def _count(name: str, help: str, unit: str = "positions") -> Field:
    return Field(name, "int", help, unit)


SHRUNK = (_count("removed", "Positions removed."), _OPEN)

CORE_RESULTS: dict[str, Shape] = {
    f"book.{name}": unless_stopped(*fields)
    for name, fields in {
        "randomness": (_count("randomness", "The setting now.", "discs"),),
        "depth": (_count("depth", "The setting now.", "moves"),),
        "level": (_count("level", "The setting now.", "level"),),
        "verbose": (_count("verbose", "The setting now.", "0 to 4"),),
        "rule": (Field("rule", "str", "The rule now: `edax` or `egaroucid`."),),
        "merge": (
            _count("conflicts", "Positions with different scores."),
            _OPEN,
            _COUNTED,
            _KNOWN,
        ),
        "diff": (
            _count("only_first", "Positions of the first book alone."),
            _count("only_second", "Positions of the second book alone."),
            _count("other_score", "Positions with another score."),
            _count("other_leaf", "Positions with the same score and another leaf."),
            _count("other_level", "Positions that differ in the level alone."),
            _count("same", "Positions without a difference."),
            _count("examples", "Differences shown in `text`."),
        ),
        "salvage": (_count("lost", "Records that could not be read.", "records"),),
        "edits": (_count("edits", "Scores set by hand.", "scores"),),
        "info": (
            _count("links", "Links.", "links"),
            _count("leaves", "Leaves.", "leaves"),
            _count("finished_games", "Positions where the game is over."),
            _count("depth", "Moves from the start to the deepest positions.", "moves"),
            Field("rule", "str", "Rule that scores follow: `edax` or `egaroucid`."),
            Field("levels", "{int}", "Positions by level.", "positions"),
            _count("memory_bytes", "Memory of the positions.", "bytes"),
        ),
        "stats": (Field("scores", "{int}", "Positions by score.", "positions"),),
        "analyze": (_count("plies", "Moves of the game that the book knows.", "plies"),),
        "grade": (Field("grade", "str", "`A` to `F`, `AA` to `AF`."),),
        "lines": (Field("lines", "[str]", "Best lines through the book, `f5d6c3`."),),
        "umigame": (
            Field("black", "int", "Lines that Black must know to keep the score, at most 2^53.", "lines", since="1.5"),
            Field("white", "int", "Lines that White must know.", "lines", since="1.5"),
            Field("black_after", "{int}", "The same for Black after each move of the book.", "lines", since="1.5"),
            Field("white_after", "{int}", "The same for White.", "lines", since="1.5"),
        ),
        "extract": (_count("lines", "Lines written.", "lines"),),
        "verify": (
            Field("clean", "bool", "Whether no problem was found."),
            _OPEN,
            _count("due", "Positions whose scores `book.negamax` has to bring up to date."),
            Field("problems", "{int}", "Positions by kind of problem.", "positions"),
        ),
        "check": (
            _count("missing", "Positions of the games that are not in the book."),
            _count("good", "Positions whose move is a best one of the book."),
            _count("bad", "Positions whose move is not."),
        ),
        "problem": (Field("problems", "[str]", "Positions with one best move, a line each."),),
        "store": (
            *GROWTH,
            Field("counted", "int", "Positions whose game results were counted.", "positions", absent="none were"),
        ),
        "add": (
            SEARCHES,
            _count("games", "Games read.", "games"),
            _count("left_out", "Games left out.", "games"),
            _COUNTED,
            _KNOWN,
        ),
        "uncount": (_count("games", "Games taken back.", "games"),),
        "fix": GROWTH,
        **dict.fromkeys(("prune", "subtree", "cut", "delete"), SHRUNK),
    }.items()
}
"""The fields beside `JOB_RESULT`, by operation; operations that are not here add none."""
