// The analysis of a whole game: every position of the line, the loss of each move, the mistakes.

import { covers } from "../model/knowledge.js";
import { PASS, after, canonical, finalScore, isOver, legalMoves, other } from "../model/rules.js";
import { Teller } from "../model/teller.js";
import { complain } from "../view/notice.js";

/** @typedef {import("../main.js").App} App */
/** @typedef {import("../model/game.js").Node} Node */
/** @typedef {{node: Node, score: number|null, sure: string, exact: boolean, lost: number, grade: string, best: string,
 *   judged: boolean|null}} Step  `score` is Black's in the position of `node`; `lost` (discs), `grade` and `best`
 *   judge the next move. `judged` is null if that had no alternative, else whether its loss is known. */

/** The least loss in discs of each grade, worst first, and the loss that halves a move's accuracy. The gateway writes
 * them into the page. @type {{grades: [number, string][], half: number}} */
const { grades: GRADES, half: HALF } = JSON.parse(
  /** @type {any} */ (document.querySelector("meta[name=grades]")).content,
);

/** Return what a loss in discs is called, "" for none of the grades. @param {number} lost */
export const gradeOf = (lost) => GRADES.find(([discs]) => lost >= discs)?.[1] ?? "";

/** Return the judged steps of the present line. @param {Pick<App, "game"|"knowledge">} page @returns {Step[]} */
export function steps({ game, knowledge }) {
  const line = game.line();
  return line.map((node, at) => {
    const best = knowledge.best(game.key(node));
    const sign = node.side === "X" ? 1 : -1;
    /** @type {Step} */
    const step = { node, score: null, sure: "", exact: false, lost: 0, grade: "", best: "", judged: null };
    if (isOver(node.cells)) Object.assign(step, { score: finalScore(node.cells), sure: "=", exact: true });
    else if (best) Object.assign(step, { score: sign * best.score, sure: best, exact: best.exact, best: best.move });
    const next = line[at + 1];
    const choice = next && next.move !== PASS && legalMoves(node.cells, node.side).length > 1;
    step.judged = choice ? Boolean(best) : null;
    if (next && best && differs(node, next.move, best.move)) {
      const own = knowledge.ofMove(game.key(node), next.move);
      const later = isOver(next.cells) ? finalScore(next.cells) : valueOf({ game, knowledge }, next);
      // Scores of searches of the same depth are compared, if there are such.
      const played = (own && covers(own, best)) || later === null ? own?.score : sign * later;
      if (played !== undefined) step.lost = Math.max(0, best.score - played);
      else step.judged = false;
      step.grade = gradeOf(step.lost);
    }
    return step;
  });
}

/** Return the mean accuracy of the moves with an alternative, percent; "" until all of them are judged.
 * @param {Step[]} taken */
export function accuracy(taken) {
  const chosen = taken.filter((step) => step.judged !== null);
  const sum = chosen.reduce((total, step) => total + 100 * 2 ** (-step.lost / HALF), 0);
  return chosen.length && chosen.every((step) => step.judged) ? `${Math.round(sum / chosen.length)} %` : "";
}

/** Return where the present line leaves the book, by which move, and the best that the book had there; null if that is
 * not known, or if the line begins outside of the book. @param {Pick<App, "game"|"knowledge">} page */
export function leftBook({ game, knowledge }) {
  const line = game.line();
  for (const [at, node] of line.entries()) {
    const next = line[at + 1];
    if (next?.move === PASS) continue;
    const key = game.key(node);
    const best = knowledge.best(key);
    if (!next || !best || (differs(node, next.move, best.move) && !knowledge.ofMove(key, next.move))) break;
    const booked = Object.values(knowledge.booked.get(key) ?? {});
    if (booked.every((one) => differs(node, next.move, one.move)))
      return at || booked[0] ? { node, next, had: booked[0] } : null;
  }
  return null;
}

/** Return whether a move is neither a pass nor the best one nor a mirror image of the best one. @param {Node} node
 * @param {string} move @param {string} best */
function differs(node, move, best) {
  if (move === PASS || move === best) return false;
  const [one, two] = [move, best].map((each) => canonical(after(node.cells, node.side, each) ?? "", other(node.side)));
  return one !== two;
}

/** Return Black's score of a position, after forced passes; null if unknown.
 * @param {Pick<App, "game"|"knowledge">} page @param {Node} node */
function valueOf({ game, knowledge }, node) {
  let at = node;
  while (at.children[0]?.move === PASS) at = at.children[0];
  const best = knowledge.best(game.key(at));
  return best ? (at.side === "X" ? best.score : -best.score) : null;
}

/** Tells of its beginning, its end, and each position in between. */
export class Review extends Teller {
  /** @param {Pick<App, "game"|"knowledge"|"preferences"|"socket"|"hints">} page */
  constructor({ game, knowledge, preferences, socket, hints }) {
    super();
    this.game = game;
    this.knowledge = knowledge;
    this.preferences = preferences;
    this.socket = socket;
    this.hints = hints;
    /** @type {ReturnType<import("./socket.js").Socket["ask"]>|null} */
    this.running = null;
    /** @type {ReturnType<import("./socket.js").Socket["ask"]>|null} */
    this.played = null;
    this.done = 0;
    this.total = 0;
    game.on(() => this.stop(), "halt");
  }

  /** Analyse the present line; each result is used as it comes. */
  async begin() {
    const { game, knowledge } = this;
    this.stop();
    const line = game.line();
    const last = line[line.length - 1];
    const keys = line.map((node) => game.key(node));
    this.done = 0;
    // Each position; then each played move is searched by itself, unless it is the best.
    this.total = 2 * line.length - 1;
    this.hints.stop();
    const asked = (this.running = this.socket.ask(
      "analyze",
      {
        board: game.board(game.root),
        moves: game.moves(last),
        plies: keys.map((_, at) => at),
        level: this.preferences.get("gameLevel"),
        book: "use",
      },
      (data) => {
        if (data.done === false) return;
        this.done++;
        knowledge.add(keys[data.ply], data.moves ?? []);
        this.tell(null);
      },
    ));
    this.tell(null);
    try {
      const data = await asked;
      for (const ply of data.plies) knowledge.add(keys[ply.ply], ply.moves ?? []);
      await this.searchPlayed(line, asked);
    } catch (refusal) {
      complain(refusal);
    }
    if (this.running !== asked) return;
    this.running = null;
    this.tell(null);
    this.hints.begin();
  }

  /** Search, by itself and at the level of the others, each played move that was not best, unless it has such a result
   * already. @param {Node[]} line @param {any} asked */
  async searchPlayed(line, asked) {
    const { game, knowledge } = this;
    const others = line.slice(0, -1).flatMap((node, at) => {
      const { move } = line[at + 1];
      const best = knowledge.best(game.key(node));
      const own = knowledge.ofMove(game.key(node), move);
      return best && differs(node, move, best.move) && !(own && covers(own, best)) ? [{ node, move }] : [];
    });
    this.done = this.total - others.length;
    for (const { node, move } of others) {
      if (this.running !== asked) return;
      this.played = this.socket.ask("analyze", {
        board: game.board(node),
        allow: [move],
        level: this.preferences.get("gameLevel"),
        book: "use",
      });
      knowledge.add(game.key(node), (await this.played).moves, false);
      this.done++;
      this.tell(null);
    }
  }

  stop() {
    this.running?.cancel();
    this.played?.cancel();
    this.running = null;
  }
}
