// Results of positions: for each move the best founded one, which no weaker one replaces.

import { Teller } from "./teller.js";

/** @typedef {{move: string, score: number, lower: number, upper: number, depth: number, selectivity: number,
 *   exact: boolean, source: "search"|"book", pv: string}} Result  Scores are the mover's. */

/** Return how well founded a result is: proved or not, depth, selectivity in percent.
 * @param {Result} result @returns {[number, number, number]} */
export function foundation(result) {
  return result.exact ? [1, 0, 0] : [0, result.depth, result.selectivity];
}

/** Return whether result `one` is at least as well founded as `two`. @param {Result} one @param {Result} two */
export function covers(one, two) {
  const a = foundation(one);
  const b = foundation(two);
  const at = a.findIndex((value, index) => value !== b[index]);
  return at < 0 || a[at] > b[at];
}

/** Return how sure a result is, for the board: `=`, `book`, 24, 24@73%. @param {Result} result */
export function certainty(result, book = "book") {
  if (result.exact) return "=";
  if (result.source === "book") return book;
  return result.selectivity < 100 ? `${result.depth}@${result.selectivity}%` : `${result.depth}`;
}

/** Tells a position's key when new results of it are to be shown. */
export class Knowledge extends Teller {
  constructor() {
    super();
    /** @type {Map<string, Map<string, Result>>} */
    this.known = new Map();
    /** By position: the best move of one search over all moves. @type {Map<string, Result>} */
    this.tops = new Map();
    /** By position: what the book said of its moves, best first, whatever was searched since.
     * @type {Map<string, Record<string, Result>>} */
    this.booked = new Map();
  }

  /** Add results of a position; returns whether any is new. @param {string} key @param {Result[]} results best first
   * @param {boolean} [all] whether all moves were searched, so that the first is the best of all */
  add(key, results, all = true) {
    let changed = false;
    const [top] = results;
    const before = this.tops.get(key);
    if (all && top && !(before && !covers(top, before))) this.tops.set(key, top);
    let here = this.known.get(key);
    if (!here) this.known.set(key, (here = new Map()));
    for (const result of results) {
      if (result.source === "book") this.booked.set(key, { ...this.booked.get(key), [result.move]: result });
      const old = here.get(result.move);
      if (old && !covers(result, old)) continue;
      if (!old || old.score !== result.score || old.depth !== result.depth || certainty(old) !== certainty(result))
        changed = true;
      here.set(result.move, result);
    }
    return changed;
  }

  /** Return the results of a position, best first; none that is less well founded comes before the best of all.
   * @param {string} key @returns {Result[]} */
  of(key) {
    const top = this.tops.get(key);
    /** @param {Result} one */
    const worth = (one) => (top && one.score > top.score && !covers(one, top) ? top.score - 0.5 : one.score);
    return [...(this.known.get(key)?.values() ?? [])].sort((a, b) => worth(b) - worth(a) || (covers(a, b) ? -1 : 1));
  }

  /** @param {string} key @returns {Result|undefined} */
  best(key) {
    return this.of(key)[0];
  }

  /** @param {string} key @param {string} move */
  ofMove(key, move) {
    return this.known.get(key)?.get(move);
  }
}
