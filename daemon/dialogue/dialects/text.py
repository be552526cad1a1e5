"""Edax's text protocol: `TextDialect.run` is the whole dialogue with boards and prompts.

`TextDialect.execute` carries out one line, `TextDialect.settle` makes the engine's own moves.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from desdaemon.core.search.loader import Abandoned, EngineFailure
from desdaemon.dialogue.session import CommandContext, Handler, Session
from desdaemon.dialogue.streams import DialogueOutput, InputLine, LineQueue
from desdaemon.protocol.commands.options import STARTING
from desdaemon.protocol.commands.text import TextLine, read_line
from desdaemon.protocol.dialects import edax
from desdaemon.protocol.errors import BadInput, Unfinished, lacking, quoted
from desdaemon.protocol.othello.notation import parse_move
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.rows import Command, Option, load

PROMPT = ">"
UNUSABLE = 1
"""Exit status if a file or the engine cannot be used."""


HANDLERS = {
    "init": "game.init",
    "new": "game.new",
    "setboard": "game.set_board",
    "undo": "game.undo",
    "redo": "game.redo",
    "load": "game.load",
    "save": "game.save",
    "moves": "game.moves",
    "stop": "game.stop",
    "hmirror": "game.mirror_files",
    "vmirror": "game.mirror_ranks",
    "rotate": "game.rotate",
    "symmetry": "game.transform",
    "version": "help.version",
    "options": "game.options",
    "quit": "game.quit_dialogue",
    "help": "help.show_help",
    "book": "book.run",
    "play": "lines.play",
    "force": "lines.force",
    "opening": "lines.opening",
    "ouverture": "lines.ouverture",
    "seek": "lines.seek",
    "go": "search.go",
    "hint": "search.hint",
    "eval": "search.evaluate",
    "analyze": "search.analyze",
}
"""The function of each command of the core, with its module in `desdaemon.dialogue.commands`.

