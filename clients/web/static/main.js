// The whole page: the objects that its parts share, and the reactions to changes.

import { Game } from "./model/game.js";
import { Knowledge } from "./model/knowledge.js";
import { fragment, parsed } from "./model/link.js";
import {
  PASS,
  SIDES,
  START,
  after,
  colour,
  discs,
  movesOf,
  nameOf,
  other,
} from "./model/rules.js";
import { Preferences, read, unreadable, write } from "./model/store.js";
import { BookPane } from "./panes/bookpane.js";
import { ExercisePane } from "./panes/exercisepane.js";
import { GamePane } from "./panes/gamepane.js";
import { Lesson } from "./panes/lesson.js";
import { LibraryPane } from "./panes/librarypane.js";
import { PlayedPane } from "./panes/playedpane.js";
import { PracticePane } from "./panes/practicepane.js";
import { ServerPane } from "./panes/serverpane.js";
import { SettingsPane } from "./panes/settingspane.js";
import { Setup } from "./panes/setup.js";
import { Board, told } from "./view/board.js";
import { byId, press } from "./view/dom.js";
import { listen } from "./view/keys.js";
import { complain, tell } from "./view/notice.js";
import { Openings } from "./view/openings.js";
import { speak } from "./view/speak.js";
import { choose, resultText, sideName, t, turnText } from "./view/texts.js";
import { Hints } from "./engine/hints.js";
import { Player } from "./engine/player.js";
import { Review } from "./engine/review.js";
import { AGAIN_MS, Socket } from "./engine/socket.js";
import { Teacher } from "./engine/teacher.js";

/** By symmetry in use: the one that shows the board turned another quarter to the right. */
const QUARTER = [6, 7, 4, 5, 1, 0, 3, 2];
const PANE_MS = 250;

export class App {
  constructor() {
    this.preferences = new Preferences();
    choose(this.preferences.get("language"));
    this.game = new Game();
    this.knowledge = new Knowledge();
    this.socket = new Socket();
    /** @type {Setup|null} */
    this.setup = null;
    /** Whether the page shows what this daemon has: until then tabs and lines still appear. */
    this.greeted = false;
    this.openings = new Openings();
    this.drawing = 0;
    this.keeping = 0;
    /** A number that a page loaded anew finds in the tab's history: its address may be behind the game that it
     * stored. */
    this.tab = history.state?.tab ?? Math.random();
    history.replaceState({ tab: this.tab }, "");
    /** What was stored with the game on the board; nothing if that was another game. @type {Record<string, any>} */
    this.kept = this.restore();
    this.board = new Board(this);
    this.hints = new Hints(this);
    this.player = new Player(this);
    this.review = new Review(this);
    this.teacher = new Teacher(this);
    this.lesson = new Lesson(this);
    if (this.kept.used) Object.assign(this.player, { used: this.kept.used, paused: this.kept.paused ?? true });
    this.panes = {
      game: new GamePane(this),
      book: new BookPane(this),
      library: new LibraryPane(this),
      server: new ServerPane(this),
      settings: new SettingsPane(this),
      played: new PlayedPane(this),
      exercises: new ExercisePane(this),
      practice: new PracticePane(this),
    };
    this.game.on((told) => this.changed(told));
    this.preferences.on((told) => this.prefer(told));
    this.socket.on((connected) => this.connection(connected), "connection");
    this.socket.on((told) => this.event(told), "told");
    this.socket.on(() => this.chip(t("shut"), "bad"), "shut");
    this.controls();
    listen(this);
    this.look();
    this.pane(this.preferences.get("pane"));
    this.refresh();
    this.socket.connect();
    if (unreadable.size) tell(t("unreadable", { what: [...unreadable].join(", ") }));
  }

  // State that outlives the page

