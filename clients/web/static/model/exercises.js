// The exercises of this browser, and when each is due again.

import { answered, dueFirst, dueOf } from "./repetition.js";
import { read, write } from "./store.js";

/** @typedef {{board: string, scores: Record<string, number>, about: string, right: number, due: number}} Exercise
 *   `scores` are of some moves, the best one included; `right` and `due` as in `Learnt`. */

/** A move at most as many discs below the best is right, too: searches are no surer. */
const NEAR = 1;

export class Exercises {
  constructor() {
    /** @type {Exercise[]} */
    this.list = read("exercises", []);
  }

  /** Store the list; false if the browser has no room for all. */
  save() {
    return write("exercises", this.list);
  }

  /** Add exercises whose boards are new. Returns whether the browser has room.
   * @param {{board: string, scores: Record<string, number>, about: string}[]} found */
  add(found) {
    const known = new Set(this.list.map((one) => one.board));
    for (const one of found) if (!known.has(one.board)) this.list.push({ ...one, right: 0, due: 0 });
    return this.save();
  }

  clear() {
    this.list = [];
    this.save();
  }

  /** @param {string} board @returns {Exercise|undefined} */
  of(board) {
    return this.list.find((one) => one.board === board);
  }

  /** Return how many are due. @param {number} now a time in ms */
  due(now) {
    return dueOf(this.list, now).length;
  }

  /** Return the exercise that is due first, another one than that on `board` if there is one. @param {string} board */
  next(board) {
    return /** @type {Exercise} */ (dueFirst(this.list, this.of(board)));
  }

  /** Note an answer. @param {Exercise} one @param {boolean} right @param {number} now a time in ms */
  answer(one, right, now) {
    answered(one, right, now);
    this.save();
  }
}

/** Return the right moves of an exercise, the best one first. @param {Pick<Exercise, "scores">} one */
export function rightMoves({ scores }) {
  const moves = Object.keys(scores).sort((one, two) => scores[two] - scores[one]);
  return moves.filter((move) => scores[moves[0]] - scores[move] <= NEAR);
}
