"""XBoard's protocol (CECP) over a session.

XBoard keeps clocks and score but does not know the rules: it neither checks moves nor flips discs. The engine moves
whenever it is its turn, and ponders after ``hard``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from desdaemon.core.search.loader import Abandoned, EngineFailure, TooLate
from desdaemon.dialogue.clock import Clock
from desdaemon.dialogue.dialects import Spoken
from desdaemon.dialogue.dialects.dialect import LineDialect
from desdaemon.dialogue.session import Session
from desdaemon.dialogue.streams import DialogueOutput, InputLine, InputListener, LineQueue
from desdaemon.guis.codecs import xboard
from desdaemon.protocol.commands.options import number_within
from desdaemon.protocol.errors import BadInput, passing_lack, quoted
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import CHESS_VARIANTS, START, illegal_move, parse_chess_fen
from desdaemon.protocol.version import __version__

from .rows import NAME as OPTION_NAME

if TYPE_CHECKING:
    from desdaemon.engine.result import Line

NAME = f"desdaemon {__version__}"

MOST_HINT_MS = 1000

_POLL_S = 0.05

# Commands that end a search whose move is no longer needed.
_DROPPING = frozenset(("force", "new", "result", "setboard", "undo", "remove", "variant", "analyze", "quit"))


class XBoardListener(InputListener):
    """Hears XBoard's lines: ``?`` ends a search, whose move is then played; ``force``, ``new`` and the other commands
    of `_DROPPING` end one without a move, and ``quit`` ends the input too.
    """

    strict = False
    scripted = False

    def hear(self, number: int, line: str) -> bool:
        word = xboard.split_line(line)[0]
        if word == "?":
            self.interrupt.stop(number)
        elif word in _DROPPING:
            self.interrupt.stop(number, abandon=True)
        return self.leave() if word == "quit" else False


class XBoardDialect(LineDialect):
    """Answers XBoard's commands, and moves when it is the engine's turn."""

    def __init__(self, session: Session, output: DialogueOutput) -> None:
        super().__init__(session, output)
        self._mine: bool | None = None
        """The engine's side: True for Black, False for White, None for neither."""
        self._post = False
        self._analyzing = False
        self._analysis = _XBoardAnalysis()
        self._source: LineQueue | None = None
        self._handlers: dict[str, Callable[[str], None]] = {
            "protover": self._protover,
            "variant": self._variant,
            "new": self._new,
            "quit": self._quit,
            "result": self._force,
            "force": self._force,
            "go": self._go,
            "playother": self._play_other,
            "usermove": self._user_move,
            "ping": lambda rest: self.say(f"pong {rest}".rstrip()),
            "setboard": self._set_board,
            "undo": lambda rest: self._take_back(1),
            "remove": lambda rest: self._take_back(2),
            "hint": self._hint,
            "bk": self._book,
            "level": self._level,
            "st": self._seconds,
            "sd": self._depth,
            "time": lambda rest: self._clock(rest, "time", self._own_side()),
            "otim": lambda rest: self._clock(rest, "otim", not self._own_side()),
            "hard": lambda rest: self._ponder(True),
            "easy": lambda rest: self._ponder(False),
            "post": lambda rest: self._show(True),
            "nopost": lambda rest: self._show(False),
            "analyze": self._analyze,
            "exit": self._exit,
            ".": self._statistics,
            "memory": self._memory,
            "cores": self._cores,
            "option": self._option,
        }

    # The dialogue

    def run(self, source: LineQueue, first: InputLine | None = None) -> int:
        self._source = source
        return super().run(source, first)

    def refuse(self, error: str) -> None:
        self.say(f"Error ({error})")

    def execute(self, line: str) -> None:
        word, rest = xboard.split_line(line)
        if not word:
            return
        try:
            if word in self._handlers:
                self._handlers[word](rest)
            elif word not in xboard.COMMAND_NAMES:
                self._bare_move(line.strip())
        except BadInput as error:
            self.say(f"Error ({error}): {word}")
        except Abandoned:
            return
        except EngineFailure as error:
            self.say(f"tellusererror cannot search: {error}")
        except (MemoryError, OSError, ImportError) as error:
            self.say(f"tellusererror {passing_lack(error)}")
        except Exception as error:
            self._confess(line, error)

    def _confess(self, line: str, error: Exception) -> None:
        import traceback

        self.output.error(traceback.format_exc().rstrip())
        self.say(f"Error (an internal error: {type(error).__name__}): {line.split()[0][:60]}")

    def idle(self) -> None:
        if self._analyzing:
            self._analysis.go_on(self.session, self.say if self._post else lambda *lines: None)
        elif self._mine is not None:
            self.session.ponder()

    # Set-up

    def _protover(self, rest: str) -> None:
        name = self.session.settings.value(OPTION_NAME, str).replace('"', "") or NAME
        self.say("feature done=0", xboard.feature_line(name))
        self.session.prepare()
        try:
            self._await_engine()
        finally:
            self.say("feature done=1")

    def _await_engine(self) -> None:
        """Wait until the engine is loaded, even while input lines are waiting; give up when the input has ended."""
        while not self.session.interrupt.closing:
            with suppress(TooLate):
                self.session.engine(until=time.perf_counter() + _POLL_S)
                return

    def _variant(self, rest: str) -> None:
        if rest.lower() not in CHESS_VARIANTS:
            raise BadInput(f"unsupported variant, expected one of {' '.join(CHESS_VARIANTS)}")
        self.session.init()
        self.say(xboard.SETUP)

    def _new(self, rest: str) -> None:
        self.session.init()
        self.session.clocks.clear()
        self.session.settings.depth = -1
        self.session.settings.move_time = 0
        self._mine = False
        self._analyzing = False

    def _quit(self, rest: str) -> None:
        self.leaving = 0

    def _set_board(self, rest: str) -> None:
        position = parse_chess_fen(rest)
        game = self.session.game
        # XBoard tells the engine in this way that the opponent has passed.
        if game.position.must_pass and position == xboard.unturned(game.initial, [*game.moves, rules.PASS]):
            self.session.play_move(rules.PASS)
        else:
            self.session.start(position)
        if not self._analyzing:
            self._move()

    def _level(self, rest: str) -> None:
        moves, base, increment = xboard.parse_level(rest)
        self.session.settings.move_time = 0
        self.session.clocks.clear()
        if base or increment:
            for black in (True, False):
                clock = Clock(0.0, base, moves, increment) if moves else Clock(base, increment=increment)
                self.session.clocks[black] = clock

    def _seconds(self, rest: str) -> None:
        self.session.settings.move_time = max(10, int(xboard.parse_seconds("st", rest)))
        self.session.clocks.clear()

    def _depth(self, rest: str) -> None:
        self.session.settings.depth = number_within("sd", rest, 0, 60)

    def _clock(self, rest: str, command: str, black: bool) -> None:
        left = 10.0 * max(0, number_within(command, rest, -xboard.MOST_CENTISECONDS, xboard.MOST_CENTISECONDS))
        if self.session.settings.move_time:
            return
        clock = self.session.clocks.setdefault(black, Clock(left))
        self.session.overhead.raise_to(clock.set(left, clock.left_stones))

    def _own_side(self) -> bool:
        """Return whether the command `time` sets Black's clock, not White's: the clock of the engine's side or, if the
        engine plays neither, of the side to move.
        """
        return self.session.game.position.black_to_move if self._mine is None else self._mine

    def _ponder(self, on: bool) -> None:
        self.session.settings.ponder = on

    def _show(self, on: bool) -> None:
        self._post = on

    def _memory(self, rest: str) -> None:
        from desdaemon.engine.limits import hash_bits_within

        megabytes = number_within("memory", rest, 1, 10**9)
        self.session.settings.hash_table_size = hash_bits_within(megabytes * 2**20)
        self.session.prepare()

    def _cores(self, rest: str) -> None:
        self.session.settings.n_tasks = min(256, number_within("cores", rest, 1, 10**6))
        self.session.prepare()

    def _option(self, rest: str) -> None:
        name, _, value = rest.partition("=")
        option = xboard.SPINS.get(name.strip().capitalize())
        if option is None:
            raise BadInput(f"{quoted(name)}: expected {' or '.join(f'{spin}=n' for spin in xboard.SPINS)}")
        self.session.set_option(option, value)

    # The game

    def _force(self, rest: str) -> None:
        self._mine = None

    def _go(self, rest: str) -> None:
        self._mine = self.session.game.position.black_to_move
        self._move()

    def _play_other(self, rest: str) -> None:
        self._mine = not self.session.game.position.black_to_move

    def _bare_move(self, line: str) -> None:
        if xboard.parse_drop(line) is None:
            raise BadInput("unknown command")
        self._user_move(line)

    def _user_move(self, rest: str) -> None:
        move = xboard.parse_drop(rest)
        position = self.session.game.position
        if move is None:
            self.say(f"Illegal move (not a move): {rest[:60]}")
            return
        passes = xboard.pass_is_missing(position, move)
        try:
            (position.after(rules.PASS) if passes else position).after(move)
        except rules.IllegalMove:
            self.say(f"Illegal move ({illegal_move(position, move)}): {rest[:60]}")
            return
        if passes:
            self.session.play_move(rules.PASS)
        self.session.play_move(move)
        if not self._analyzing:
            self._move()

    def _move(self) -> None:
        """Make the engine's move if it is its turn; claim the result of a finished game."""
        position = self.session.game.position
        if self._mine is None:
            return
        if not position.over and position.black_to_move == self._mine:
            thinking = _Thinking(self.say) if self._post else None
            move, _ = self.session.choose(thinking.progress if thinking else None)
            if self._unwanted():
                return
            self.session.play_move(move)
            self.say(f"move {xboard.drop_text(move)}")
            position = self.session.game.position
        if position.over:
            self.say(xboard.result_line(position))

    def _unwanted(self) -> bool:
        """Return whether the line that ended the search, next in the input, makes its move useless, as `new` does."""
        waiting = self._source.peek() if self._source else None
        return waiting is not None and xboard.split_line(waiting.text or "")[0] in _DROPPING

    def _take_back(self, plies: int) -> None:
        if len(self.session.game.moves) < plies:
            raise BadInput("too few moves")
        for _ in range(plies):
            self.session.game.undo()

    # Analysis

    def _hint(self, rest: str) -> None:
        position = self.session.game.position
        if position.over:
            raise BadInput("the game is over")
        limits = self.session.limits(position, clocks=False)
        limits = limits._replace(time_ms=min(limits.time_ms or MOST_HINT_MS, MOST_HINT_MS))
        move = rules.PASS if position.must_pass else self.session.suggest(position, limits)
        self.say(f"Hint: {xboard.drop_text(move)}")

    def _book(self, rest: str) -> None:
        self.session.await_book()
        position = self.session.game.position
        entry = self.session.look_up(position)
        playable = entry.playable_on(position) if entry else []
        moves = "  ".join(f"{xboard.drop_text(move)}:{100 * score}" for move, score in playable)
        self.say(f"\tBook:  {moves}" if moves else "\tno book moves", "")

    def _analyze(self, rest: str) -> None:
        self._mine = None
        self._analyzing = True
        self._post = True

    def _exit(self, rest: str) -> None:
        self._analyzing = False

    def _statistics(self, rest: str) -> None:
        if self._analyzing:
            self.say(self._analysis.statistics())


