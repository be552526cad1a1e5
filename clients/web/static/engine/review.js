// The analysis of a whole game: every position of the line, the loss of each move, the mistakes.

import { covers } from "../model/knowledge.js";
import { PASS, after, canonical, finalScore, isOver, legalMoves, other } from "../model/rules.js";
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

/** Return the judged steps of the present line. @param {App} app @returns {Step[]} */
export function steps(app) {
  const line = app.game.line();
  return line.map((node, at) => {
    const best = app.knowledge.best(app.game.key(node));
    const sign = node.side === "X" ? 1 : -1;
    /** @type {Step} */
    const step = { node, score: null, sure: "", exact: false, lost: 0, grade: "", best: "", judged: null };
    if (isOver(node.cells)) Object.assign(step, { score: finalScore(node.cells), sure: "=", exact: true });
    else if (best) Object.assign(step, { score: sign * best.score, sure: best, exact: best.exact, best: best.move });
    const next = line[at + 1];
    const choice = next && next.move !== PASS && legalMoves(node.cells, node.side).length > 1;
    step.judged = choice ? Boolean(best) : null;
    if (next && best && differs(node, next.move, best.move)) {
      const own = app.knowledge.ofMove(app.game.key(node), next.move);
      const later = isOver(next.cells) ? finalScore(next.cells) : valueOf(app, next);
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
 * not known, or if the line begins outside of the book. @param {App} app */
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

/** Return Black's score of a position, after forced passes; null if unknown. @param {App} app @param {Node} node */
function valueOf(app, node) {
  let at = node;
  while (at.children[0]?.move === PASS) at = at.children[0];
  const best = app.knowledge.best(app.game.key(at));
  return best ? (at.side === "X" ? best.score : -best.score) : null;
}

export class Review {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {ReturnType<import("./socket.js").Socket["ask"]>|null} */
    this.running = null;
    /** @type {ReturnType<import("./socket.js").Socket["ask"]>|null} */
    this.played = null;
    this.done = 0;
    this.total = 0;
  }

  /** Analyse the present line; each result is used as it comes. */
  async begin() {
    const { app } = this;
    this.stop();
    const line = app.game.line();
    const last = line[line.length - 1];
    const keys = line.map((node) => app.game.key(node));
    this.done = 0;
    // Each position; then each played move is searched by itself, unless it is the best.
    this.total = 2 * line.length - 1;
    app.hints.stop();
    const asked = (this.running = app.socket.ask(
      "analyze",
      {
        board: app.game.board(app.game.root),
        moves: app.game.moves(last),
        plies: keys.map((_, at) => at),
        level: app.preferences.get("gameLevel"),
        book: "use",
      },
      (data) => {
        if (data.done === false) return;
        this.done++;
        app.knowledge.add(keys[data.ply], data.moves ?? []);
        app.reviewed();
      },
    ));
    app.reviewed();
    try {
      const data = await asked;
      for (const ply of data.plies) app.knowledge.add(keys[ply.ply], ply.moves ?? []);
      await this.searchPlayed(line, asked);
    } catch (refusal) {
      complain(refusal);
    }
    if (this.running !== asked) return;
    this.running = null;
    app.reviewed();
    app.hints.begin();
  }

  /** Search, by itself and at the level of the others, each played move that was not best, unless it has such a result
   * already. @param {Node[]} line @param {any} asked */
  async searchPlayed(line, asked) {
    const { app } = this;
    const others = line.slice(0, -1).flatMap((node, at) => {
      const { move } = line[at + 1];
      const best = app.knowledge.best(app.game.key(node));
      const own = app.knowledge.ofMove(app.game.key(node), move);
      return best && differs(node, move, best.move) && !(own && covers(own, best)) ? [{ node, move }] : [];
    });
    this.done = this.total - others.length;
    for (const { node, move } of others) {
      if (this.running !== asked) return;
      this.played = app.socket.ask("analyze", {
        board: app.game.board(node),
        allow: [move],
        level: app.preferences.get("gameLevel"),
        book: "use",
      });
      app.knowledge.add(app.game.key(node), (await this.played).moves, false);
      this.done++;
      app.reviewed();
    }
  }

  stop() {
    this.running?.cancel();
    this.played?.cancel();
    this.running = null;
  }

  /** Go to the next mistake (1) or the one before (-1). Returns whether there is one. @param {number} by */
  mistake(by) {
    const judged = steps(this.app);
    const now = this.app.game.now.ply;
    const bad = judged.filter((step) => step.grade);
    const to = by > 0 ? bad.find((step) => step.node.ply > now) : bad.reverse().find((step) => step.node.ply < now);
    if (to) this.app.seek(to.node);
    return Boolean(to);
  }
}
