// Why a move is worse than another one: the engine's reasons, and the best play after each on the board, move by move.

import { PASS, colour, movesOf, other } from "../model/rules.js";
import { byId, el, fill } from "./dom.js";
import { complain } from "./notice.js";
import { speak } from "./speak.js";
import { reasonText, sideName, t } from "./texts.js";

/** Moves of a line that are shown: the later ones are a guess. */
const PLIES = 8;

/** @typedef {import("../main.js").App} App */
/** @typedef {import("../model/knowledge.js").Result} Result */
/** @typedef {{kind: string, text: string, played: number[], best: number[]}} Reason  as `explain` replies */
/** @typedef {{move: string, lost: number, own: Result, best: Result, reasons?: Reason[]}} Compared  `lost` in discs;
 *   `own` is the move's result; `reasons` are there once they were asked for. */

/** Fill the section below the board in which a pane asks. @param {string} place as in `Why`
 * @param {string} next the text of the button for what comes next */
export function furnish(place, next) {
  const buttons = Object.entries({ back: "goBack", next, why: "why", hint: "hint", answer: "answer" });
  /** @param {string} name @param {string} text */
  const button = (name, text) => el("button", { id: `${place}-${name}`, "data-t": text, text: t(text) });
  /** @param {string} name */
  const line = (name) => el("p", { id: `${place}-${name}`, "aria-live": "polite" });
  fill(
    byId(place),
    line("told"),
    el("div", { class: "bar" }, ...buttons.map(([name, text]) => button(name, text))),
    line("note"),
    el("p", { id: `${place}-about`, class: "soft" }),
    el("div", { id: `${place}-line`, class: "bar" }),
    el("ul", { id: `${place}-facts`, class: "plain" }),
  );
  byId(`${place}-back`).classList.add("primary");
}

export class Why {
  /** @param {Pick<App, "game"|"preferences"|"socket"|"board">} page
   * @param {string} place the section under the board, and what the ids in it begin with
   * @param {() => void} redraw draws that section */
  constructor({ game, preferences, socket, board }, place, redraw) {
    this.game = game;
    this.preferences = preferences;
    this.socket = socket;
    this.board = board;
    this.place = place;
    this.redraw = redraw;
    /** The moves of the position on the board that are compared. @type {Compared|null} */
    this.moves = null;
    /** Whose line is told: "" for the move alone. @type {""|"why"|"better"} */
    this.told = "";
    /** How many moves of the line are on the board. */
    this.count = 1;
    /** @type {{line: string[], count: number}|null} */
    this.pinned = null;
  }

  /** Return what two moves of a position are worth; they may be the same. @param {Node} node @param {string} move
   * @param {string} better @returns {Promise<Compared>} */
  async compared(node, move, better) {
    const asked = { board: this.game.board(node), level: this.preferences.get("level"), book: "use" };
    const [own, best] = await Promise.all(
      [move, better].map(async (one) => (await this.socket.ask("analyze", { ...asked, allow: [one] })).moves[0]),
    );
    return { move, lost: best.score - own.score, own, best };
  }

  /** Take moves to compare, null for none. @param {Compared|null} moves */
  take(moves) {
    if (moves === this.moves) return;
    this.moves = moves;
    this.told = "";
    this.count = 1;
  }

  /** Show the reasons, beside the line of the move or of the better one; false if there is nothing to compare.
   * @param {"why"|"better"} told */
  tell(told) {
    const { moves } = this;
    if (!moves) return false;
    this.told = told;
    this.count = told === "why" && moves.own.move !== moves.best.move ? 2 : 1;
    this.redraw();
    this.ask(moves);
    return true;
  }

  /** Ask the engine for the reasons, once, and read out what is shown. @param {Compared} moves */
  async ask(moves) {
    const { socket, game } = this;
    try {
      const asked = { board: game.board(), played: moves.own.pv, best: moves.best.pv };
      moves.reasons ??= (await socket.ask("explain", asked)).reasons;
    } catch (refusal) {
      complain(refusal);
    }
    if (this.moves !== moves) return;
    this.redraw();
    // The board stays in sight; the reasons are the last thing in the section.
    byId(`${this.place}-line`).scrollIntoView({ block: "nearest" });
    const text = byId(`${this.place}-told`).textContent;
    speak([text, ...this.sentences(), this.line().join(" ")].join(" "));
  }

  /** What the move loses. */
  text() {
    const { move, lost, own, best } = /** @type {Compared} */ (this.moves);
    if (lost <= 0) return t(own.move === best.move ? "exerciseRight" : "exerciseWrong", { move });
    return t(own.exact && best.exact ? "warnsExact" : "warns", { move, n: lost });
  }

  /** The best play after the move, or after the better one. */
  line() {
    const { moves, told } = this;
    return movesOf((told === "better" ? moves?.best : moves?.own)?.pv ?? "").slice(0, PLIES);
  }

  /** Why the better move is better, as far as that is known, and how the game ends after both, in sentences. */
  sentences() {
    if (!this.moves || !this.told) return [];
    const { own, best, reasons = [] } = this.moves;
    /** @param {Result} result */
    const end = ({ score }) => t(score > 0 ? "ahead" : score < 0 ? "behind" : "even", { n: Math.abs(score) });
    if (own.move === best.move) return [t("endsAt", { move: own.move, end: end(own) })];
    const about = { side: sideName(other(this.game.now.side)), move: own.move, instead: best.move };
    const ends = t("endsWith", { first: own.move, end: end(own), second: best.move, otherwise: end(best) });
    return [...reasons.map((reason) => reasonText(reason, about)), ends];
  }

  /** Return a button that shows the line up to a move. @param {string} move @param {number} at */
  step(move, at) {
    const { now } = this.game;
    const side = at % 2 ? other(now.side) : now.side;
    const act = () => {
      this.count = at + 1;
      this.redraw();
      byId(`${this.place}-line`).children[at].focus();
    };
    const said = move === PASS ? t("passed", { side: sideName(side) }) : `${sideName(side)} ${move}`;
    const pressed = String(at + 1 === this.count);
    return el(
      "button",
      { class: "move", "aria-pressed": pressed, "aria-label": `${at + 1}. ${said}`, onclick: act },
      el("span", { class: `stone ${colour(side)}`, "aria-hidden": "true" }),
      ` ${move === PASS ? "–" : move}`,
    );
  }

  /** Draw the reasons and the line, here and on the board. @param {Node[]} others items of the list of reasons */
  draw(others = []) {
    const { board, place } = this;
    const pinned = this.moves && { line: this.line(), count: this.count };
    // Another section may have pinned its own.
    if (pinned || board.pinned === this.pinned) board.pin(pinned);
    this.pinned = pinned;
    fill(byId(`${place}-facts`), ...this.sentences().map((text) => el("li", { text })), ...others);
    const label = el("span", { class: "soft", text: t("pressMove") });
    fill(byId(`${place}-line`), ...(this.told ? [...this.line().map((move, at) => this.step(move, at)), label] : []));
  }
}
