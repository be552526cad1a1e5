"""NBoard's protocol over a session.

NBoard reads standard error as part of the answers, so nothing is written there: invalid input is answered by a line
that begins with ``warning``, which NBoard ignores.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from desdaemon.core.search.loader import Abandoned, EngineFailure
from desdaemon.dialogue.clock import Clock
from desdaemon.dialogue.dialects import Spoken
from desdaemon.dialogue.dialects.dialect import LineDialect
from desdaemon.dialogue.session import CommandContext, Session
from desdaemon.dialogue.streams import DialogueOutput, InputLine, InputListener, LineQueue
from desdaemon.guis.codecs import nboard
from desdaemon.protocol import satellites
from desdaemon.protocol.commands.options import number_within
from desdaemon.protocol.errors import BadInput, passing_lack, quoted
from desdaemon.protocol.games.records import ClockTerms, GameRecord
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, illegal_move
from desdaemon.protocol.othello.scores import MoverScore, opposite, seen_by_black
from desdaemon.protocol.othello.selectivity import Selectivity, depth_text

if TYPE_CHECKING:
    from desdaemon.core.books.jobs import BookJob
    from desdaemon.engine.result import Line, Result

NAME = "desdaemon"

WHOLE, OUTCOME = (-64, 64), (-1, 1)
"""Search windows in discs: for the value of a move, and for the winner only."""

PROOF_EMPTIES = 16
"""Empty squares below which the value comes so soon that no search proves the winner first."""

LEARNING_S = 1.0
"""Seconds that the end of the dialogue waits for a game to be learned."""

MOST_HINTS = 64


class NBoardListener(InputListener):
    """Hears NBoard's lines: ``ping`` and ``stop`` end any search, every line that is not empty ends a hint or an
    analysis, ``quit`` and ``exit`` end the input.
    """

    strict = False
    scripted = False

    _open_ended = 0
    """The number of the hint or analysis that any line ends; 0 if there is none."""

    def hear(self, number: int, line: str) -> bool:
        word = (line.lower().split(None, 1) or [""])[0]
        if not word:
            return False
        if word in ("quit", "exit"):
            return self.leave()
        if word in ("ping", "stop"):
            self.interrupt.stop(number, abandon=True)
        elif self._open_ended:
            self.interrupt.stop(number, only=self._open_ended)
        self._open_ended = number if word in ("hint", "analyze", "analyse") else 0
        return False


class NBoardDialect(LineDialect):
    """Answers NBoard's commands."""

    def __init__(self, session: Session, output: DialogueOutput) -> None:
        super().__init__(session, output)
        self._contempt = 0
        self._learning: BookJob | None = None
        self._handlers: dict[str, Callable[[str], None]] = {
            "nboard": self._nboard,
            "set game": self._set_game,
            "set depth": self._set_depth,
            "set contempt": self._set_contempt,
            "move": self._move,
            "hint": self._hint,
            "go": self._go,
            "ping": self._ping,
            "stop": lambda rest: None,
            "analyze": self._analyze,
            "learn": self._learn,
            "quit": self._quit,
        }
        self._names = {name: command.name for command in nboard.COMMANDS for name in (command.name, *command.aliases)}

    # The dialogue

    def run(self, source: LineQueue, first: InputLine | None = None) -> int:
        status = super().run(source, first)
        if self._learning:
            self._learning.wait(LEARNING_S)
        return status

    def refuse(self, error: str) -> None:
        self.say(f"warning {error}")

    def execute(self, line: str) -> None:
        """Answer a line. Invalid input gets a warning and changes nothing."""
        word, rest = nboard.first_word(line)
        if not word:
            return
        try:
            name = self._names.get(word)
            if name:
                self._handlers[name](rest)
            else:
                self._bare_move(line)
        except BadInput as error:
            self.refuse(str(error))
        except Abandoned:
            self.say("status")
        except EngineFailure as error:
            self.refuse(f"{word}: cannot search: {error}")
        except (MemoryError, OSError, ImportError) as error:
            self.refuse(f"{word}: {passing_lack(error)}")
        except Exception as error:
            self.refuse(f"{quoted(line)}: an internal error: {type(error).__name__}: {quoted(str(error))}")

    # Set-up

    def _nboard(self, rest: str) -> None:
        self._say_name("")
        self.session.prepare()

    def _say_name(self, level: object) -> None:
        """Tell the name by which programs show this player: with the strength that it plays at, or else a level."""
        chooser = self.session.chooser
        own = str(level)
        if chooser and not chooser.searches:
            own = f"_{self.session.settings.text(chooser.option)}"
        self.say(f"set myname {NAME}{own}")

    def _set_game(self, rest: str) -> None:
        record: GameRecord = satellites.loaded("clients.gamefiles.ggf:parse_ggf")(rest)
        self.session.game.start(record.initial)
        self.session.force([])
        self.session.clocks.clear()
        for black, terms in ((True, record.black_clock), (False, record.white_clock)):
            if terms != ClockTerms(0.0, 0.0):
                self.session.clocks[black] = Clock(terms.main, increment=terms.increment)
        for move, ms in record.moves:
            self._play(move, ms)

    def _play(self, move: int, ms: float) -> None:
        black = self.session.game.position.black_to_move
        self.session.play_move(move)
        if black in self.session.clocks and move != rules.PASS:
            self.session.clocks[black].spend(ms)

    def _set_depth(self, rest: str) -> None:
        self.session.settings.level = number_within("set depth", rest, 0, nboard.MOST_DEPTH)
        self.session.settings.level_chosen = True
        # Programs wait for this line, in which Edax and NTest show their level.
        self._say_name(self.session.settings.level)

    def _set_contempt(self, rest: str) -> None:
        self._contempt = number_within("set contempt", rest, -(10**6), 10**6)

    def _move(self, rest: str) -> None:
        move, ms = nboard.parse_played(rest)
        position = self.session.game.position
        if position.must_pass and move != rules.PASS:
            if not position.after(rules.PASS).moves >> move & 1:
                raise BadInput(illegal_move(position, move))
            self._play(rules.PASS, 0.0)
        self._play(move, ms)

    def _bare_move(self, line: str) -> None:
        try:
            nboard.parse_played(line)
        except BadInput:
            raise BadInput(f"unknown command {quoted(line)}") from None
        self._move(line)

    def _ping(self, rest: str) -> None:
        self.say(" ".join(["pong", *rest.split()[:1]]))

    def _quit(self, rest: str) -> None:
        self.leaving = 0

    # Thinking

    def _hint(self, rest: str) -> None:
        wanted = number_within("hint", rest or "1", 1, 10**6)
        position = self.session.game.position
        self.say(f"status {NAME} is analysing")
        if not position.over:
            book_moves = self._book_lines(position, wanted)
            others = position.moves & ~sum(1 << move for move in book_moves if move != rules.PASS)
            choices = min(wanted - len(book_moves), max(1, others.bit_count()), MOST_HINTS)
            if choices > 0 and (others or not book_moves):
                self._stream_hints(position, choices, others if book_moves else rules.FULL)
        self.say("status")

    def _stream_hints(self, position: Position, choices: int, allow: int) -> None:
        """Search the best ``choices`` of the moves in the mask ``allow`` and send each iteration.

        With at least `PROOF_EMPTIES` empties, a search at 73 % and a proof of the winner come before the full solve,
        because they end sooner.
        """
        stream = _HintStream(self.say, choices)
        limits = self.session.limits(position, clocks=False)
        passes = [(limits, WHOLE)]
        if limits.depth >= position.empties >= PROOF_EMPTIES and limits.selectivity == Selectivity.FULL:
            passes = [(limits._replace(selectivity=Selectivity.PERCENT_73), WHOLE), (limits, OUTCOME), (limits, WHOLE)]
        with self.session.interrupt.searching(limits.bounded) as search:
            for limits, window in passes:
                stream.begin(outcome=window == OUTCOME)
                result = self.session.search(
                    position, limits, multipv=choices, allow=allow, progress=stream.progress, window=window
                )
                stream.finish(result)
                if search.stopped or not result.complete:
                    break

    def _book_lines(self, position: Position, wanted: int) -> list[int]:
        """Send a line for each of the best ``wanted`` moves in the book and return these moves. In place of the score 0
        the contempt is sent: what a draw is worth, in discs for Black.
        """
        moves = []
        for book_move in self.session.known_moves(position, wanted):
            value = book_move.score or MoverScore(self._contempt if position.black_to_move else -self._contempt)
            self.say(nboard.book_line(book_move.line, value, book_move.lines, book_move.level))
            moves.append(book_move.move)
        return moves

    def _go(self, rest: str) -> None:
        position = self.session.game.position
        if position.over:
            raise BadInput("go: the game is over")
        clock = self.session.clocks.get(position.black_to_move)
        left = (clock.left, clock.left_stones) if clock else None
        begun = time.perf_counter()
        self.say(f"status {NAME} is thinking")
        move, result = self.session.choose()
        spent = (time.perf_counter() - begun) * 1000
        if clock and left:
            # NBoard sends the move back with the time that it has measured.
            clock.set(*left)
        lines = [nboard.answer_line(move, result.lines[0].score if result else None, spent), "status"]
        if result:
            lines.insert(0, f"nodestats {result.nodes} {spent / 1000:.3f}")
        self.say(*lines)

    def _analyze(self, rest: str) -> None:
        game = self.session.game
        positions = game.positions()
        self.say(f"status {NAME} is analysing")
        bounded = all(self.session.limits(position, clocks=False).bounded for position in positions)
        with self.session.interrupt.searching(bounded) as search:
            later = MoverScore(-64)
            for ply in range(len(positions) - 1, -1, -1):
                position = positions[ply]
                if position.over:
                    score, solved = rules.final_score(position.player, position.opponent), True
                else:
                    limits = self.session.limits(position, clocks=False)
                    result = self.session.search(position, limits)
                    if search.stopped:
                        break
                    score, solved = result.lines[0].score, result.lines[0].exact
                # The played move is worth as much as the position after it.
                score = score if solved else max(score, later)
                later = opposite(score)
                self.say(f"analysis {ply} {seen_by_black(score, position.black_to_move):.2f}")
        self.say("status")

    def _learn(self, rest: str) -> None:
        from desdaemon.dialogue.commands import book

        books, game = book.usable_book(self.session), self.session.game
        if books is None:
            self.say("status there is no book: nothing is learned")
            return
        if not game.moves:
            self.say("status there are no moves: nothing is learned")
            return
        first = game.initial.after(game.moves[0])

        def report(job: BookJob) -> None:
            if not job.over:
                return
            if job.failure is not None:
                self.refuse(str(job.failure))
                return
            lines = [f"status {line}" for line in job.result.get("text", ())[-1:]]
            stored = job.result.get("added") or books.look_up(first.player, first.opponent) is not None
            if not books.lasting:
                lines = ["status learned until the end of the program: the book has no file of desdaemon's own"]
            elif stored and job.result.get("finished"):
                lines.append("learned")
            self.say(*lines)

        self.say(f"status {NAME} is learning")
        # Not the dialogue's search: the `ping` before the next command must not end it.
        self._learning = book.store_game(self.session, books)
        self._learning.watch(report)