Lines that begin another protocol (`TextLine.successor`) have none.
"""


def find_handler(command: Command) -> Handler:
    """Import and return the function that carries out a command. Raises `KeyError` if it has none."""
    return _loaded(command.handler or f"desdaemon.dialogue.commands.{HANDLERS[command.name].replace('.', ':')}")


@cache
def _loaded(place: str) -> Handler:
    handler: Handler = load(place)
    return handler


class TextDialect(CommandContext):
    """A dialogue in Edax's text protocol. For one thread."""

    def __init__(self, session: Session, output: DialogueOutput) -> None:
        super().__init__(session, output)
        self.successor = ""
        """The protocol that the line ``last`` begins, "" for none; the caller passes the line on to it."""
        self.last: InputLine | None = None
        self.scripted = False
        """Whether the lines come from a file or a pipe: then nobody reads one answer before sending the next line."""
        self.attended = False
        """Whether somebody types the lines and reads the answers, at a terminal."""
        self._games_left = session.settings.repeat
        self._unsaved = False
        """Whether a command that saves has failed in a script."""

    # A line

    def execute(self, text: str) -> None:
        """Parse a line and carry it out."""
        self.run_line(read_line(text))

    def run_line(self, line: TextLine) -> None:
        """Carry out a line; an empty line does nothing. Errors are printed as a warning; invalid input changes nothing.

        Only an `OSError` that names no file, such as a lost output's, is raised.
        """
        if not line.word:
            return
        try:
            self._dispatch(line)
        except Unfinished as error:
            self._unfinished(error)
        except BadInput as error:
            self._refused(line, str(error))
        except OSError as error:
            reason = lacking(error)
            if not reason and error.filename is None:
                raise
            self._refused(line, reason or f"{quoted(str(error.filename))}: {error.strerror}")
        except Abandoned:
            self._abandoned(line.text)
        except EngineFailure as error:
            self._engine_failed(error)
        except MemoryError as error:
            self._refused(line, f"{quoted(line.text)}: not enough memory: {error}" if str(error) else lacking(error))
        except Exception as error:
            if reason := lacking(error):
                self._refused(line, reason)
            else:
                self._confess(line.text)

    def _dispatch(self, line: TextLine) -> None:
        command = line.command
        if self.settings.echo and line.successor != "json":
            self.say(f" {line.word} {line.rest}")
        if line.rest and command is not None and not command.parameters and command.name != "quit":
            raise BadInput(f"{quoted(line.text)}: {command.name} takes nothing after it")
        if line.successor:
            self.successor = line.successor
            return
        if command is not None:
            find_handler(command)(self, line.rest)
            return
        if line.option is not None and line.option.name not in ("q", "vv"):
            self._option(line.option, line.rest)
            return
        try:
            move = parse_move(line.text)
        except BadInput:
            # Programs look for Edax's words.
            told = "Neither a command nor a move" if self.attended else "Unknown command/Illegal move"
            raise BadInput(f"{told}: {quoted(line.text)}: {_suggestion(line)}") from None
        self.session.play_move(move)
        self.moved = True
        if line.word in ("pa", "ps"):
            self.typed_pass = line.word.upper()
        self.say(f"\nYou play {self.announced(move)}")

    def _option(self, option: Option, value: str) -> None:
        if not value and option.kind != "flag":
            self.say(f"{option.name} = {self.settings.text(option)}")
            return
        if option.name in STARTING:
            raise BadInput(f"{option.name} {quoted(value)}: only on the command line or in an option file")
        if option.name == "eval-file":
            self._change_weights(option, value)
        else:
            self.session.set_option(option, value or "on")
        if self.attended:
            self.say(f"{option.name} = {self.settings.text(option)}")
        if option.name == "repeat":
            self._games_left = self.settings.repeat
        if option.name in ("book-file", "book-overlay"):
            self.open_book()

    def _change_weights(self, option: Option, value: str) -> None:
        previous = self.settings.eval_file
        self.session.set_option(option, value)
        try:
            self.session.engine()
        except EngineFailure as error:
            self.settings.eval_file = previous
            raise BadInput(str(error)) from None

    def open_book(self) -> None:
        """Start to open the book that the options name."""
        self.session.open_book(self.warn)

    def _refused(self, line: TextLine, reason: str) -> None:
        self.warn(reason)
        self._unsaved |= self.scripted and line.book is not None and line.book.saves

    def _confess(self, line: str) -> None:
        """Report an internal error in the command ``line``, with its traceback; the dialogue goes on."""
        import traceback

        self.warn(f"{quoted(line)}: an internal error\n{traceback.format_exc().rstrip()}")

    def _abandoned(self, line: str) -> None:
        """Report that the command ``line`` was stopped before its search began; report nothing if the other end has
        gone.
        """
        if not self.session.interrupt.expired:
            self.warn(f"{quoted(line)}: stopped before its search began")

    def _unfinished(self, error: Unfinished) -> None:
        """Report a command that was not finished. In a script this ends the dialogue, unless the option `keep-going` is
        on, because later lines may need the results.
        """
        ending = self.scripted and not self.settings.keep_going
        self.warn(f"{error}{': the script ends here (-keep-going on goes on)' if ending else ''}")
        if ending:
            self.leaving = UNUSABLE

    def _engine_failed(self, error: EngineFailure) -> None:
        """Report an engine that cannot be loaded; end the dialogue unless another one was loaded before."""
        self.warn(str(error))
        if not self.session.engine_ready:
            self.leaving = UNUSABLE

    # The engine's own moves

    def settle(self) -> None:
        """Make the engine's moves as the option `mode` says; after the end of a game apply the options for that."""
        while self.leaving is None and self.step(line_waiting=False, ending=False):
            pass

    def step(self, line_waiting: bool, ending: bool) -> bool:
        """Make one step of `settle`. Returns whether to go on: False if there was none to make, if a stop came, and
        after the end of a game unless a new one was begun.

        The engine does not move while a line waits. ``ending`` says that the input has ended, so that new games begin
        only by the option `repeat`.
        """
        if self.session.game.position.over and self.moved:
            self.moved = False
            return self._game_over(ending)
        if not self.session.own_turn or line_waiting:
            return False
        try:
            load("desdaemon.dialogue.commands.search:go")(self, "")
        except Abandoned:
            self._abandoned("go")
            return False
        except EngineFailure as error:
            self._engine_failed(error)
            self.settings.mode = 3
        except OSError:
            raise
        except Exception:
            self._confess("go")
            self.settings.mode = 3
        return True

    def _game_over(self, ending: bool) -> bool:
        """Apply the options for the end of a game. Returns whether a new game was begun; `auto-start` begins none if
        the input is ``ending``.
        """
        settings = self.settings
        if settings.auto_store and self.session.books is not None and self.session.books.book is not None:
            # If the book cannot store the game, the script goes on: its lines do not need that.
            scripted, self.scripted = self.scripted, False
            self.execute("book store")
            self.scripted = scripted
        if settings.auto_swap and settings.mode in (0, 1):
            settings.mode = 1 - settings.mode
        if self._games_left > 1:
            self._games_left -= 1
            self.session.new()
            return True
        if settings.auto_quit:
            self.leaving = 0
        elif settings.auto_start and not ending:
            self.session.new()
            return True
        return False

    # The dialogue

    def run(self, source: LineQueue, on_prompt: Callable[[], None]) -> int:
        """Show boards and prompts and answer lines until the dialogue ends or a line begins another protocol, which
        ``successor`` then names. Returns the exit status.

        ``on_prompt`` is called once the first prompt has been written.
        """
        if self.attended and self.settings.verbose:
            self.say("desdaemon: type help for the commands, quit to leave")
        while self.leaving is None and not self.successor:
            self.shows_boards = self.settings.verbose > 0
            if self.shows_boards:
                self._show_board()
            waiting = source.peek()
            if self.step(waiting is not None and not waiting.is_end, waiting is not None and waiting.is_end):
                continue
            if self.leaving is not None:
                break
            if self.attended and self.session.game.position.must_pass:
                black = self.session.game.position.black_to_move
                self.say(f"{'Black' if black else 'White'} has no move: type {self.announced(PASS)} to pass")
            self.output.write(PROMPT)
            self.output.flush()
            on_prompt()
            on_prompt = _nothing
            if self.settings.mode in (0, 1) and source.peek() is None:
                self.session.ponder()
            self.session.interrupt.rest()
            line = source.get()
            self.session.interrupt.begin(line.number)
            self.output.write("\n")
            if line.error:
                self.warn(line.error)
            if line.text is not None:
                self.last = line
                self.run_line(line.line or read_line(line.text))
            else:
                self.leaving = line.status
        self.output.flush()
        return self.leaving or (UNUSABLE if self._unsaved else 0)

    def _show_board(self) -> None:
        game = self.session.game
        diagram = edax.board_diagram(game.position, game.initial, tuple(game.moves), game.black_ms, game.white_ms)
        self.output.write(f"\n{diagram}\n\n")
        if game.position.over:
            self.output.write(f"\n{edax.GAME_OVER}\n")


def _suggestion(line: TextLine) -> str:
    """Return the end of a message about an unknown line: `play` with the moves if it has several, else the most similar
    command or option, or what is expected.
    """
    from desdaemon.protocol.commands.options import OPTIONS
    from desdaemon.protocol.commands.text import COMMANDS
    from desdaemon.protocol.spelling import did_you_mean

    if re.fullmatch("([a-h][1-8] *){2,}", line.text.lower()):
        return f"did you mean {quoted(f'play {line.text}')}?"
    names = [*(command.name for command in COMMANDS), *(option.name for option in OPTIONS)]
    return did_you_mean(line.word.lstrip("-"), names, "a command (see help) or a move such as D3")


def _nothing() -> None:
    return
