// Hints: an analysis of the position on the board, all legal moves, deeper and deeper.

import { legalMoves } from "../model/rules.js";
import { Teller } from "../model/teller.js";
import { complain } from "../view/notice.js";

/** Milliseconds between two partials; the first one comes with the search's first iteration. */
const PARTIAL_MS = 40;

/** @typedef {import("../main.js").App} App */

/** Tells when the analysis of a position has ended. */
export class Hints extends Teller {
  /** @param {Pick<App, "game"|"knowledge"|"preferences"|"socket">} page */
  constructor({ game, knowledge, preferences, socket }) {
    super();
    this.game = game;
    this.knowledge = knowledge;
    this.preferences = preferences;
    this.socket = socket;
    /** @type {ReturnType<import("./socket.js").Socket["ask"]>|null} */
    this.running = null;
    this.key = "";
    /** Whether the analysis of this position has ended. */
    this.settled = false;
    game.on(() => this.follow());
    game.on(() => this.stop(), "halt");
    preferences.on((name) => {
      if (["hints", "level", "endless"].includes(name)) this.begin();
    });
    document.addEventListener("visibilitychange", () => (document.hidden ? this.stop() : this.begin()));
  }

  stop() {
    this.running?.cancel();
    this.running = null;
    this.key = "";
  }

  follow() {
    if (this.key !== this.game.key()) this.begin();
  }

  /** Analyse the position on the board in place of the one before; none while hints are off or the page is hidden. */
  begin() {
    this.stop();
    const { game, preferences } = this;
    this.settled = false;
    const count = legalMoves(game.now.cells, game.now.side).length;
    if (!preferences.get("hints") || !count || document.hidden) return;
    const key = (this.key = game.key());
    const effort = preferences.get("endless") ? { until: "cancelled" } : { level: preferences.get("level") };
    const asked = this.socket.ask(
      "analyze",
      { board: game.board(), multipv: count, partial_ms: PARTIAL_MS, book: "use", priority: 1, ...effort },
      (data) => this.take(key, data, count),
    );
    this.running = asked;
    asked.then(
      (data) => {
        this.take(key, data, count);
        if (this.running === asked) {
          this.running = null;
          this.settled = true;
          this.tell(key);
        }
      },
      (refusal) => {
        if (refusal.found) this.take(key, refusal.found, count);
        if (this.running === asked) this.running = null;
        if (!["cancelled", "connection_lost"].includes(refusal.code)) complain(refusal);
      },
    );
  }

  /** @param {string} key @param {any} data @param {number} count of legal moves */
  take(key, data, count) {
    const moves = data.moves ?? [];
    // The first partial may have only the moves that the book knows.
    if (this.knowledge.add(key, moves, moves.length === count)) this.knowledge.tell(key);
  }
}
