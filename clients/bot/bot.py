"""The command line of `desdaemon bot`, and the bot: it answers challenges, and plays each game on a thread of its own.

The engine is any program that `desdaemon match` can play with; each game has a process of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import queue
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from desdaemon.clients.arguments import Parser, check_writable, read_secret, real, whole
from desdaemon.clients.programs.engine_process import EngineFault, command_of
from desdaemon.clients.programs.engine_protocols import EngineClient, detected_protocol, start_player
from desdaemon.clients.programs.process_groups import ProcessGroups, StoppedBySignals, interrupt
from desdaemon.clients.programs.time_control import Stopwatch, TimeControl
from desdaemon.protocol.errors import BadInput, escaped, quoted
from desdaemon.protocol.games.bases import FileGame, format_to_write, write_games
from desdaemon.protocol.games.records import GameRecord
from desdaemon.protocol.othello.notation import move_text, parse_move
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import BlackScore
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system import logs

from .api import PATIENCE_S, Api, ApiRefusal, ApiSilence
from .messages import BotTurn, Challenge, GameTable, Over, Rules, Seeking, site_id

SERVER = "https://playstrategy.org"

DESCRIPTION = """\
A program plays on PlayStrategy, by its API for bots:

  desdaemon bot bot.token --accept people,bots --clock 60:900

FILE holds a token with the scope bot:play, and only you may read it
(chmod 600). The bot accepts nobody unless told, and no rated games. It
reads no chat. Ctrl-C lets it finish its games, a second one ends it now;
games that go on are taken up at the next start.
"""

LAG_MS = 500.0
"""Ms subtracted from the time on the server's clock, for the delay of the network."""

_START_S = 30.0
"""Seconds for which an accepted challenge keeps a place for its game."""

_OPEN_S = 60.0
"""Seconds for which a challenge of the bot's own is open."""

_REMEMBERED = 100
"""Finished games, and challenged players, that the bot remembers."""

_WAITING = 100
"""Games of the site that wait for their turn; those beyond are not played."""

_ERRANDS = 16
"""Challenges whose answers wait to be sent; those beyond are not answered."""

_LONGEST_ID = 40

_FIRST_STATE_S = 120.0
"""Seconds for the first state of a game."""
_NEWS_S = 600.0
"""Seconds beyond both clocks after which a game without a new move is given up."""
_LONGEST_S = 86_400.0

_ENDINGS = {"outoftime": "time", "timeout": "time", "resign": "resigned"}
"""Why a game ended early, in the words of saved games, by the site's statuses."""

_FAULTS = 3
"""Faults of the engine at one move after which the bot resigns."""


def main(arguments: Sequence[str]) -> int:
    """Run the bot until a signal ends it. Returns 0, or 1 after an error message if the bot cannot go on; a bad command
    line, or an unusable file with the token, ends the program with status 2.
    """
    parser = command_line()
    options = parser.parse_args(arguments)
    groups = ProcessGroups()
    try:
        rules = _rules(options.accept, options.rated, options.clock)
        seeking = _seeking(options)
        if options.games:
            format_to_write(options.games)
            check_writable("--games", options.games)
        command = command_of(options.engine)
        closing = threading.Event()
        api = Api(options.server, read_secret(options.token, "token"), _tell, closing)
    except BadInput as error:
        parser.error(str(error))
    with logs.without_waiting():
        try:
            protocol = detected_protocol(command, groups, _tell)
            bot = Bot(api, rules, command, protocol, groups, options.most, options.games, seeking)
            with StoppedBySignals(interrupt):
                try:
                    bot.run(upgrade=options.upgrade)
                except KeyboardInterrupt:
                    bot.finish()
        except (BadInput, EngineFault, ApiRefusal) as error:
            _tell(str(error))
            return 1
        except (KeyboardInterrupt, InterruptedError):
            pass
        finally:
            closing.set()
            groups.stop()
    return 0


