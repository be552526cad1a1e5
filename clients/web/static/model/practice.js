// The openings that are practised in this browser: where they begin, which lines were asked, when each is due again.

import { PASS, after, canonical, movesOf, other } from "./rules.js";
import { answered } from "./repetition.js";
import { read, write } from "./store.js";

/** @typedef {import("./rules.js").Side} Side */
/** @typedef {"book"|"games"} Source */
/** @typedef {{side: Side, moves: string, right: number, due: number}} Line  Moves from the course's position on, passes
 *   included, of which `side` was asked its own; `right` and `due` as in `Learnt`. */
/** @typedef {{board: string, moves: string, source: Source, lines: Line[]}} Course  The position after `moves` from
 *   `board` is where its lines begin. */
/** @typedef {{move: string, weight: number, right: boolean, score?: number, games?: number}} Choice  A move with what
 *   its source knows of it: whether it is a right answer, and how often the page replies with it. */

/** A move of people is right that was played at least this many times as often as the commonest one. */
const SHARE = 1 / 4;

export class Practice {
  constructor() {
    /** @type {Course[]} */
    this.list = read("practice", []);
  }

  /** Store the list; false if the browser has no room for all. */
  save() {
    return write(
      "practice",
      this.list.filter((one) => one.lines.length),
    );
  }

  /** Return the course that begins there, a new one if need be. @param {string} board @param {string} moves
   * @param {Source} source */
  course(board, moves, source) {
    const known = this.list.find((one) => one.board === board && one.moves === moves && one.source === source);
    if (known) return known;
    const course = { board, moves, source, lines: [] };
    this.list.push(course);
    return course;
  }

  /** @param {Course} course */
  remove(course) {
    this.list = this.list.filter((one) => one !== course);
    this.save();
  }

  /** Note a line that was asked; one that it goes on is replaced by it. Returns its entry.
   * @param {Course} course @param {Side} side @param {string} moves @param {boolean} right
   * @param {number} now a time in ms */
  answer(course, side, moves, right, now) {
    const here = way(course, moves);
    /** @param {Line} one */
    const within = (one) => one.side === side && way(course, one.moves).every((text, at) => text === here[at]);
    const line = course.lines.find((one) => one.moves.length === moves.length && within(one)) ?? {
      side,
      moves,
      right: 0,
      due: 0,
    };
    course.lines = [...course.lines.filter((one) => one !== line && !within(one)), line];
    answered(line, right, now);
    return line;
  }
}

/** Return the positions of a course's line, the first one included, as texts that mirror images share.
 * @param {Course} course @param {string} moves @returns {string[]} */
export function way(course, moves) {
  let [cells, side] = /** @type {[string, Side]} */ (course.board.split(" "));
  const start = movesOf(course.moves).length;
  const texts = [];
  for (const [at, move] of ["", ...movesOf(course.moves + moves)].entries()) {
    if (move) [cells, side] = [after(cells, side, move) ?? cells, other(side)];
    if (at >= start) texts.push(canonical(cells, side));
  }
  return texts;
}

/** Return the text of the position after a move, as in `way`. @param {{cells: string, side: Side}} node
 * @param {string} move */
export const reached = ({ cells, side }, move) => canonical(after(cells, side, move) ?? cells, other(side));

/** Return the number of moves in a text, passes not counted. @param {string} moves */
export const plies = (moves) => movesOf(moves).filter((move) => move !== PASS).length;

/** Return what the book knows of a position, best first. The page replies with links, of two with the better one more
 * often. @param {any} look a reply of book.get @param {number} margin discs below the best of a right move
 * @returns {Choice[]} */
export function bookChoices(look, margin) {
  const links = look.links ?? [];
  /** @type {{move: string, score: number}[]} */
  const moves = [...links, ...(look.leaf ? [look.leaf] : [])].sort((one, two) => two.score - one.score);
  return moves.map(({ move, score }) => {
    const lost = moves[0].score - score;
    return {
      move,
      score,
      right: lost <= margin,
      weight: lost <= margin && move !== look.leaf?.move ? 1 / (1 + lost) : 0,
    };
  });
}

/** Return what people played in a position, the commonest move first; nothing if it had fewer than `least` games. The
 * page replies with the right moves, each as often as people did. @param {any} played a reply of games.get
 * @param {number} least
 * @returns {Choice[]} */
export function gamesChoices({ moves }, least) {
  /** @type {{move: string, games: number}[]} */
  const sorted = [...moves].sort((one, two) => two.games - one.games);
  if (sorted.reduce((sum, one) => sum + one.games, 0) < least) return [];
  return sorted.map(({ move, games }) => {
    const right = games >= SHARE * sorted[0].games;
    return { move, games, right, weight: right ? games : 0 };
  });
}

/** Draw one of some choices by their weights. @param {Choice[]} choices @param {number} chance 0 to 1, 1 excluded */
export function drawn(choices, chance) {
  let left = chance * choices.reduce((sum, one) => sum + one.weight, 0);
  for (const one of choices) {
    left -= one.weight;
    if (left < 0) return one;
  }
  return choices[choices.length - 1];
}
