"""The Go Text Protocol over a session.

Some GUIs never send a pass, some send every one, some ask for one even after the end of the game. All are understood: a
forced pass that was left out is inserted when the other side moves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from desdaemon.core.search.loader import Abandoned, EngineFailure, Progress
from desdaemon.dialogue.clock import Clock
from desdaemon.dialogue.dialects import Spoken
from desdaemon.dialogue.dialects.dialect import LineDialect
from desdaemon.dialogue.session import CommandContext, Session, unlimited
from desdaemon.dialogue.streams import DialogueOutput, InputListener
from desdaemon.guis.codecs import gtp
from desdaemon.guis.codecs.gtp import GtpError
from desdaemon.protocol.commands.options import OPTIONS
from desdaemon.protocol.errors import BadInput, lacking, passing_lack, quoted
from desdaemon.protocol.games.records import black_score
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, illegal_move, moves_text
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.version import __version__

from .gtp_reports import AnalysisStream, LiveGraphics, wait_for_a_line

if TYPE_CHECKING:
    from desdaemon.engine.result import Result

# These commands announce that a game will be played: the engine is loaded.
_BEFORE_PLAY = ("boardsize", "set_game", "komi", "time_settings", "time_left", "reg_genmove", "genmove")


class GtpListener(InputListener):
    """Hears GTP's lines: GoGui's ``# interrupt`` ends any search, any line ends an analysis, ``quit`` ends the
    input.
    """

    strict = False
    scripted = False

    _open_ended = 0
    """The number of the line whose analysis any line ends; 0 if there is none."""

    def hear(self, number: int, line: str) -> bool:
        if self._open_ended:
            self.interrupt.stop(number, only=self._open_ended)
            self._open_ended = 0
        if line.split() == ["#", "interrupt"]:
            self.interrupt.stop(number)
        words = line.split("#", 1)[0].split()
        if words and words[0].isdecimal():
            del words[0]
        if words and words[0].lower() in gtp.ENDED_BY_A_LINE:
            self._open_ended = number
        return self.leave() if words[:1] == ["quit"] else False


class GtpDialect(LineDialect):
    """Answers GTP's commands."""

    def __init__(self, session: Session, output: DialogueOutput) -> None:
        super().__init__(session, output)
        self._implied: set[int] = set()
        """Indices, in the game's moves, of forced passes that the client left out."""
        self._graphics = LiveGraphics(output)
        self._handlers: dict[str, Callable[[list[str]], str]] = {
            "protocol_version": lambda arguments: "2",
            "name": lambda arguments: "desdaemon",
            "version": lambda arguments: __version__,
            "known_command": self._known_command,
            "list_commands": lambda arguments: "\n".join(command.name for command in gtp.COMMANDS),
            "quit": self._quit,
            "list_games": lambda arguments: "Othello",
            "set_game": self._set_game,
            "boardsize": self._boardsize,
            "clear_board": self._clear_board,
            "komi": self._komi,
            "play": self._play,
            "genmove": self._genmove,
            "reg_genmove": self._reg_genmove,
            "undo": lambda arguments: self._undo(["1"]),
            "gg-undo": self._undo,
            "time_settings": self._time_settings,
            "time_left": self._time_left,
            "loadsgf": self._loadsgf,
            "final_score": self._final_score,
            "showboard": lambda arguments: gtp.diagram(self.position),
            "set_level": lambda arguments: self._set_one("level", arguments),
            "set_strength": lambda arguments: self._set_one("strength", arguments),
            "cputime": lambda arguments: f"{time.process_time():.3f}",
            "gogui-rules_game_id": lambda arguments: "Othello",
            "gogui-rules_board_size": lambda arguments: "8",
            "gogui-rules_board": lambda arguments: "\n".join(reversed(gtp.board_rows(self.position))),
            "gogui-rules_legal_moves": lambda arguments: gtp.legal_moves_text(self.position),
            "gogui-rules_side_to_move": lambda arguments: gtp.colour_text(self.position.black_to_move),
            "gogui-rules_final_result": lambda arguments: gtp.result_text(self.position),
            "gogui-play_sequence": self._play_sequence,
            "gogui-interrupt": lambda arguments: "",
            "gogui-title": lambda arguments: "desdaemon",
            "gogui-analyze_commands": self._analyze_commands,
            "gogui-param": self._param,
            "gogui-rules_board_gfx": lambda arguments: gtp.board_gfx(self.position),
            "gogui-rules_captured_count": lambda arguments: "0 0",
            "gogui-rules_setup": lambda arguments: "",
            "gogui-setup": self._setup,
            "gogui-setup_player": self._setup_player,
            "gogui-version": lambda arguments: __version__,
            "desdaemon-book": self._book,
            "desdaemon-hint": self._hint,
            "desdaemon-hint_gfx": self._hint_gfx,
        }

    @property
    def position(self) -> Position:
        """The position on the board."""
        return self.session.game.position

    # The dialogue

    def refuse(self, error: str) -> None:
        self._say(gtp.response("", f"syntax error: {error}", failed=True))

    def execute(self, line: str) -> None:
        """Answer a line. Lines without a command get no answer; a command that fails changes nothing."""
        request = gtp.parse_request(line)
        if request is None:
            return
        if request.command in _BEFORE_PLAY:
            self.session.prepare()
        try:
            if request.command in gtp.STREAMS:
                self._stream(request)
                return
            answer = gtp.response(request.id, self._answer(request.command, request.arguments))
        except (GtpError, BadInput) as error:
            answer = gtp.response(request.id, str(error), failed=True)
        except Abandoned:
            answer = gtp.response(request.id, "interrupted", failed=True)
        except EngineFailure as error:
            answer = gtp.response(request.id, f"cannot search: {error}", failed=True)
        except Exception as error:
            answer = gtp.response(request.id, lacking(error) or self._confess(line), failed=True)
        self._say(answer)

    def _answer(self, command: str, arguments: list[str]) -> str:
        handler = self._handlers.get(command)
        if handler is None:
            raise GtpError(f"unknown command {quoted(command)}" if command else "unknown command")
        return handler(arguments)

    def _say(self, answer: str) -> None:
        self.output.write(answer)
        self.output.flush()

    def _confess(self, line: str) -> str:
        import traceback

        trace = traceback.format_exc().rstrip()
        self.output.error(f"{quoted(line)}: an internal error\n{trace}")
        return "an internal error"

    # Set-up

    def _known_command(self, arguments: list[str]) -> str:
        (name,) = _exactly(arguments, "a command")
        return "true" if name in gtp.COMMAND_NAMES else "false"

    def _quit(self, arguments: list[str]) -> str:
        self.leaving = 0
        return ""

    def _set_game(self, arguments: list[str]) -> str:
        (name,) = _exactly(arguments, "the name of a game")
        if name.lower() not in ("othello", "reversi"):
            raise GtpError(f"unsupported game {quoted(name)}: expected Othello")
        return ""

    def _boardsize(self, arguments: list[str]) -> str:
        (size,) = _exactly(arguments, "a size")
        if gtp.parse_count(size, 0, 10**9) != 8:
            raise GtpError(f"unacceptable size {size}: expected 8")
        return ""

    def _clear_board(self, arguments: list[str]) -> str:
        self.session.init()
        self._implied.clear()
        for clock in self.session.clocks.values():
            clock.restart()
        return ""

    def _komi(self, arguments: list[str]) -> str:
        (komi,) = _exactly(arguments, "a number")
        try:
            float(komi)
        except ValueError:
            raise GtpError(f"syntax error: {quoted(komi)}: expected a number") from None
        return ""

    def _time_settings(self, arguments: list[str]) -> str:
        main, period, stones = _exactly(arguments, "main time, period and stones")
        main_ms, period_ms = gtp.parse_seconds(main), gtp.parse_seconds(period)
        count = gtp.parse_count(stones, 0, 10**6)
        self.session.clocks.clear()
        # In GTP a period without stones means no limit; GUIs mean the same by three zeros.
        if (period_ms and not count) or not (main_ms or (period_ms and count)):
            return ""
        for black in (True, False):
            self.session.clocks[black] = Clock(main_ms, period_ms, count if period_ms else 0)
        return ""

    def _time_left(self, arguments: list[str]) -> str:
        colour, seconds, stones = _exactly(arguments, "a colour, seconds and stones")
        black, left = gtp.parse_colour(colour), gtp.parse_seconds(seconds, overdrawn=True)
        count = gtp.parse_count(stones, 0, 10**6)
        clock = self.session.clocks.setdefault(black, Clock(left))
        self.session.overhead.raise_to(clock.set(left, count))
        return ""

    # The game

    def _play(self, arguments: list[str]) -> str:
        colour, vertex = _exactly(arguments, "a colour and a move")
        self._play_all([(gtp.parse_colour(colour), gtp.parse_vertex(vertex))])
        return ""

    def _play_sequence(self, arguments: list[str]) -> str:
        if len(arguments) % 2:
            raise GtpError("syntax error: expected colours and moves in turn")
        pairs = zip(arguments[::2], arguments[1::2], strict=True)
        self._play_all([(gtp.parse_colour(colour), gtp.parse_vertex(vertex)) for colour, vertex in pairs])
        return ""

    def _play_all(self, moves: list[tuple[bool, int]]) -> None:
        position = self.position
        played: list[tuple[int, bool]] = []
        for black, move in moves:
            if move == PASS and position.over:
                continue
            if black != position.black_to_move:
                position = _turned_to(position, black)
                played.append((PASS, True))
            try:
                position = position.after(move)
            except rules.IllegalMove:
                raise GtpError(f"illegal move: {illegal_move(position, move)}") from None
            played.append((move, False))
        for move, implied in played:
            if implied:
                self._implied.add(len(self.session.game.moves))
            self.session.play_move(move)

    def _genmove(self, arguments: list[str]) -> str:
        (colour,) = _exactly(arguments, "a colour")
        return self._generated(gtp.parse_colour(colour))

    def _generated(self, black: bool, progress: Progress | None = None) -> str:
        """Play the engine's move for Black (``black``) or White. If the other side is to move and must pass, its pass
        is played before. Returns the move as GTP writes it; if the game is over, returns ``pass`` and plays nothing.
        ``progress``, if given, replaces the live graphics.

        Raises, changing nothing, `GtpError` if it is not this side's turn, and what `Session.choose` raises.
        """
        if self.position.over:
            return "pass"
        game = self.session.game
        plies = len(game.moves)
        if black != self.position.black_to_move:
            _turned_to(self.position, black)
            self.session.play_move(PASS)
        try:
            limits = self.session.limits(self.position)
            move, _ = self.session.choose(
                progress or self._graphics.progress(self.position.black_to_move, limits.depth)
            )
        except Exception:
            if len(game.moves) > plies:
                game.undo()
            raise
        finally:
            self._graphics.clear()
        if len(game.moves) > plies:
            self._implied.add(plies)
        self.session.play_move(move)
        return gtp.vertex_text(move)

    def _reg_genmove(self, arguments: list[str]) -> str:
        (colour,) = _exactly(arguments, "a colour")
        black = gtp.parse_colour(colour)
        position = self.position
        if position.over:
            return "pass"
        if black != position.black_to_move:
            position = _turned_to(position, black)
        if position.must_pass:
            return "pass"
        limits = self.session.limits(position)
        try:
            progress = self._graphics.progress(position.black_to_move, limits.depth)
            return gtp.vertex_text(self.session.suggest(position, limits, progress))
        finally:
            self._graphics.clear()

    def _undo(self, arguments: list[str]) -> str:
        count = gtp.parse_count(arguments[0], 0, 10**6) if arguments else 1
        game = self.session.game
        if count > sum(index not in self._implied for index in range(len(game.moves))):
            raise GtpError("cannot undo: too few moves")
        for _ in range(count):
            game.undo()
            while len(game.moves) - 1 in self._implied:
                self._implied.discard(len(game.moves) - 1)
                game.undo()
        return ""

    def _loadsgf(self, arguments: list[str]) -> str:
        from desdaemon.dialogue.commands.game_files import read_game

        if not 1 <= len(arguments) <= 2:
            raise GtpError("syntax error: expected the name of a file")
        end = gtp.parse_count(arguments[1], 1, 10**6) if arguments[1:] else 10**6
        try:
            record = read_game(arguments[0], "sgf")
        except BadInput as error:
            raise GtpError(f"cannot load file: {error}") from None
        self.session.load(record._replace(moves=record.moves[: end - 1]))
        self._implied.clear()
        return gtp.colour_text(self.position.black_to_move)

    def _final_score(self, arguments: list[str]) -> str:
        if not self.position.over:
            raise GtpError("cannot score: the game is not over")
        return gtp.score_text(black_score(self.position))

    def _setup(self, arguments: list[str]) -> str:
        if len(arguments) % 2:
            raise GtpError("syntax error: expected colours and squares in turn")
        pairs = zip(arguments[::2], arguments[1::2], strict=True)
        squares = {gtp.parse_vertex(vertex): gtp.parse_colour(colour) for colour, vertex in pairs}
        if PASS in squares:
            raise GtpError("syntax error: pass is not a square")
        black = sum(1 << square for square, colour in squares.items() if colour)
        white = sum(1 << square for square, colour in squares.items() if not colour)
        self._start(Position(black, white, True))
        return ""

    def _setup_player(self, arguments: list[str]) -> str:
        (colour,) = _exactly(arguments, "a colour")
        black = gtp.parse_colour(colour)
        if black != self.position.black_to_move:
            player, opponent, _ = self.position
            self._start(Position(opponent, player, black))
        return ""

    def _start(self, position: Position) -> None:
        self.session.start(position)
        self._implied.clear()

    # Parameters

    def _set_one(self, name: str, arguments: list[str]) -> str:
        (value,) = _exactly(arguments, f"a {name}")
        self._set_option(name, value)
        return ""

    def _set_option(self, name: str, text: str) -> None:
        option = OPTIONS.find(name)
        assert option is not None
        try:
            self.session.set_option(option, text)
        except BadInput as error:
            raise GtpError(f"syntax error: {error}") from None

    def _analyze_commands(self, arguments: list[str]) -> str:
        # Only GoGui asks this, and GoGui draws the live graphics.
        self._graphics.on = True
        return "\n".join(gtp.ANALYZE_COMMANDS)

    def _param(self, arguments: list[str]) -> str:
        if not arguments:
            rows = [(f"[{row.kind}]", row.key, self._parameter(row)) for row in gtp.PARAMETERS]
            rows.append(("[bool]", gtp.LIVE_GRAPHICS, str(int(self._graphics.on))))
            return "\n".join(" ".join(row) for row in rows)
        key, value = arguments[0], " ".join(arguments[1:])
        if key == gtp.LIVE_GRAPHICS:
            self._graphics.on = gtp.parse_count(value, 0, 1) == 1
            return ""
        row = next((row for row in gtp.PARAMETERS if row.key == key), None)
        if row is None:
            keys = " ".join([*(row.key for row in gtp.PARAMETERS), gtp.LIVE_GRAPHICS])
            raise GtpError(f"syntax error: {quoted(key)} is not a parameter: expected one of {keys}")
        self._set_option(row.option, value)
        self.session.prepare()
        return ""

    def _parameter(self, row: gtp.GtpParameter) -> str:
        option = OPTIONS.find(row.option)
        assert option is not None
        text = self.session.settings.text(option)
        return str(int(text == "on")) if row.kind == "bool" else text

    # Analysis

    def _stream(self, request: gtp.GtpRequest) -> None:
        """Answer a command by a stream of lines during a search. Raises `GtpError` for a wrong argument or colour;
        later errors are written to standard error.
        """
        wanted = gtp.parse_analysis(request.arguments)
        black = self.position.black_to_move if wanted.black is None else wanted.black
        if not self.position.over and black != self.position.black_to_move:
            _turned_to(self.position, black)
        generating = request.command not in gtp.ENDED_BY_A_LINE
        self.session.prepare()
        self._say(f"={request.id}\n")
        form = gtp.STREAMS[request.command]
        try:
            if generating:
                with AnalysisStream(self._say_line, form, wanted, 1) as stream:
                    move = self._generated(black, stream.progress)
                self._say_line(f"play {move}")
            else:
                self._analyze(black, form, wanted)
        except Abandoned:
            pass
        except (EngineFailure, GtpError) as error:
            self.output.error(f"{request.command}: {error}")
        except (MemoryError, OSError, ImportError) as error:
            self.output.error(f"{request.command}: {passing_lack(error)}")
        except Exception:
            self._confess(request.command)
        self._say("\n")

    def _say_line(self, line: str) -> None:
        self._say(f"{line}\n")

    def _analyze(self, black: bool, form: gtp.AnalysisForm, wanted: gtp.AnalysisOrder) -> None:
        position = self.position
        if not position.over and black != position.black_to_move:
            position = position.after(PASS)
        with self.session.interrupt.searching(bounded=False) as search:
            allowed = position.moves & wanted.allowed
            if allowed or position.must_pass:
                moves = min(wanted.most, max(1, allowed.bit_count()))
                with AnalysisStream(self._say_line, form, wanted, moves) as stream:
                    self.session.search(
                        position,
                        unlimited(position),
                        multipv=moves,
                        allow=allowed or rules.FULL,
                        progress=stream.progress,
                        window=(-64, 64),
                    )
            wait_for_a_line(search)

    def _book(self, arguments: list[str]) -> str:
        from desdaemon.dialogue.commands import book

        answer = _CollectedAnswer(self.session, self.output)
        book.run(answer, " ".join(arguments))
        # An empty line would end the answer.
        return "\n".join(line for line in answer.lines if line.strip())

    def _best(self, wanted: int) -> Result:
        position = self.position
        choices = max(1, position.moves.bit_count())
        limits = self.session.limits(position)
        try:
            progress = self._graphics.progress(position.black_to_move, limits.depth)
            return self.session.search(position, limits, multipv=min(wanted, choices), progress=progress)
        finally:
            self._graphics.clear()

    def _hint(self, arguments: list[str]) -> str:
        wanted = gtp.parse_count(arguments[0], 1, 10**6) if arguments else 1
        if self.position.over:
            return ""
        return "\n".join(
            f"{gtp.vertex_text(line.move)} {line.score:+d} {line.depth}@{line.selectivity}% {moves_text(line.pv)}"
            for line in self._best(wanted).lines
        )

    def _hint_gfx(self, arguments: list[str]) -> str:
        if self.position.over or self.position.must_pass:
            return f"TEXT {gtp.result_text(self.position) or 'pass'}"
        lines = self._best(64).lines
        labels = " ".join(f"{gtp.vertex_text(line.move)} {line.score:+d}" for line in lines)
        best = lines[0]
        return f"LABEL {labels}\nTEXT {gtp.vertex_text(best.move)} {best.score:+d}, depth {best.depth}"


class _CollectedAnswer(CommandContext):
    """A context that collects the answer of a book command."""

    def __init__(self, session: Session, output: DialogueOutput) -> None:
        super().__init__(session, output)
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines += text.splitlines()

    def warn(self, message: str) -> None:
        self.lines.append(f"warning: {message}")


def _turned_to(position: Position, black: bool) -> Position:
    """Return the position after a forced pass, which gives the turn to Black (``black``) or White. That side must not
    be to move before the pass. Raises `GtpError` if no pass is forced.
    """
    if not position.must_pass:
        expected = "the game is over" if position.over else f"{gtp.colour_text(position.black_to_move)} is to move"
        raise GtpError(f"illegal move: wrong colour {gtp.colour_text(black)}: {expected}")
    return position.after(PASS)


def _exactly(arguments: list[str], what: str) -> list[str]:
    """Return the arguments if there are as many as ``what`` lists, such as two for ``a colour and a move``. Raises
    `GtpError` for another number.
    """
    count = what.count(",") + what.count(" and ") + 1
    if len(arguments) != count:
        raise GtpError(f"syntax error: expected {what}")
    return arguments


SPOKEN = Spoken(GtpListener, GtpDialect)