def command_line() -> Parser:
    """Return the parser of the command line."""
    parser = Parser(prog="desdaemon bot", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("token", metavar="FILE", help="the file with the token")
    add("--accept", default="", metavar="WHO", help="people, bots, names of players: a list with commas")
    add("--rated", action="store_true", help="accept rated games too")
    add("--clock", default="60:3600", metavar="MIN:MAX", help="seconds at the start of a game (default 60:3600)")
    add("--challenge", default="", metavar="WHO", help="challenge these while idle: bots, names: a list with commas")
    add("--every", type=real(1, 10_000), default=30.0, metavar="MIN", help="after so many idle minutes (default 30)")
    add("--offer", default="300+3", metavar="S+S", help="the clock of these games, in seconds (default 300+3)")
    add("--rating", default="0:4000", metavar="MIN:MAX", help="ratings of whom to challenge (default 0:4000)")
    add("--most", type=whole(1, 64), default=1, metavar="N", help="games at a time (default 1)")
    add("--engine", default="self", metavar="PROGRAM", help="the program's command line (default: this program)")
    add("--games", default="", metavar="FILE", help="append finished games to a file, such as games.ggf")
    add("--upgrade", action="store_true", help="make the account a bot's, for good, before its first game")
    add("--server", default=SERVER, metavar="URL", help=f"the site (default {SERVER})")
    return parser


class Bot:
    """Answers challenges and plays their games. `run` reads the stream of events on the caller's thread."""

    def __init__(
        self,
        api: Api,
        rules: Rules,
        command: list[str],
        protocol: str,
        groups: ProcessGroups,
        most: int,
        games_file: str,
        seeking: Seeking | None = None,
    ) -> None:
        """``command`` starts the engine, which speaks ``protocol``, in a process group of ``groups``. Up to ``most``
        games are played at a time; finished ones are appended to the file ``games_file`` unless it is "". Others are
        challenged by the rules ``seeking``; None: nobody.
        """
        self._seeking = seeking
        self._own: str | None = None
        """The bot's own challenge that is open: its id, "" before the site has told it; None for none."""
        self._closed_early: set[str] = set()
        """Challenges that were declined or withdrawn while the site had yet to tell the id of the bot's own."""
        self._api = api
        self._rules = rules
        self._command, self._protocol, self._groups = command, protocol, groups
        self._most = most
        self._games_file = games_file
        self._lock = threading.Lock()
        self._account = ""
        self._games: dict[str, threading.Thread] = {}
        """Games in play, by id, ``most`` at a time."""
        self._waiting: deque[str] = deque()
        """Games that the site has begun and that wait for a place."""
        self._errands: queue.Queue[Callable[[], None]] = queue.Queue(_ERRANDS)
        """Answers to challenges, which are posted on a thread of its own: events are heard meanwhile."""
        self._leaving = threading.Event()
        self._helpers: list[threading.Thread] = []
        self._accepted: dict[str, float] = {}
        """Accepted challenges whose games have not begun, and until when each keeps a place, in seconds of the
        monotonic clock: the game of a rematch has another id, and that of a challenge may be aborted at once.
        """
        self._finished: deque[str] = deque(maxlen=_REMEMBERED)
        """The last games that are over, so that none is taken up again by an event that comes late."""

    def run(self, *, upgrade: bool = False) -> None:
        """Answer challenges and start their games, without end. With ``upgrade`` the account is first made a bot's, for
        good, if it is not one.

        Raises `BadInput` if the account is not a bot's and ``upgrade`` is false; `ApiRefusal` if the site refuses the
        account, the upgrade or the stream; `InterruptedError` once the event ``closing`` of `Api` is set.
        """
        account = self._api.get("/api/account")
        self._account = str(account.get("id", ""))[:_LONGEST_ID]
        if account.get("title") != "BOT":
            if not upgrade:
                raise BadInput(f"{quoted(self._account)} is not a bot's account: --upgrade makes it one, for good")
            self._api.post("/api/bot/account/upgrade")
        _tell(f"{self._account} waits for challenges")
        self._leaving.clear()
        for work, name in ((self._post, "answers"), (self._seek, "challenges")):
            self._helpers.append(threading.Thread(target=work, name=name, daemon=True))
            self._helpers[-1].start()
        for event in self._api.lines("/api/stream/event"):
            self._take(event)

    def finish(self) -> None:
        """Tell the user that games are still played, and wait for their end, also those that were accepted and have not
        begun.
        """
        self._leaving.set()
        for helper in self._helpers:
            helper.join(PATIENCE_S)
        with self._lock:
            accepted = list(self._accepted)
        for game in accepted:
            self._begin(game)
        told = False
        while True:
            with self._lock:
                threads, waiting = list(self._games.values()), len(self._waiting)
            if not threads:
                return
            if not told:
                _tell(f"finishing {plural(len(threads) + waiting, 'game')}; Ctrl-C again ends now")
            told = True
            threads[0].join(0.1)

    def _take(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        try:
            if kind == "challenge":
                self._answer(Challenge.read(event.get("challenge", {})))
            elif kind == "gameStart":
                self._begin(_id_within(event, "game"))
            elif kind in ("challengeDeclined", "challengeCanceled"):
                self._closed(_id_within(event, "challenge"))
        except BadInput as error:
            _tell(f"an event that cannot be read: {error}")

    def _answer(self, challenge: Challenge) -> None:
        if challenge.opponent == self._account.lower():
            return
        with self._lock:
            busy = self._occupied >= self._most
            reason = self._rules.refusal(challenge) or ("later" if busy else "")
            if not reason:
                self._accepted[challenge.id] = time.monotonic() + _START_S
        _tell(f"{challenge.opponent or 'anonymous'}'s challenge: {f'declined ({reason})' if reason else 'accepted'}")
        try:
            self._errands.put_nowait(partial(self._reply, challenge.id, reason))
        except queue.Full:
            self._free(challenge.id)
            _tell("too many challenges at once: this one is not answered")

    @property
    def _occupied(self) -> int:
        """The number of games that are played or about to begin; the lock is held."""
        self._accepted = {name: until for name, until in self._accepted.items() if until > time.monotonic()}
        return len(self._games) + len(self._waiting) + len(self._accepted) + (self._own is not None)

    def _seek(self) -> None:
        """Challenge others while the bot is idle, one at a time, until it leaves. Runs on a thread of its own."""
        seeking, tried = self._seeking, deque[str](maxlen=_REMEMBERED)
        since = time.monotonic()
        while seeking and not self._leaving.wait(0.1):
            with self._lock:
                if self._occupied:
                    since = time.monotonic()
            if time.monotonic() - since < seeking.every_s:
                continue
            try:
                users = [user for name in seeking.names for user in self._api.objects(f"/api/user/{quote(name)}")]
                users += self._api.objects("/api/bot/online") if seeking.bots else []
                if chosen := seeking.choice(users, self._account, tried):
                    tried.append(chosen)
                    self._challenge(chosen, seeking)
            except (ApiRefusal, ApiSilence, BadInput) as error:
                _tell(f"challenging others: {error}")
            except InterruptedError:
                return
            since = time.monotonic()

    def _challenge(self, name: str, seeking: Seeking) -> None:
        """Challenge a player, unless a game is about to begin, and wait `_OPEN_S` for an answer; without one, withdraw
        the challenge. Raises as `Api.post` does, and `BadInput` for an answer without the challenge's id.
        """
        with self._lock:
            if self._occupied:
                return
            self._own = ""
            self._closed_early.clear()
        try:
            answer = self._api.post(f"/api/challenge/{name}", seeking.form)
            challenge = answer.get("challenge", answer)
            own = site_id(challenge.get("id") if isinstance(challenge, dict) else None)
            _tell(f"{name} is challenged")
            with self._lock:
                begun = own in self._games or own in self._waiting or own in self._finished
                # The stream of events may be faster than the answer.
                self._own = None if begun or own in self._closed_early else own
            until = time.monotonic() + _OPEN_S
            while self._own == own and time.monotonic() < until and not self._leaving.wait(0.05):
                pass
            if self._own == own:
                self._withdraw(own)
        finally:
            with self._lock:
                self._own = None

    def _withdraw(self, challenge: str) -> None:
        """Withdraw an open challenge; if the site refuses that, its game may have begun."""
        try:
            self._api.post(f"/api/challenge/{challenge}/cancel")
        except ApiRefusal:
            if self._leaving.is_set():
                self._begin(challenge)

    def _closed(self, challenge: str) -> None:
        """Note that a challenge was declined or withdrawn."""
        with self._lock:
            self._accepted.pop(challenge, None)
            if self._own == challenge:
                self._own = None
            elif self._own == "" and len(self._closed_early) < _REMEMBERED:
                self._closed_early.add(challenge)

    def _post(self) -> None:
        """Send the answers to challenges until the bot leaves and all are sent. Runs on a thread of its own."""
        while True:
            try:
                errand = self._errands.get(timeout=0.1)
            except queue.Empty:
                if self._leaving.is_set():
                    return
                continue
            try:
                errand()
            except (ApiRefusal, ApiSilence) as error:
                # The challenge was withdrawn.
                _tell(str(error))
            except InterruptedError:
                return

    def _reply(self, challenge: str, reason: str) -> None:
        """Decline a challenge for a reason or, without one, accept it."""
        if reason:
            self._api.post(f"/api/challenge/{challenge}/decline", {"reason": reason})
            return
        try:
            self._api.post(f"/api/challenge/{challenge}/accept")
        except ApiRefusal:
            self._free(challenge)
            raise

    def _free(self, challenge: str) -> None:
        """Give up the place of a challenge whose game does not begin."""
        with self._lock:
            self._accepted.pop(challenge, None)

    def _begin(self, game: str) -> None:
        """Play a game, at once or when a place is free."""
        with self._lock:
            # A game has the id of its challenge; a rematch is accepted by the id of the game before it.
            rematch = next((name for name in self._accepted if name in self._finished), game)
            self._accepted.pop(game if game in self._accepted else rematch, None)
            if self._own == game:
                self._own = None
            if game in self._games or game in self._waiting or game in self._finished:
                return
            full = len(self._waiting) >= _WAITING
            if not full:
                self._waiting.append(game)
                self._fill()
        if full:
            _tell(f"game {game} is not played: {plural(_WAITING, 'game')} wait already")

    def _fill(self) -> None:
        """Start games that wait as long as places are free; the lock is held."""
        while self._waiting and len(self._games) < self._most:
            game = self._waiting.popleft()
            self._games[game] = threading.Thread(target=self._game, args=(game,), name=f"game {game}", daemon=True)
            self._games[game].start()

    def _game(self, game: str) -> None:
        try:
            with contextlib.suppress(InterruptedError):
                _Game(self._api, game, self._account, self._player).play(partial(self._over, game))
        except (ApiRefusal, ApiSilence, BadInput) as error:
            _tell(f"game {game}: {error}")
        finally:
            with self._lock:
                self._leave(game)

    def _leave(self, game: str) -> None:
        """Note that a game is no longer played, and let the next one begin; the lock is held."""
        if self._games.pop(game, None):
            self._finished.append(game)
            self._fill()

    def _player(self) -> EngineClient:
        return start_player(self._command, self._protocol, groups=self._groups)

    def _over(self, game: str, over: Over) -> None:
        record = over.record
        result = f"{over.winner} wins" if over.winner else "no winner"
        _tell(f"{record.black} - {record.white}: {over.status}, {result}, {len(record.moves)} moves")
        with self._lock:
            if self._games_file and record.moves:
                date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")
                ending = _ENDINGS.get(over.status, "")
                score = BlackScore({"black": 64, "white": -64}.get(over.winner, 0)) if ending else None
                game_file = FileGame(record, event="PlayStrategy", date=date, result=score, ending=ending)
                write_games(self._games_file, [game_file], append=True)
            # The next game may begin while this one's engine ends.
            self._leave(game)


class _Game:
    """One game: its stream, and its engine, which starts with the bot's first move."""

    def __init__(self, api: Api, game: str, account: str, start: Callable[[], EngineClient]) -> None:
        self._api = api
        self._where = f"/api/bot/game/{quote(game, safe='')}"
        self._stream = f"/api/bot/game/stream/{quote(game, safe='')}"
        self._table = GameTable(account)
        self._start = start
        self._player: EngineClient | None = None
        self._told: tuple[int, ...] = ()
        """The moves that the engine knows."""

    def play(self, over: Callable[[Over], None]) -> None:
        """Play the game to its end, then call ``over`` and end the engine.

        Raises `ApiRefusal` if the site refuses the stream or a resignation, `ApiSilence` if it says nothing new for
        longer than both clocks have, `BadInput` for a stream that cannot be read, and `InterruptedError` when the bot
        ends first.
        """
        known = -1
        self._api.expect(self._stream, _FIRST_STATE_S)
        try:
            while True:
                for message in self._api.lines(self._stream):
                    event = self._table.hear(message)
                    if isinstance(event, Over):
                        over(event)
                        return
                    if self._table.count > known and self._table.left_s:
                        known = self._table.count
                        self._api.expect(self._stream, min(self._table.left_s + _NEWS_S, _LONGEST_S))
                    if event is not None and not self._move(event):
                        break
        finally:
            self._api.forget(self._stream)
            if self._player is not None:
                self._player.close()

    def _move(self, turn: BotTurn) -> bool:
        """Send the engine's move, or resign. Returns False if there was no answer: a new stream shows whether the site
        has it.
        """
        move = self._chosen(turn)
        if move is None:
            self._api.post(f"{self._where}/resign")
            return True
        try:
            self._api.post(f"{self._where}/move/{quote(self._table.move_name(self._table.position, move), safe='@')}")
            self._table.moved()
        except ApiRefusal as refusal:
            # If the game has gone on or ended meanwhile, the stream says so.
            _tell(f"{move_text(move)} was refused: {refusal}")
        except ApiSilence as silence:
            _tell(f"{move_text(move)}: {silence}")
            return False
        return True

    def _chosen(self, turn: BotTurn) -> int | None:
        """Return PASS if it is forced, else the engine's move. An engine that fails is started anew; at the third fault
        at one move None is returned.
        """
        begun = time.perf_counter()
        if not turn.record.final.moves:
            return PASS
        for _ in range(_FAULTS):
            try:
                return self._engine_move(turn, begun)
            except EngineFault as fault:
                _tell(f"the engine: {fault}")
                if self._player is not None:
                    self._player.process.kill()
                    self._player = None
        return None

    def _engine_move(self, turn: BotTurn, begun: float) -> int:
        """Return the engine's move; the turn has ``begun`` on the monotonic clock. Raises `EngineFault`."""
        record = turn.record
        moves = tuple(played.move for played in record.moves)
        started = self._player is None
        player = self._player = self._player or self._start()
        # The start of an engine takes time from the bot's clock.
        left = max(100.0, turn.left_ms - LAG_MS - 1000 * (time.perf_counter() - begun))
        control = TimeControl(main=left)
        if started or not player.takes_time_left or moves[: len(self._told)] != self._told:
            self._told = ()
            player.begin(record.initial, control)
        position = GameRecord(record.initial, record.moves[: len(self._told)]).final
        for move in moves[len(self._told) :]:
            player.send_move(position, move)
            position = position.after(move)
        self._told = moves
        text, _ = player.answer(record, Stopwatch(control, 0.0), left / 1000 + 10.0)
        try:
            move = parse_move(text)
        except BadInput as error:
            raise EngineFault("answer", str(error)) from None
        if not position.moves >> move & 1:
            raise EngineFault("illegal", f"{move_text(move)} is not a legal move here")
        self._told = (*moves, move)
        return move


def _rules(accept: str, rated: bool, clock: str) -> Rules:
    """Return the rules for challenges in the options ``--accept``, ``--rated`` and ``--clock``. Raises `BadInput` for a
    clock that is not two numbers of seconds, the smaller first.
    """
    names = {name.strip().lower() for name in accept.split(",") if name.strip()}
    seconds = _range(clock)
    if seconds is None or not seconds[0]:
        raise BadInput(f"--clock {quoted(clock)}: expected seconds such as 60:900")
    return Rules("people" in names, "bots" in names, frozenset(names - {"people", "bots"}), rated, *seconds)


def _seeking(options: argparse.Namespace) -> Seeking | None:
    """Return the rules for challenging others in the options; None without ``--challenge``. Raises `BadInput`."""
    names = [name.strip().lower() for name in options.challenge.split(",") if name.strip()]
    rating = _range(options.rating)
    if rating is None:
        raise BadInput(f"--rating {quoted(options.rating)}: expected two ratings such as 1500:2200")
    clock = re.fullmatch(r"(\d{1,5})\+(\d{1,3})", options.offer, re.ASCII)
    if not clock or not int(clock[1]):
        raise BadInput(f"--offer {quoted(options.offer)}: expected whole seconds such as 300+3")
    people = tuple(site_id(name) for name in names if name != "bots")
    every_s = 60.0 * options.every
    if not names:
        return None
    return Seeking(people, "bots" in names, every_s, int(clock[1]), int(clock[2]), *rating, options.rated)


def _range(text: str) -> tuple[float, float] | None:
    """Return the two numbers of ``60:900``, the smaller first, up to a million; None for other text."""
    least, colon, most = text.partition(":")
    try:
        numbers = float(least), float(most)
    except ValueError:
        return None
    return numbers if colon and 0 <= numbers[0] <= numbers[1] < 1e6 else None


def _id_within(event: dict[str, Any], name: str) -> str:
    """Return the id of the game or the challenge in an event. Raises `BadInput` if there is none."""
    about = event.get(name)
    if not isinstance(about, dict) or "id" not in about:
        raise BadInput("no game or challenge with an id in it")
    return site_id(about["id"])


def _tell(text: str) -> None:
    """Print a message; control characters, which names from the site may have, are escaped."""
    logs.message(escaped(text), "desdaemon bot")