class _Thinking:
    """Sends XBoard's thinking line for each iteration of a search."""

    def __init__(self, say: Callable[..., None]) -> None:
        self._say = say
        self._begun = time.perf_counter()
        self.nodes = 0

    def progress(self, index: int, line: Line) -> None:
        self.nodes += line.nodes
        ms = (time.perf_counter() - self._begun) * 1000
        self._say(xboard.thinking_line(line.depth, line.score, ms, self.nodes, line.pv))


class _XBoardAnalysis:
    """Analysis mode: an unlimited search of the board, which each line interrupts and which then goes on."""

    def __init__(self) -> None:
        self._position = START
        """The position that depth, nodes and time below belong to."""
        self._solved = False
        self._depth = 0
        self._begun = 0.0
        self._nodes = 0

    def go_on(self, session: Session, say: Callable[..., None]) -> None:
        """Search the board until the next line comes or the position is solved, and send each new iteration to ``say``.
        Does nothing in a solved position, and if the engine cannot search.
        """
        position = session.game.position
        if position != self._position or not self._begun:
            self._position, self._solved, self._depth = position, False, 0
            self._begun, self._nodes = time.perf_counter(), 0
        if self._solved or position.over:
            return

        def progress(index: int, line: Line) -> None:
            self._nodes += line.nodes
            # A resumed search repeats iterations; those were shown already.
            if line.depth >= self._depth:
                self._depth = line.depth
                say(xboard.thinking_line(line.depth, line.score, self._ms, self._nodes, line.pv))

        try:
            result = session.search_idly(position, progress)
        except (Abandoned, EngineFailure):
            return
        self._solved = result.complete

    @property
    def _ms(self) -> float:
        return (time.perf_counter() - self._begun) * 1000 if self._begun else 0.0

    def statistics(self) -> str:
        """Return the answer to ``.``: time, nodes and depth of the analysis."""
        return f"stat01: {int(self._ms / 10)} {self._nodes} {self._depth} 0 0"


SPOKEN = Spoken(XBoardListener, XBoardDialect)
