// What outlives the page: the game on the board with the results of its line, in the browser's storage and the address.

import { fragment, parsed } from "./link.js";
import { Game } from "./game.js";
import { START } from "./rules.js";
import { read, write } from "./store.js";

/** @typedef {import("../main.js").App} App */

export class Keeper {
  /** @param {Pick<App, "game"|"knowledge">} page
   * @param {() => Record<string, any>} beside what is stored with the game */
  constructor({ game, knowledge }, beside) {
    this.game = game;
    this.knowledge = knowledge;
    this.beside = beside;
    this.waiting = 0;
    /** A number that a page loaded anew finds in the tab's history: its address may be behind the game that it
     * stored. */
    this.tab = history.state?.tab ?? Math.random();
    history.replaceState({ tab: this.tab }, "");
    /** What was stored with the game on the board; nothing if that was another game. @type {Record<string, any>} */
    this.kept = this.restore();
    game.on(() => this.keepSoon(), "noted");
    window.addEventListener("hashchange", ({ newURL }) => {
      // The address may be the game's again by now.
      const { hash } = new URL(newURL);
      const link = parsed(hash);
      if (link && fragment(game) !== hash) game.open(link, true);
    });
    window.addEventListener("pagehide", () => this.keep());
  }

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
    return other ? {} : kept;
  }

  keepSoon() {
    // At once, for a page that is loaded anew right after a move: its address follows a moment later.
    this.store();
    if (!this.waiting) this.waiting = window.setTimeout(() => this.keep(), 400);
  }

  /** Store the game in the browser. */
  store() {
    write("current", { ...this.game.save(), tab: this.tab, ...this.beside() });
  }

  /** Store the game, and the results of its line; put a link to the position into the address. */
  keep() {
    clearTimeout(this.waiting);
    this.waiting = 0;
    this.store();
    const known = /** @type {Record<string, any>} */ ({});
    for (const node of this.game.line()) {
      const results = this.knowledge.of(this.game.key(node));
      if (results.length) known[this.game.key(node)] = results;
    }
    write("known", known);
    history.replaceState({ tab: this.tab }, "", `/${fragment(this.game)}`);
  }
}

/** Return whether a link shows the stored game's position, so that its tree and comments are loaded too.
 * @param {any} kept @param {{board: string, moves: string}} link */
function sameLine(kept, link) {
  const trial = new Game();
  trial.load(kept);
  return (link.board || `${START} X`) === trial.board(trial.root) && link.moves === trial.moves();
}
