// The teacher: reads each position in which the user is to move against the engine, and holds moves that lose much.

import { START, after, legalMoves } from "../model/rules.js";
import { read, write } from "../model/store.js";
import { Teller } from "../model/teller.js";
import { complain } from "../view/notice.js";
import { t } from "../view/texts.js";
import { steps } from "./review.js";

/** How deep positions are read, and for how long at most, so that an answer does not wait for it. */
const LEVEL = 16;
const TIME_MS = 400;

/** @typedef {import("../main.js").App} App */
/** @typedef {import("../model/game.js").Node} Node */
/** @typedef {import("../model/knowledge.js").Result} Result */
/** @typedef {import("../view/why.js").Compared} Warning */

/** Tells when what it waits for or warns of changes; "warned" of a warning, "released" the move that has waited. */
export class Teacher extends Teller {
  /** @param {Pick<App, "game"|"knowledge"|"preferences"|"socket">} page */
  constructor({ game, knowledge, preferences, socket }) {
    super();
    this.game = game;
    this.knowledge = knowledge;
    this.preferences = preferences;
    this.socket = socket;
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
    game.on((kind) => {
      if (kind === "new") this.note({});
      this.follow();
    });
    preferences.on((name) => {
      if (["black", "white", "warn"].includes(name)) this.follow();
    });
    if (this.side) this.prepare();
    this.look();
  }

  /** Have the engine loaded before the first move waits for it. */
  async prepare() {
    if (this.prepared) return;
    try {
      await this.socket.ask("analyze", { board: `${START} X`, level: 1, book: "ignore", priority: 3 });
      this.answered();
    } catch (refusal) {
      complain(refusal);
    }
  }

  /** Note that the engine is there. */
  answered() {
    if (this.prepared) return;
    this.prepared = true;
    this.tell(null);
  }

  /** Whether the user waits for the engine, so that no clock runs. */
  get waiting() {
    return Boolean(this.side) && (Boolean(this.held) || !this.prepared);
  }

  /** The side that the user plays with warnings, against the engine; "" without. */
  get side() {
    const { preferences } = this;
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
    const { game, knowledge } = this;
    const { now } = game;
    const count = legalMoves(now.cells, now.side).length;
    const key = now.side === this.side && count > 1 ? game.key() : "";
    if (key === this.key) return;
    this.running?.cancel();
    this.running = null;
    this.key = key;
    this.found = [];
    if (!key) return;
    const asked = (this.running = this.socket.ask("analyze", {
      board: game.board(),
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
      if (knowledge.add(key, moves)) knowledge.tell(key);
    } catch (refusal) {
      complain(refusal);
    }
    if (this.running !== asked) return;
    this.running = null;
    if (this.held) this.tell(this.held, "released");
  }

  /** Return whether a move has to wait, for the search or for the user's word after a warning. @param {string} move */
  holds(move) {
    const { now } = this.game;
    if (now.side !== this.side || !after(now.cells, now.side, move)) return false;
    this.held = this.running && this.socket.connected ? move : "";
    this.warning = this.held ? null : this.judged(move);
    if (this.held) this.tell(null);
    if (this.warning) this.tell(null, "warned");
    return Boolean(this.held || this.warning);
  }

  /** Return a warning of a move, and note it; null for one that does not lose much. @param {string} move
   * @returns {Warning|null} */
  judged(move) {
    const own = this.found.find((one) => one.move === move);
    const [best] = this.found;
    if (!own || best.score - own.score < this.preferences.get("warn")) return null;
    const lost = best.score - own.score;
    this.note({ ...this.warned, [this.key]: { ...this.warned[this.key], [move]: lost } });
    return { move, lost, own, best };
  }

  /** Return the moves of the present line that were played in spite of a warning, each with what it loses by the best
   * founded results, as the game's pane lists it; the number of other moves that the user was warned of, and the discs
   * that these would have lost. */
  tally() {
    const { game } = this;
    const line = game.line();
    const judged = steps(this);
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
  /** Return which mistakes were avoided and made in a finished game; "" where nobody is warned. */
  summary() {
    if (!this.side || !this.game.over) return "";
    const { made, lost, avoided, saved } = this.tally();
    const texts = [
      avoided ? t("avoided", { n: avoided, m: saved }) : "",
      made.length ? t("made", { n: made.length, m: lost }) : "",
    ];
    return texts.join(" ").trim() || t("noWarnings", { n: this.preferences.get("warn") });
  }
}