  /** Return what was stored with the game, nothing if that is not the game on the board. */
  restore() {
    const linked = parsed(location.hash);
    /** @type {Record<string, any>} */
    const kept = read("current", {});
    for (const [key, results] of Object.entries(read("known", {})))
      this.knowledge.add(key, /** @type {any} */ (results));
    const other = linked && !(kept.tree && (kept.tab === this.tab || sameLine(kept, linked)));
    if (other) this.game.open(linked, true);
    else if (kept.tree) this.game.load(kept);
    window.addEventListener("hashchange", ({ newURL }) => {
      // The address may be the game's again by now.
      const { hash } = new URL(newURL);
      const link = parsed(hash);
      if (link && fragment(this.game) !== hash) this.game.open(link, true);
    });
    window.addEventListener("pagehide", () => this.keep());
    return other ? {} : kept;
  }

  keepSoon() {
    // At once, for a page that is loaded anew right after a move: its address follows a moment later.
    this.store();
    if (!this.keeping) this.keeping = window.setTimeout(() => this.keep(), 400);
  }

  /** Store the game in the browser. */
  store() {
    const { used, paused } = this.player;
    write("current", { ...this.game.save(), tab: this.tab, used, paused, practice: this.panes.practice.saved() });
  }

  /** Store the game, and the results of its line; put a link to the position into the address. */
  keep() {
    clearTimeout(this.keeping);
    this.keeping = 0;
    this.store();
    const known = /** @type {Record<string, any>} */ ({});
    for (const node of this.game.line()) {
      const results = this.knowledge.of(this.game.key(node));
      if (results.length) known[this.game.key(node)] = results;
    }
    write("known", known);
    history.replaceState({ tab: this.tab }, "", `/${fragment(this.game)}`);
  }

  // Actions of the user

