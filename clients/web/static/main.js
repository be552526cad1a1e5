// The whole page: its parts, each of which takes what it uses, and the reactions to changes.

import { Game } from "./model/game.js";
import { Keeper } from "./model/keeper.js";
import { Knowledge } from "./model/knowledge.js";
import { Preferences, unreadable } from "./model/store.js";
import { BookPane } from "./panes/bookpane.js";
import { Controls } from "./panes/controls.js";
import { ExercisePane } from "./panes/exercisepane.js";
import { GamePane } from "./panes/gamepane.js";
import { Lesson } from "./panes/lesson.js";
import { LibraryPane } from "./panes/librarypane.js";
import { PlayedPane } from "./panes/playedpane.js";
import { PracticePane } from "./panes/practicepane.js";
import { ServerPane } from "./panes/serverpane.js";
import { SettingsPane } from "./panes/settingspane.js";
import { Board, told } from "./view/board.js";
import { byId } from "./view/dom.js";
import { listen } from "./view/keys.js";
import { complain, tell } from "./view/notice.js";
import { Openings } from "./view/openings.js";
import { speak } from "./view/speak.js";
import { Status } from "./view/status.js";
import { Tabs } from "./view/tabs.js";
import { choose, t, turnText } from "./view/texts.js";
import { Hints } from "./engine/hints.js";
import { Moves } from "./engine/moves.js";
import { Player } from "./engine/player.js";
import { Review } from "./engine/review.js";
import { AGAIN_MS, Socket } from "./engine/socket.js";
import { Teacher } from "./engine/teacher.js";

const PANE_MS = 250;

export class App {
  constructor() {
    this.preferences = new Preferences();
    this.preferences.on(choose, "language");
    choose(this.preferences.get("language"));
    this.game = new Game();
    this.knowledge = new Knowledge();
    this.socket = new Socket();
    this.openings = new Openings();
    /** Whether the page shows what this daemon has: until then tabs and lines still appear. */
    this.greeted = false;
    this.drawing = 0;
    this.keeper = new Keeper(this, () => {
      const { used, paused } = this.player;
      return { used, paused, practice: this.panes.practice.saved() };
    });
    const { kept } = this.keeper;
    this.board = new Board(this);
    this.tabs = new Tabs(this);
    this.teacher = new Teacher(this);
    this.moves = new Moves(this);
    this.hints = new Hints(this);
    this.player = new Player(this);
    this.review = new Review(this);
    this.status = new Status(this);
    this.lesson = new Lesson(this);
    if (kept.used) Object.assign(this.player, { used: kept.used, paused: kept.paused ?? true });
    this.controls = new Controls(this);
    this.panes = {
      game: new GamePane(this),
      book: new BookPane(this),
      library: new LibraryPane(this),
      server: new ServerPane(this),
      settings: new SettingsPane(this),
      played: new PlayedPane(this),
      exercises: new ExercisePane(this),
      practice: new PracticePane(this, kept.practice),
    };
    const { book, library, server, played, exercises, practice } = this.panes;
    book.on((data) => server.progress(data), "job");
    library.on((files) => exercises.files(files), "problems");
    played.on((there) => practice.offerPeople(there));
    // After the parts have reacted.
    this.game.on((kind) => this.changed(kind));
    this.game.on(() => this.putAside(), "leave");
    this.preferences.on((name) => this.prefer(name));
    this.knowledge.on((key) => this.learnt(key));
    this.hints.on((key) => this.settled(key));
    this.review.on(() => this.reviewed());
    this.socket.on((connected) => this.connection(connected), "connection");
    listen(this);
    this.tabs.show(this.preferences.get("pane"));
    this.refresh();
    this.socket.connect();
    if (unreadable.size) tell(t("unreadable", { what: [...unreadable].join(", ") }));
  }

  /** Before another game comes on the board, keep the present one among the saved ones; not an exercise or a line of
   * practice. */
  putAside() {
    const { exercises, library, practice } = this.panes;
    if (!this.game.root.children.length || exercises.current || practice.run) return;
    if (library.keepPresent()) tell(t("putAside"));
  }

  /** @param {string} kind as `Game` tells it */
  changed(kind) {
    this.board.preview = null;
    this.refresh();
    this.keeper.keepSoon();
    if (kind === "new") this.board.seek(this.game.now);
    if (kind === "moved") speak(turnText(this.game));
  }

  /** Show new results of a position; on the board if it is the present one. @param {string} key */
  learnt(key) {
    if (key === this.game.key()) {
      this.board.draw();
      if (!this.board.preview) this.status.hovered(null);
    }
    this.refreshSoon();
  }

  reviewed() {
    this.refreshSoon();
    this.keeper.keepSoon();
  }

  /** Note that hints for a position have ended. @param {string} key */
  settled(key) {
    const best = this.knowledge.best(key);
    if (best && this.preferences.get("speakHints")) speak(t("settledHint", { move: best.move, told: told(best) }));
    byId("board").dataset.settled = key;
    this.keeper.keepSoon();
  }

  /** @param {string} name of a preference */
  prefer(name) {
    if (name === "black" || name === "white") {
      this.preferences.set("hints", this.preferences.get("black") === this.preferences.get("white"));
    }
    this.refresh();
  }

  /** @param {boolean} connected */
  async connection(connected) {
    const { hints, openings, panes, player, socket } = this;
    this.greeted = false;
    if (!connected) return;
    try {
      const hello = await socket.ask("hello");
      if (!openings.names.size) {
        openings.take((await socket.ask("web.names")).openings);
        this.refresh();
      }
      if (!hints.running) hints.begin();
      player.consider();
      panes.practice.goOn();
      await Promise.all([panes.book.greet(hello), panes.server.greet(hello), panes.played.greet(hello)]);
      this.greeted = true;
    } catch (refusal) {
      const { code, passing } = /** @type {any} */ (refusal);
      if (code === "connection_lost") return;
      complain(refusal);
      if (passing) setTimeout(() => socket.connected && !this.greeted && this.connection(true), AGAIN_MS);
    }
  }

  /** Draw the game's pane, which takes long, a few times a second at most while scores arrive. */
  refreshSoon() {
    if (this.drawing) return;
    this.drawing = window.setTimeout(() => {
      this.drawing = 0;
      this.panes.game.draw();
      // The list of mistakes follows an analysis, unless the focus is in it.
      if (this.game.over && !byId("lesson-facts").contains(document.activeElement)) this.lesson.draw();
    }, PANE_MS);
  }

  refresh() {
    clearTimeout(this.drawing);
    this.drawing = 0;
    this.status.draw();
    this.board.draw();
    this.panes.game.draw();
  }
}

/** For consoles and tests. @type {any} */
const page = window;
page.desdaemon = new App();