def refuse_version(context: CommandContext, argument: str) -> None:
    """`nboard N` of the text protocol: refuse a version other than 1 and 2, with which the line begins this protocol
    and does not come here.
    """
    number_within("nboard", argument, 1, 2)


class _HintStream:
    """Sends the iterations of a hint. A hint is up to three searches, whose nodes are added up. Call `begin` before
    each search and `finish` after it.
    """

    def __init__(self, say: Callable[..., None], choices: int) -> None:
        self._say = say
        self._last = choices - 1
        self._shown: dict[int, str] = {}
        """The text sent last, by rank of the line."""
        self._first_lines: dict[int, Line] = {}
        """The lines of the first search, by move."""
        self._outcome = False
        """Whether the present search proves only the winner."""
        self._again = False
        """Whether the present search is not the first."""
        self._earlier_nodes = self._nodes = self._reported_nodes = 0
        self._begun = time.perf_counter()

    def begin(self, *, outcome: bool) -> None:
        """Begin the next search; ``outcome`` says that it proves only the winner."""
        self._earlier_nodes = self._nodes
        self._outcome, self._again = outcome, bool(self._first_lines)

    def progress(self, index: int, line: Line) -> None:
        """Send a line of a finished iteration, unless it was sent already or an earlier search has sent a better one;
        after the last line send the nodes.
        """
        self._nodes += line.nodes
        self._show(index, line, finished=True)
        if index == self._last:
            self._stats(self._nodes)

    def finish(self, result: Result) -> None:
        """Send the final lines that differ from the last iteration's, and the nodes if they have changed. Lines of a
        search that was stopped within its first iteration are not sent.
        """
        for index, line in enumerate(result.lines):
            if line.depth or result.complete:
                self._show(index, line, finished=result.complete)
        self._nodes = self._earlier_nodes + result.nodes
        if self._reported_nodes != self._nodes:
            self._stats(self._nodes)

    def _show(self, index: int, line: Line, *, finished: bool) -> None:
        text = self._text(line, finished=finished)
        if text and self._shown.get(index) != text:
            self._shown[index] = text
            self._say(text)

    def _text(self, line: Line, *, finished: bool) -> str:
        """Return the line to send; "" if an earlier search has sent a better one. ``finished`` says that the iteration
        was not stopped. Keeps the lines of the first search: where a later one proves only the winner, their scores
        give the margin.
        """
        proved = finished and line.depth >= line.empties and line.selectivity == Selectivity.FULL
        if line.exact:
            depth = nboard.SOLVED
        elif self._again and not (self._outcome and proved):
            return ""
        else:
            depth = nboard.OUTCOME_PROVED if proved else depth_text(line.depth, line.selectivity)
        score = line.score
        if not self._again:
            self._first_lines[line.move] = line
        elif depth == nboard.OUTCOME_PROVED:
            # Proved is only the winner; the margin is the first search's.
            guess = self._first_lines[line.move].score if line.move in self._first_lines else score
            score = MoverScore(max(1, guess) if score > 0 else min(-1, guess))
        return nboard.search_line(line.pv or (line.move,), score, depth)

    def _stats(self, nodes: int) -> None:
        self._reported_nodes = nodes
        self._say(f"nodestats {nodes} {time.perf_counter() - self._begun:.3f}")


SPOKEN = Spoken(NBoardListener, NBoardDialect)
