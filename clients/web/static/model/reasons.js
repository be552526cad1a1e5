// Why a move is better or worse than another: facts that a line of play shows on the board.

import { PASS, after, legalMoves, other } from "./rules.js";

/** @typedef {import("./rules.js").Side} Side */
/** @typedef {{kind: "corner"|"opens"|"pass"|"moves", move: string, own: number, others: number, count: number}} Fact
 *   "corner": the other side takes the corner `move`; "opens": it answers on the square `move`, where it could not play
 *   before; "pass": the side has to pass; "moves": the side, to move, has `own` legal moves, where the other side would
 *   have `others`. `count` moves of the line lead there. */

const CORNERS = ["a1", "h1", "a8", "h8"];
/** Moves of a line that are looked at: the later ones are a guess. */
export const PLIES = 8;
/** By how many moves more the other side is clearly better off. */
const CLEAR = 3;

/** Return what is bad for side `victim` in a line from a position, in the order of the line.
 * @param {string} cells @param {Side} side to move @param {string[]} line @param {Side} victim @returns {Fact[]} */
export function harms(cells, side, line, victim) {
  const found = /** @type {Fact[]} */ ([]);
  const before = cells;
  let answered = false;
  for (const [at, move] of line.slice(0, PLIES).entries()) {
    const next = after(cells, side, move);
    if (!next) break;
    cells = next;
    const fact = { move, own: legalMoves(cells, victim).length, others: legalMoves(cells, other(victim)).length, count: at + 1 };
    if (side === victim) {
      if (move === PASS) found.push({ ...fact, kind: "pass" });
    } else {
      if (CORNERS.includes(move)) found.push({ ...fact, kind: "corner" });
      else if (!answered && !after(before, side, move)) found.push({ ...fact, kind: "opens" });
      if (fact.own && move !== PASS) found.push({ ...fact, kind: "moves" });
      answered = true;
    }
    side = other(side);
  }
  return found;
}

/** Return what is bad for side `victim` in one line from a position and not in another one: corners and passes that the
 * other line has not, an answer that the other line's first move does not open either, and once clearly fewer moves than
 * the other side has, where the other line, as far on, leaves clearly more in comparison.
 * @param {string} cells @param {Side} side to move @param {string[]} line @param {string[]} without @param {Side} victim */
export function reasons(cells, side, line, without, victim) {
  const usual = harms(cells, side, without, victim);
  const instead = after(cells, side, without[0]) ?? cells;
  let few = false;
  return harms(cells, side, line, victim).filter(({ kind, move, own, others, count }) => {
    if (kind === "opens") return !after(instead, other(victim), move);
    const same = usual.find((one) => one.kind === kind && { corner: one.move === move, moves: one.count === count, pass: true }[kind]);
    if (kind !== "moves") return !same;
    if (few || !same || others - own < CLEAR + Math.max(0, same.others - same.own)) return false;
    return (few = true);
  });
}
