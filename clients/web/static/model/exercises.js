// The exercises of this browser, and when each is due again: later after each right answer, at once after a wrong one.

import { read, write } from "./store.js";

/** @typedef {{board: string, scores: Record<string, number>, about: string, right: number, due: number}} Exercise
 *   `scores` are of some moves, the best one included; `right` counts right answers in a row; `due` is a time in ms. */

const DAY_MS = 86_400_000;
/** Days until an exercise is due again, by the number of right answers in a row. */
const DAYS = [0, 1, 3, 7, 16, 40, 100];

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
    return this.list.filter((one) => one.due <= now).length;
  }

  /** Return the exercise that is due first, another one than that on `board` if there is one. @param {string} board */
  next(board) {
    const others = this.list.filter((one) => one.board !== board);
    return (others.length ? others : this.list).reduce((first, one) => (one.due < first.due ? one : first));
  }

  /** Note an answer. @param {Exercise} one @param {boolean} right @param {number} now a time in ms */
  answer(one, right, now) {
    one.right = right ? Math.min(one.right + 1, DAYS.length - 1) : 0;
    one.due = now + DAYS[one.right] * DAY_MS;
    this.save();
  }
}

/** Return the best moves of an exercise. @param {Exercise} one */
export function bestMoves({ scores }) {
  const most = Math.max(...Object.values(scores));
  return Object.keys(scores).filter((move) => scores[move] === most);
}
