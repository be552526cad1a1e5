// The engine as a player of one side or both, and the two clocks.

import { SIDES, colour } from "../model/rules.js";
import { CLOSE } from "../model/store.js";
import { Teller } from "../model/teller.js";
import { complain, tell } from "../view/notice.js";
import { sideName, t } from "../view/texts.js";
import { Refusal } from "./socket.js";

/** @typedef {import("../main.js").App} App */
/** @typedef {import("../model/rules.js").Side} Side */

/** Tells "thinking", whether it is, and "clock" when a clock shows another time. */
export class Player extends Teller {
  /** @param {Pick<App, "game"|"knowledge"|"preferences"|"socket"|"hints"|"teacher"|"moves">} page */
  constructor({ game, knowledge, preferences, socket, hints, teacher, moves }) {
    super();
    this.game = game;
    this.knowledge = knowledge;
    this.preferences = preferences;
    this.socket = socket;
    this.hints = hints;
    this.teacher = teacher;
    this.moves = moves;
    /** @type {ReturnType<import("./socket.js").Socket["ask"]>|null} */
    this.running = null;
    /** Milliseconds used by each side. @type {Record<Side, number>} */
    this.used = { X: 0, O: 0 };
    this.since = performance.now();
    /** @type {Side} */
    this.counting = "X";
    this.paused = true;
    /** True while a move is taken back from an engine that plays both sides. */
    this.resting = false;
    game.on((told) => this.changed(told));
    game.on(() => this.stop(), "halt");
    preferences.on((name) => {
      if (["black", "white"].includes(name)) {
        this.paused = false;
        this.consider();
      }
    });
    setInterval(() => this.tick(), 500);
  }

  /** Whether the engine plays the side to move. */
  get itsTurn() {
    return this.preferences.get(colour(this.game.now.side)) === "engine";
  }

  /** @param {string} kind */
  changed(kind) {
    this.count();
    this.running?.cancel();
    this.running = null;
    if (kind === "new") {
      this.used = { X: 0, O: 0 };
      this.paused = !SIDES.some((side) => this.preferences.get(colour(side)) === "engine");
    } else this.paused = kind === "moved" || this.resting;
    if (kind !== "moved") this.consider();
  }

  /** Take back a move; against the engine the user's own one and the engine's reply. */
  undo() {
    const { game, preferences } = this;
    const [black, white] = SIDES.map((side) => preferences.get(colour(side)) === "engine");
    this.resting = black && white;
    game.undo(black === white ? undefined : black ? "O" : "X");
    this.resting = false;
  }

  /** Think if it is the engine's turn and play is not paused. */
  consider() {
    if (this.itsTurn && !this.paused && !this.game.over) this.think();
  }

  /** Have the engine play a move for the side to move. */
  async think() {
    const { game, hints, knowledge, moves, preferences } = this;
    if (this.running || game.over) return;
    const key = game.key();
    const rating = preferences.get("strength");
    if (!rating && !this.itsTurn && hints.settled && hints.key === key) {
      // The button plays the move that is framed.
      moves.place(knowledge.best(key)?.move ?? "");
      return;
    }
    this.tell(true, "thinking");
    try {
      const move = await (rating === CLOSE
        ? this.close()
        : rating
          ? this.asPeople(rating)
          : this.searched(key, preferences.get("contempt")));
      if (move) moves.place(move);
    } catch (refusal) {
      complain(refusal);
    } finally {
      this.tell(this.running !== null, "thinking");
    }
  }

  /** Ask for a move, or for what it hangs on; raises the refusal `cancelled` where nobody waits for it any more.
   * @param {string} op @param {any} args */
  async ask(op, args) {
    const asked = (this.running = this.socket.ask(op, args));
    try {
      const data = await asked;
      if (this.running !== asked) throw new Refusal({ code: "cancelled", message: op });
      return data;
    } finally {
      if (this.running === asked) this.running = null;
    }
  }

  /** Return a move as people of a rating play. @param {number} rating */
  async asPeople(rating) {
    const { game } = this;
    return (await this.ask("people.get", { board: game.board(game.root), moves: game.moves(), rating })).move;
  }

  /** Return the book's move or the best one. With `contempt` return, of the moves at most so many discs below the best,
   * the one whose second-best reply loses most. @param {string} key @param {number} contempt */
  async searched(key, contempt) {
    const board = this.game.board();
    /** @param {any} args @param {number} parts */
    const analyze = (args, parts) => this.ask("analyze", { ...args, priority: 2, ...this.effort(parts) });
    const { moves } = await analyze({ board, book: "use" }, contempt ? 2 : 1);
    this.knowledge.add(key, moves);
    const [best] = moves;
    if (!contempt || !best || best.source === "book") return best?.move;
    const known = (await analyze({ board, multipv: 64, book: "ignore" }, 4)).moves;
    const rivals = known.filter(
      (/** @type {any} */ one) => one.depth >= known[0].depth && one.score >= known[0].score - contempt,
    );
    const positions = rivals.map((/** @type {any} */ one) => ({ board, moves: one.move }));
    const { results } = await analyze({ positions, multipv: 2, book: "ignore" }, 4 * rivals.length);
    const risks = results.map((/** @type {any} */ one) =>
      one.moves[1]?.depth ? one.moves[0].score - one.moves[1].score : 0,
    );
    return rivals[risks.indexOf(Math.max(...risks))].move;
  }

  /** Return a move that keeps the game close: by lot one of those after which it is the most even, or a disc less. */
  async close() {
    const args = { board: this.game.board(), multipv: 64, book: "ignore", priority: 2, ...this.effort() };
    const { moves } = await this.ask("analyze", args);
    /** @type {any[]} */
    const known = moves.filter((/** @type {any} */ one) => one.depth >= moves[0].depth);
    const least = Math.min(...known.map((one) => Math.abs(one.score)));
    const even = known.filter((one) => Math.abs(one.score) <= least + 1);
    return even[Math.floor(Math.random() * even.length)]?.move;
  }

  /** Return the limits of a search: a level, or with a clock a share of the time for the move. @param {number} parts */
  effort(parts = 1) {
    const minutes = this.preferences.get("minutes");
    if (!minutes) return { level: this.preferences.get("playLevel") };
    const { now } = this.game;
    const left = Math.max(500, minutes * 60_000 - this.used[now.side]);
    const empty = [...now.cells].filter((cell) => cell === "-").length;
    return { time_ms: Math.ceil(Math.max(50, left / (empty / 2 + 6)) / parts) };
  }

  stop() {
    this.paused = true;
    this.running?.cancel();
    this.running = null;
    this.tell(false, "thinking");
  }

  /** Charge the time since the last call to the side whose clock runs; from now on that of the side to move runs. */
  count() {
    const now = performance.now();
    if (!this.paused) this.used[this.counting] += now - this.since;
    this.since = now;
    this.counting = this.game.now.side;
  }

  tick() {
    if (this.paused || this.game.over || this.teacher.waiting) {
      this.since = performance.now();
      return;
    }
    this.count();
    this.tell(null, "clock");
    const minutes = this.preferences.get("minutes");
    if (!minutes || this.used[this.counting] < minutes * 60_000) return;
    this.paused = true;
    tell(t("timeUp", { side: sideName(this.counting) }));
  }

  /** Return the text of a side's clock, the time left; "" without a limit. @param {Side} side */
  clock(side) {
    const minutes = this.preferences.get("minutes");
    if (!minutes) return "";
    const seconds = Math.max(0, Math.floor((minutes * 60_000 - this.used[side]) / 1000));
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  }
}
