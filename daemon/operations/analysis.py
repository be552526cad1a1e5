"""Analyses: questions about positions, answered from the book, from what was found before, or by a search.

Every position is a search of one thread of its own; they share the daemon's search threads with everybody else's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from desdaemon.protocol.commands.options import SELECTIVITY_PERCENT
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, board_text, move_text, moves_text, square_text
from desdaemon.protocol.wire.messages import RequestError
from desdaemon.protocol.wire.positions import canonical_text, read_line, read_moves
from desdaemon.search.engine_leases import what_is_left
from desdaemon.search.scheduler import Item, Lane, Scheduler
from desdaemon.search.workers import Work, Workers
from desdaemon.server.metrics import Health
from desdaemon.session.clock import is_bounded

from .analysis_cache import Cache

if TYPE_CHECKING:
    from desdaemon.books.service import Books
    from desdaemon.engine.limits import Limits
    from desdaemon.engine.result import Line
    from desdaemon.search.loader import Engine, EngineFailure
    from desdaemon.session.interrupt import Stoppable

    from .registry import Data, Request


SHORTEST_PARTIAL_MS = 10
"""Partials come no closer together, whatever is asked for."""


_PULSE_S = 0.02
_FEW_PLIES = 4


class Question(NamedTuple):
    """What is asked about a position. ``allow`` are the moves looked at, a mask; ``ply`` its place in a game, or -1."""

    position: Position
    ply: int
    limits: Limits
    multipv: int
    allow: int
    book: str


class Analyses:
    """Takes the requests, and knows those that are under way."""

    def __init__(
        self, scheduler: Scheduler, workers: Workers, books: Books, cache: Cache, health: Health, level: int
    ) -> None:
        """``level`` is that of requests which do not say how far to search."""
        self.scheduler = scheduler
        self.workers = workers
        self.books = books
        self.cache = cache
        self.health = health
        self._level = level
        self.preparing = 0
        """Positions of games that will wait for a search thread soon."""
        self._preparer = ThreadPoolExecutor(1, "questions")
        self._with_partials: set[Analysis] = set()
        self._pulsing = False
        self._lock = threading.Lock()

    def ask(self, request: Request, admit: Callable[[], None]) -> None:
        """Begin to answer, once ``admit`` has let it. Raises `RequestError`."""
        plies = len(request.values.get("plies") or ())
        if plies <= _FEW_PLIES:
            self._begin(request, admit)
            return
        admit()
        with self._lock:
            self.preparing += plies
        self._preparer.submit(self._prepare, request, plies)

    def _prepare(self, request: Request, plies: int) -> None:
        """Begin to answer what takes some milliseconds alone to be understood."""
        try:
            if not request.over:
                self._begin(request, lambda: None)
        except RequestError as error:
            self.health.refused(error.code)
            request.fail(error)
        except Exception:
            self.health.mistake("analyze")
            request.fail(RequestError("internal", "a mistake in the daemon; its log has more"))
        finally:
            with self._lock:
                self.preparing -= plies

    def _begin(self, request: Request, admit: Callable[[], None]) -> None:
        values = request.values
        line = read_line(values)
        plies = values.get("plies")
        if plies is None:
            questions = [self._question(values, line.last, -1)]
        else:
            wrong = next((ply for ply in plies if not 0 <= ply < len(line.positions)), None)
            if wrong is not None:
                last = len(line.positions) - 1
                raise RequestError("bad_request", f"ply {wrong}: expected one from 0 to {last}", "plies")
            questions = [self._question(values, line.positions[ply], ply) for ply in plies]
        admit()
        analysis = Analysis(self, request, questions)
        request.cancel = analysis.cancel
        if request.over:
            return
        request.endless = not all(is_bounded(question.limits) for question in questions)
        if values.get("partial_ms"):
            self._begin_partials(analysis)
        analysis.begin()

    def _question(self, values: Data, position: Position, ply: int) -> Question:
        return Question(
            position,
            ply,
            self._limits(values, position.empties),
            values.get("multipv", 1),
            _allowed(values, position, single=ply < 0),
            values.get("book", "use"),
        )

    def _limits(self, values: Data, empties: int) -> Limits:
        from desdaemon.engine.limits import Limits, level_limits

        level, depth, percent = (values.get(name) for name in ("level", "depth", "selectivity"))
        nodes, time_ms = values.get("nodes", 0), values.get("time_ms", 0)
        if level is not None and depth is not None:
            raise RequestError("bad_request", "level and depth are both given: expected one of them", "depth")
        if percent is not None and percent not in SELECTIVITY_PERCENT:
            message = f"selectivity = {percent}: expected one of {' '.join(map(str, SELECTIVITY_PERCENT))}"
            raise RequestError("bad_request", message, "selectivity")
        if depth is not None:
            found = Limits(min(depth, empties))
        elif level is None and (nodes or time_ms):
            found = Limits(empties)
        else:
            found = level_limits(self._level if level is None else level, min(empties, 60))
        return Limits(found.depth, percent or found.selectivity, nodes, time_ms)

    # Partials

    def _begin_partials(self, analysis: Analysis) -> None:
        with self._lock:
            self._with_partials.add(analysis)
            if self._pulsing:
                return
            self._pulsing = True
        threading.Thread(target=self._send_partials, name="partials", daemon=True).start()

    def _send_partials(self) -> None:
        while True:
            time.sleep(_PULSE_S)
            with self._lock:
                analyses = list(self._with_partials)
                self._pulsing = bool(analyses)
            if not analyses:
                return
            for analysis in analyses:
                analysis.tell()

    def ended(self, analysis: Analysis) -> None:
        """It needs no partials any more."""
        with self._lock:
            self._with_partials.discard(analysis)

    # Answers without a search

    def known(self, question: Question) -> Data | None:
        """The answer as far as it takes no search; None when it takes one."""
        position = question.position
        if position.over:
            score = rules.final_score(position.player, position.opponent)
            return answer(question, [], 0, 0.0, over=True, score=score)
        found = self.book_moves(question) if question.book != "ignore" else []
        if question.book == "only":
            return answer(question, found[: question.multipv], 0, 0.0)
        if found and len(found) >= min(question.multipv, max(1, (position.moves & question.allow).bit_count())):
            return answer(question, found[: question.multipv], 0, 0.0)
        if found or question.allow != rules.FULL:
            return None
        # A search that is also bounded by nodes or time is answered by what was read out to the depth all the same.
        limits = question.limits
        kept = self.cache.get(position.player, position.opponent, question.multipv, limits.depth, limits.selectivity)
        if kept is None:
            return None
        return answer(question, [line_data(line) for line in kept], 0, 0.0, cached=True)

    def book_moves(self, question: Question) -> list[Data]:
        """What the book says of the moves that are allowed, best first."""
        position = question.position
        look = self.books.look_up(position.player, position.opponent)
        if look is None:
            return []
        moves = list(look.links)
        if look.leaf is not None:
            moves.append(look.leaf)
        levels = {look.leaf.move: look.leaf_level} if look.leaf is not None else {}
        found = []
        for known in sorted(moves, key=lambda known: (-known.score, known.move)):
            if known.move == rules.PASS or question.allow >> known.move & 1:
                found.append(self._book_move(position, known.move, known.score, levels.get(known.move)))
        return found

    def _book_move(self, position: Position, move: int, score: int, level: int | None) -> Data:
        from desdaemon.engine.limits import MAX_LEVEL, level_limits

        after = position.after(move)
        lower, upper = score, score
        if level is None:
            child = self.books.look_up(after.player, after.opponent)
            level = child.level if child else 0
            if child:
                lower, upper = -child.upper, -child.lower
        limits = level_limits(max(0, min(level, MAX_LEVEL)), min(after.empties, 60))
        line = (move, *self.books.line(after.player, after.opponent))
        return {
            "move": move_text(move).lower(),
            "score": score,
            "lower": lower,
            "upper": upper,
            "depth": limits.depth + (move != rules.PASS),
            "selectivity": limits.selectivity,
            "exact": limits.depth >= after.empties and limits.selectivity == 100 and lower == upper,
            "source": "book",
            "pv": moves_text(line),
            "nodes": 0,
        }


class Analysis:
    """One request: its questions, each answered once."""

    def __init__(self, analyses: Analyses, request: Request, questions: list[Question]) -> None:
        self.analyses = analyses
        self.request = request
        self.cancelled = False
        self._questions = questions
        self._answers: list[Data | None] = [None] * len(questions)
        self._searches: list[_Search] = []
        self._left = len(questions)
        self._lock = threading.Lock()
        self._begun = time.perf_counter()
        wanted = request.values.get("partial_ms", 0)
        self._interval = max(SHORTEST_PARTIAL_MS, wanted) / 1000 if wanted else 0.0

    def begin(self) -> None:
        """Answer what can be answered, and let the rest be searched."""
        if not self._questions:
            self._finish()
        for number, question in enumerate(self._questions):
            known = self.analyses.known(question)
            if known is not None:
                self.answered(number, known)
            else:
                self._searches.append(_Search(self, number, question))
        for search in list(self._searches):
            if not self.cancelled:
                search.submit()

    def cancel(self) -> None:
        """Nobody waits for the answer any more."""
        self.cancelled = True
        self.analyses.ended(self)
        for search in self._searches:
            search.cancel()

    def answered(self, number: int, data: Data) -> None:
        """A question has its answer."""
        with self._lock:
            # Under the lock, so that nothing preliminary follows.
            if self._questions[number].ply >= 0:
                self.request.partial({**data, "done": True})
            self._answers[number] = data
            self._left -= 1
            last = self._left == 0
        if last:
            self._finish()

    def failed(self, error: RequestError) -> None:
        """There will be no answer."""
        self.analyses.health.refused(error.code)
        self.request.fail(error)
        self.cancel()

    def _finish(self) -> None:
        self.analyses.ended(self)
        answers = [found for found in self._answers if found is not None]
        if self.request.values.get("plies") is None:
            self.request.final(answers[0])
            return
        spent = round((time.perf_counter() - self._begun) * 1000, 3)
        self.request.final({"plies": answers, "nodes": sum(found["nodes"] for found in answers), "time_ms": spent})

    def tell(self) -> None:
        """Send what is known so far of each question that is being searched, where it is time and there is anything."""
        if not self._interval:
            return
        with self._lock:
            now = time.perf_counter()
            for search in self._searches:
                due = now - search.told >= self._interval and self._answers[search.number] is None
                data = search.so_far() if due and search.running else None
                if data is not None:
                    search.told = now
                    self.request.partial({**data, "done": False})


class _Search:
    """The search for one question: waits for its turn, runs, and after a preemption waits again."""

    def __init__(self, analysis: Analysis, number: int, question: Question) -> None:
        self._analysis = analysis
        self._analyses = analysis.analyses
        self.number = number
        self.told = 0.0
        """When what is known so far was told the last time."""
        self._question = question
        self._limits = question.limits
        self._book = self._analyses.book_moves(question) if question.book == "use" else []
        values = analysis.request.values
        client, priority = analysis.request.client, values.get("priority", 0)
        self._item = Item(Lane.BATCH, client, 1, priority, self._start, self._preempt, divisible=True)
        self._lock = threading.Lock()
        self._control: Stoppable | None = None
        self._again = False
        self._lines: dict[int, Line] = {}
        self._nodes = 0
        self._ms = 0.0

    @property
    def running(self) -> bool:
        """Whether it has its turn."""
        return self._control is not None

    def submit(self) -> None:
        """Wait for a search thread."""
        self._analyses.scheduler.add(self._item)

    def cancel(self) -> None:
        """End it; its answer is not wanted."""
        self._analyses.scheduler.withdraw(self._item)
        self._stop()

    def _preempt(self) -> None:
        self._stop()

    def _stop(self) -> None:
        with self._lock:
            control = self._control
        if control is not None:
            control.stop()

    def _start(self) -> None:
        self._analyses.workers.put(Work(self._run, self._done, self._no_engine))

    def _no_engine(self, error: EngineFailure) -> None:
        self._analysis.failed(RequestError("internal", str(error)))

    def _run(self, engine: Engine) -> None:
        try:
            self._again = not self._analysis.cancelled and self._search(engine)
        except Exception:
            self._analyses.health.mistake("analyze")
            self._analysis.failed(RequestError("internal", "a mistake in the daemon; its log has more"))

    def _done(self) -> None:
        self._analyses.scheduler.release(self._item)
        if self._again:
            self._again = False
            self.submit()

    def _search(self, engine: Engine) -> bool:
        """Search, and answer unless the search was interrupted for something better; then True."""
        question = self._question
        control = engine.new_control()
        with self._lock:
            self._control = control
        try:
            if self._analysis.cancelled or self._item.preempted:
                return not self._analysis.cancelled
            taken = {found["move"] for found in self._book}
            allow = question.allow & ~sum(1 << move for move in rules.squares(question.allow) if _name(move) in taken)
            result = engine.searcher.search(
                question.position.player,
                question.position.opponent,
                self._limits,
                multipv=max(1, question.multipv - len(self._book)),
                allow=allow,
                control=control,
                progress=self._progress,
            )
        finally:
            with self._lock:
                self._control = None
        self._nodes += result.nodes
        self._ms += result.time_ms
        self._analyses.health.searched(result.nodes)
        if self._analysis.cancelled:
            return False
        if self._item.preempted and not result.complete:
            left = what_is_left(self._limits, result)
            if left:
                self._limits = left
                return True
        if question.allow == rules.FULL and not self._book and result.lines:
            self._analyses.cache.put(question.position.player, question.position.opponent, result.lines)
        found = [line_data(line) for line in result.lines]
        extra: dict[str, Any] = {} if result.complete else {"stopped": True}
        self._analysis.answered(self.number, self._answer(found, **extra))
        return False

    def _progress(self, rank: int, line: Line) -> None:
        with self._lock:
            self._lines[rank] = line
        self._analysis.tell()

    def so_far(self) -> Data | None:
        """What is known by now, None when nothing is."""
        with self._lock:
            lines = [self._lines[rank] for rank in sorted(self._lines)]
        if not lines and not self._book:
            return None
        found: dict[int, Line] = {}
        for line in lines:
            found.setdefault(line.move, line)
        data = self._answer([line_data(line) for line in found.values()])
        with self._lock:
            data["nodes"] += getattr(self._control, "nodes", 0)
        return data

    def _answer(self, found: list[Data], **extra: Any) -> Data:
        moves = sorted([*self._book, *found], key=lambda move: -int(move["score"]))
        return answer(self._question, moves[: self._question.multipv], self._nodes, self._ms, **extra)


def answer(question: Question, moves: list[Data], nodes: int, ms: float, **extra: Any) -> Data:
    """The data of a reply about one position."""
    position = question.position
    data: Data = {"ply": question.ply} if question.ply >= 0 else {}
    data["board"] = board_text(position)
    data["moves"] = moves
    data["nodes"] = nodes
    data["time_ms"] = round(ms, 3)
    data["canonical"] = canonical_text(position.player, position.opponent)
    return {**data, **extra}


def line_data(line: Line) -> Data:
    """A line of a search as it is sent."""
    return {
        "move": move_text(line.move).lower(),
        "score": line.score,
        "lower": line.lower,
        "upper": line.upper,
        "depth": line.depth,
        "selectivity": line.selectivity,
        "exact": line.exact,
        "source": "search",
        "pv": moves_text(line.pv),
        "nodes": line.nodes,
    }


def _name(move: int) -> str:
    return square_text(move).lower()


def _allowed(values: Data, position: Position, *, single: bool) -> int:
    """The mask of the moves to look at; raises `RequestError`.

    In a game (not ``single``) moves that are illegal in a position do not matter there.
    """
    allow, avoid = values.get("allow"), values.get("avoid")
    if allow is None and not avoid:
        return rules.FULL
    legal = position.moves
    mask = rules.FULL
    if allow is not None:
        mask = 0
        for move in read_moves("allow", allow):
            passes = move == rules.PASS and position.must_pass
            if single and not passes and not (move < 64 and legal >> move & 1):
                raise RequestError("illegal_move", f"{move_text(move)} is not legal there", "allow")
            mask |= 0 if move == rules.PASS else 1 << move
    for move in read_moves("avoid", avoid or []):
        mask &= ~(0 if move == rules.PASS else 1 << move)
    if legal and not mask & legal:
        if single:
            field = "allow" if allow is not None else "avoid"
            raise RequestError("illegal_move", "no legal move is left to look at", field)
        return rules.FULL
    return mask if legal else rules.FULL