  controls() {
    press("first", () => this.game.go(this.game.root));
    press("back", () => this.game.step(-1));
    press("forward", () => this.game.step(1));
    press("last", () => this.game.go(this.game.line().at(-1) ?? this.game.root));
    press("undo", () => this.player.undo());
    press("engine-plays", () => this.player.think());
    press("new-game", () => this.newGame());
    press("random-start", () => this.randomStart());
    press("set-up", () => this.beginSetup());
    press("rotate", () => this.rotate());
    press("mirror", () => this.mirror());
    press("hints", () => this.preferences.set("hints", !this.preferences.get("hints")));
    for (const tab of document.querySelectorAll("[role=tab]")) {
      tab.addEventListener("click", () => this.pane(/** @type {HTMLElement} */ (tab).dataset.pane ?? "game"));
    }
    byId("tabs").addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const tabs = [...document.querySelectorAll("[role=tab]:not([hidden])")];
      const to = /** @type {HTMLElement} */ (
        tabs[(tabs.indexOf(/** @type {Element} */ (event.target)) + by + tabs.length) % tabs.length]
      );
      to.click();
      to.focus();
    });
    byId("typed").addEventListener("submit", (/** @type {Event} */ event) => {
      event.preventDefault();
      const input = byId("typed-move");
      const moves = movesOf(input.value);
      const rest = input.value.toLowerCase().replace(/[a-h][1-8]|p[as]|\d+\.|[\s,.-]/g, "");
      if (rest || !moves.length) tell(t("noMove", { text: input.value.trim() }));
      else moves.every((move) => this.play(move));
      input.value = "";
    });
  }

  /** Act on a pressed square. @param {number} square */
  press(square) {
    if (this.setup) this.setup.press(square);
    else if (this.game.now.cells[square] === "-") this.play(nameOf(square));
  }

  /** Go to a position and scroll to the board. @param {import("./model/game.js").Node} node */
  seek(node) {
    this.game.go(node);
    byId("board").scrollIntoView({ block: "nearest" });
  }

  /** Play a move of the user's; false for an illegal one, and for one that the teacher holds. @param {string} move */
  play(move) {
    return !this.teacher.holds(move) && this.place(move);
  }

  /** Play a move; false for an illegal one. @param {string} move */
  place(move) {
    const { now } = this.game;
    const turned = Board.flipped(now.cells, now.side, move);
    this.board.preview = null;
    if (!this.game.play(move)) {
      tell(t("illegal", { move }));
      return false;
    }
    const parts = [t("played", { side: t(colour(now.side)), move, n: turned })];
    if (this.game.now.move === PASS) parts.push(t("passed", { side: t(colour(other(this.game.now.side))) }));
    if (this.game.over) parts.push(resultText(this.game), this.lesson.summary());
    speak(parts.filter(Boolean).join(". "));
    return true;
  }

  /** Have a person play the colours named, the engine the others. @param {string} [colours] */
  people(colours = "black white") {
    for (const name of SIDES.map(colour)) this.preferences.set(name, colours.includes(name) ? "human" : "engine");
  }

  newGame() {
    this.putAside();
    this.game.reset();
  }

  /** Before another game comes on the board, keep the present one among the saved ones; not an exercise or a line of
   * practice. */
  putAside() {
    const { exercises, library, practice } = this.panes;
    if (!this.game.root.children.length || exercises.current || practice.run) return;
    if (library.keepPresent()) tell(t("putAside"));
  }

  beginSetup() {
    if (this.setup) return;
    this.stopAll();
    this.setup = new Setup(this);
    this.board.draw();
  }

  rotate() {
    this.preferences.set("symmetry", QUARTER[this.preferences.get("symmetry")]);
  }

  mirror() {
    const symmetry = this.preferences.get("symmetry");
    this.preferences.set("symmetry", symmetry ^ (symmetry & 4 ? 2 : 1));
  }

  stopAll() {
    this.player.stop();
    this.review.stop();
    this.panes.exercises.making?.cancel();
    this.hints.stop();
    this.lesson.close();
    this.board.show(null);
    if (this.setup) this.setup.end(false);
  }

  /** Start from a random opening. */
  async randomStart() {
    try {
      const { moves } = await this.socket.ask("web.start");
      this.putAside();
      this.game.open({ moves }, true);
    } catch (refusal) {
      complain(refusal);
    }
  }

  // Events

  /** @param {string} kind */
  changed(kind) {
    this.board.preview = null;
    this.refresh();
    this.panes.book.look();
    this.panes.played.look();
    this.keepSoon();
    if (kind === "new") this.seek(this.game.now);
    if (kind === "moved") speak(turnText(this.game));
  }

  /** Show new results of a position; on the board if it is the present one. @param {string} key */
  learnt(key) {
    if (key === this.game.key()) {
      this.board.draw();
      if (!this.board.preview) this.hovered(null);
    }
    this.refreshSoon();
  }

  reviewed() {
    this.refreshSoon();
    this.keepSoon();
  }

  /** Note that hints for this position have ended. */
  settled() {
    const best = this.knowledge.best(this.game.key());
    if (best && this.preferences.get("speakHints")) speak(t("settledHint", { move: best.move, told: told(best) }));
    byId("board").dataset.settled = this.game.key();
    this.keepSoon();
  }

  /** @param {string} name */
  prefer(name) {
    if (name === "language") {
      choose(this.preferences.get("language"));
      this.panes.settings.draw();
      this.panes.library.draw();
      this.panes.book.look();
      this.panes.server.draw();
      this.panes.exercises.draw();
      this.lesson.labels();
      this.panes.practice.label();
      this.tellConnection();
    }
    if (name === "symmetry") this.board.turn();
    if (name === "black" || name === "white") {
      this.preferences.set("hints", this.preferences.get("black") === this.preferences.get("white"));
    }
    this.look();
    this.refresh();
  }

  /** @param {boolean} connected */
  async connection(connected) {
    this.tellConnection();
    this.greeted = false;
    if (!connected) return;
    try {
      const hello = await this.socket.ask("hello");
      if (!this.openings.names.size) {
        this.openings.take((await this.socket.ask("web.names")).openings);
        this.refresh();
      }
      if (!this.hints.running) this.hints.begin();
      this.player.consider();
      this.panes.practice.goOn();
      await Promise.all([this.panes.book.greet(hello), this.panes.server.greet(hello), this.panes.played.greet(hello)]);
      this.greeted = true;
    } catch (refusal) {
      const { code, passing } = /** @type {any} */ (refusal);
      if (code === "connection_lost") return;
      complain(refusal);
      if (passing) setTimeout(() => this.socket.connected && !this.greeted && this.connection(true), AGAIN_MS);
    }
  }

  /** @param {{event: string, data: any}} told */
  event({ event, data }) {
    if (event.startsWith("job.")) this.panes.server.progress(data);
    else if (event === "book") this.panes.book.look();
    else if (event === "status") this.panes.server.look();
  }

  /** @param {boolean} yes */
  thinking(yes) {
    byId("engine-plays").setAttribute("aria-busy", yes);
    byId("told").textContent = yes ? t("thinking") : turnText(this.game);
  }

  // Display

  /** Show a pane and mark its tab. @param {string} name */
  pane(name) {
    for (const tab of document.querySelectorAll("[role=tab]")) {
      const here = /** @type {HTMLElement} */ (tab).dataset.pane === name;
      tab.setAttribute("aria-selected", String(here));
      tab.setAttribute("tabindex", here ? "0" : "-1");
      byId(`pane-${/** @type {HTMLElement} */ (tab).dataset.pane}`).hidden = !here;
    }
    this.preferences.set("pane", name);
    this.panes.book.look();
    this.panes.played.look();
    this.panes.server.shown();
    this.panes.practice.draw();
    this.panes.exercises.draw();
  }

  /** Apply the preferences of colours and contrast, and show on its button whether hints are on. */
  look() {
    const root = document.documentElement;
    const theme = this.preferences.get("theme");
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    root.classList.toggle("contrast", this.preferences.get("contrast"));
    byId("hints").setAttribute("aria-pressed", this.preferences.get("hints"));
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
    const { game } = this;
    for (const [at, count] of discs(game.now.cells).entries()) {
      const side = SIDES[at];
      const name = byId(`${colour(side)}-name`);
      byId(`${colour(side)}-discs`).textContent = count;
      name.textContent = name.title = game.about[colour(side)] || this.lesson.nameOf(side) || sideName(side);
      byId(`${colour(side)}-player`).classList.toggle("turn", !game.over && game.now.side === side);
    }
    byId("board").setAttribute("aria-label", t("boardLabel"));
    document.body.classList.toggle("unplayed", !game.root.children.length);
    byId("new-game").hidden = !game.root.children.length && game.root.cells === START;
    if (!this.player.running) byId("told").textContent = turnText(this.game);
    this.hovered(null);
    this.clocks();
    this.board.draw();
    this.panes.game.draw();
  }

  clocks() {
    for (const side of SIDES) byId(`${colour(side)}-clock`).textContent = this.player.clock(side);
  }

  /** Show in words what the move pointed at is worth, or the best one, with its best line, and the opening that it
   * leads to.
   * @param {import("./model/knowledge.js").Result|null} result @param {string} [move] */
  hovered(result, move = "") {
    const { now } = this.game;
    const cells = move && after(now.cells, now.side, move);
    const name = cells && this.openings.nameOf(cells, other(now.side));
    byId("opening").textContent = name ? `${move}: ${name}` : this.openings.last(now);
    const shown = result ?? this.knowledge.best(this.game.key());
    const hints = this.preferences.get("hints") && shown;
    byId("line").textContent = hints
      ? `${shown.move} ${told(shown)} · ${t("line")}: ${movesOf(shown.pv).join(" ")}`
      : "";
  }

  tellConnection() {
    const { connected } = this.socket;
    this.chip(t(connected ? "connected" : "disconnected"), connected ? "good" : "bad");
  }

  /** @param {string} text @param {string} kind */
  chip(text, kind) {
    byId("connection").textContent = text;
    byId("connection").className = `chip ${kind}`;
  }
}

/** Return whether a link shows the stored game's position, so that its tree and comments are loaded too.
 * @param {any} kept @param {{board: string, moves: string}} link */
function sameLine(kept, link) {
  const trial = new Game();
  trial.load(kept);
  return (link.board || `${START} X`) === trial.board(trial.root) && link.moves === trial.moves();
}

/** For consoles and tests. @type {any} */
const page = window;
page.desdaemon = new App();
