// The teacher: reads each position in which the user is to move against the engine, and holds moves that lose much.

import { START, after, legalMoves } from "../model/rules.js";
import { read, write } from "../model/store.js";
import { steps } from "./review.js";
import { complain } from "../view/notice.js";

/** How deep positions are read, and for how long at most, so that an answer does not wait for it. */
const LEVEL = 16;
const TIME_MS = 400;

/** @typedef {import("../main.js").App} App */
/** @typedef {import("../model/game.js").Node} Node */
/** @typedef {import("../model/knowledge.js").Result} Result */
/** @typedef {import("../panes/why.js").Compared} Warning */

export class Teacher {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** The position that is read or was, and what was found there, best first. */
    this.key = "";
    /** @type {Result[]} */
    this.found = [];
    /** @type {ReturnType<import("./socket.js").Socket["ask"]>|null} */
    this.running = null;
    /** The move that waits for the search, "" for none. */
    this.held = "";
    /** Whether the engine has answered: on a new installation it is compiled first. */
    this.prepared = false;
    /** What the user is warned of now. @type {Warning|null} */
    this.warning = null;
    /** The moves of this game that the user was warned of, by position, and what they lose.
     * @type {Record<string, Record<string, number>>} */
    this.warned = read("warned", {});
    app.game.on((kind) => {
      if (kind === "new") this.note({});
      this.follow();
    });
    app.preferences.on((name) => {
      if (["black", "white", "warn"].includes(name)) this.follow();
    });
    if (this.side) this.prepare();
    this.look();
  }

  /** Have the engine loaded before the first move waits for it. */
  async prepare() {
    if (this.prepared) return;
    try {
      await this.app.socket.ask("analyze", { board: `${START} X`, level: 1, book: "ignore", priority: 3 });
      this.answered();
    } catch (refusal) {
      complain(refusal);
    }
  }

  /** Note that the engine is there. */
  answered() {
    if (this.prepared) return;
    this.prepared = true;
    this.app.lesson.draw();
  }

  /** Whether the user waits for the engine, so that no clock runs. */
  get waiting() {
    return Boolean(this.side) && (Boolean(this.held) || !this.prepared);
  }

  /** The side that the user plays with warnings, against the engine; "" without. */
  get side() {
    const { preferences } = this.app;
    const [black, white] = [preferences.get("black"), preferences.get("white")];
    return !preferences.get("warn") || black === white ? "" : black === "human" ? "X" : "O";
  }

  /** @param {typeof this.warned} warned */
  note(warned) {
    this.warned = warned;
    write("warned", warned);
  }

  /** Forget a move that waits or is warned of, and read the position on the board if the user is to move there. */
  follow() {
    this.held = "";
    this.warning = null;
    this.look();
  }

  /** Read the position on the board, once, if the user has a choice there. */
  async look() {
    const { app } = this;
    const { now } = app.game;
    const count = legalMoves(now.cells, now.side).length;
    const key = now.side === this.side && count > 1 ? app.game.key() : "";
    if (key === this.key) return;
    this.running?.cancel();
    this.running = null;
    this.key = key;
    this.found = [];
    if (!key) return;
    const asked = (this.running = app.socket.ask("analyze", {
      board: app.game.board(),
      multipv: count,
      level: LEVEL,
      time_ms: TIME_MS,
      book: "ignore",
      priority: 3,
    }));
    try {
      const { moves } = await asked;
      this.answered();
      if (this.running !== asked) return;
      this.found = moves;
      if (app.knowledge.add(key, moves)) app.learnt(key);
    } catch (refusal) {
      complain(refusal);
    }
    if (this.running !== asked) return;
    this.running = null;
    if (this.held) app.play(this.held);
  }

  /** Return whether a move has to wait, for the search or for the user's word after a warning. @param {string} move */
  holds(move) {
    const { app } = this;
    const { now } = app.game;
    if (now.side !== this.side || !after(now.cells, now.side, move)) return false;
    this.held = this.running && app.socket.connected ? move : "";
    this.warning = this.held ? null : this.judged(move);
    if (this.held) app.lesson.draw();
    if (this.warning) app.lesson.warn();
    return Boolean(this.held || this.warning);
  }

  /** Return a warning of a move, and note it; null for one that does not lose much. @param {string} move
   * @returns {Warning|null} */
  judged(move) {
    const own = this.found.find((one) => one.move === move);
    const [best] = this.found;
    if (!own || best.score - own.score < this.app.preferences.get("warn")) return null;
    const lost = best.score - own.score;
    this.note({ ...this.warned, [this.key]: { ...this.warned[this.key], [move]: lost } });
    return { move, lost, own, best };
  }

  /** Return the moves of the present line that were played in spite of a warning, each with what it loses by the best
   * founded results, as the game's pane lists it; the number of other moves that the user was warned of, and the discs
   * that these would have lost. */
  tally() {
    const { game } = this.app;
    const line = game.line();
    const judged = steps(this.app);
    const played = line.slice(0, -1).flatMap((node, at) => {
      const { move } = line[at + 1];
      const warned = this.warned[game.key(node)]?.[move];
      return warned ? [{ node, move, warned, lost: judged[at].judged ? judged[at].lost : warned }] : [];
    });
    const made = played.filter(({ lost }) => lost);
    const all = Object.values(this.warned).flatMap((one) => Object.values(one));
    /** @param {number[]} losses */
    const sum = (losses) => losses.reduce((total, lost) => total + lost, 0);
    return {
      made,
      lost: sum(made.map((one) => one.lost)),
      avoided: all.length - played.length,
      saved: sum(all) - sum(played.map((one) => one.warned)),
    };
  }
}
