// Hints: an analysis of the position on the board, all legal moves, deeper and deeper.

import { legalMoves } from "../model/rules.js";
import { complain } from "../view/notice.js";

/** Milliseconds between two partials; the first one comes with the search's first iteration. */
const PARTIAL_MS = 40;

/** @typedef {import("../main.js").App} App */

export class Hints {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {ReturnType<import("./socket.js").Socket["ask"]>|null} */
    this.running = null;
    this.key = "";
    /** Whether the analysis of this position has ended. */
    this.settled = false;
    app.game.on(() => this.follow());
    app.preferences.on((name) => {
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
    if (this.key !== this.app.game.key()) this.begin();
  }

  /** Analyse the position on the board in place of the one before; none while hints are off or the page is hidden. */
  begin() {
    this.stop();
    const { app } = this;
    const { game } = app;
    this.settled = false;
    const count = legalMoves(game.now.cells, game.now.side).length;
    if (!app.preferences.get("hints") || !count || document.hidden) return;
    const key = (this.key = game.key());
    const effort = app.preferences.get("endless") ? { until: "cancelled" } : { level: app.preferences.get("level") };
    const asked = app.socket.ask(
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
          app.settled();
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
    if (this.app.knowledge.add(key, moves, moves.length === count)) this.app.learnt(key);
  }
}
