// The board: 64 buttons in a grid over the drawing, with discs, hints, marks and previews.

import { certainty } from "../model/knowledge.js";
import { PASS, after, legalMoves, movesOf, nameOf, other, squareOf, turned } from "../model/rules.js";
import { Teller } from "../model/teller.js";
import { t } from "./texts.js";
import { byId, el, signed } from "./dom.js";

/** @typedef {import("../main.js").App} App */
/** @typedef {import("../model/rules.js").Side} Side */

/** Most discs that a move may lose to be drawn as best, near, worse or bad. */
const LOSSES = /** @type {[number, string][]} */ ([
  [0, "best"],
  [2, "near"],
  [6, "worse"],
  [128, "bad"],
]);

/** Tells "press" with a square, "hover" with the move pointed at and its result, if that is known. */
export class Board extends Teller {
  /** @param {Pick<App, "game"|"knowledge"|"preferences">} page */
  constructor({ game, knowledge, preferences }) {
    super();
    this.game = game;
    this.knowledge = knowledge;
    this.preferences = preferences;
    this.box = byId("board");
    /** While a position is set up: what is shown instead of the game. @type {import("./setup.js").Setup|null} */
    this.setup = null;
    /** The square that the keyboard has chosen. */
    this.at = squareOf("d3");
    /** The line of play that is previewed, and the number of its moves shown.
     * @type {{line: string[], count: number}|null} */
    this.preview = null;
    /** The preview that is shown while no other one is. @type {{line: string[], count: number}|null} */
    this.pinned = null;
    this.drawn = "";
    /** @type {any[]} */
    this.cells = [];
    this.build();
    preferences.on(() => this.build(), "symmetry");
    game.on(() => this.show(null), "halt");
    this.box.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.arrows(event));
    this.box.addEventListener("wheel", (/** @type {WheelEvent} */ event) => this.wheel(event), { passive: false });
    this.box.addEventListener("mouseleave", () => this.show(null));
  }

  build() {
    this.cells = [];
    const rows = [];
    for (let row = 0; row < 8; row++) {
      const line = el("div", { role: "row", class: "row" });
      for (let column = 0; column < 8; column++) {
        const square = this.squareAt(row, column);
        const button = el(
          "button",
          { class: "square", "data-square": nameOf(square), tabindex: square === this.at ? "0" : "-1" },
          el("span", { class: "disc", "aria-hidden": "true" }),
          el("span", { class: "hint", "aria-hidden": "true" }, el("b"), el("small")),
        );
        button.addEventListener("click", () => this.tell(square, "press"));
        button.addEventListener("focus", () => this.focused(square));
        button.addEventListener("mouseenter", () => this.hover(square));
        this.cells[square] = button;
        line.append(el("div", { role: "gridcell", class: "cell" }, button));
      }
      rows.push(line);
    }
    byId("squares").replaceChildren(...rows);
    this.label();
    this.draw();
  }

  /** Return the square drawn in a row and column. @param {number} row @param {number} column */
  squareAt(row, column) {
    const symmetry = this.preferences.get("symmetry");
    let square = 8 * row + column;
    // The reverse of `turned`, which swaps after mirroring.
    if (symmetry & 4) square = 8 * column + row;
    return turned(square, symmetry & 3);
  }

  /** Draw letters and digits beside the board, in its orientation. */
  label() {
    const letters = this.box.querySelectorAll(".coordinate");
    const files = nameOf(this.squareAt(0, 0))[0] === nameOf(this.squareAt(1, 0))[0];
    for (let at = 0; at < 8; at++) {
      const top = nameOf(this.squareAt(0, at));
      const left = nameOf(this.squareAt(at, 0));
      letters[2 * at].textContent = files ? top[0] : top[1];
      letters[2 * at + 1].textContent = files ? left[1] : left[0];
    }
  }

  /** @param {number} square */
  focused(square) {
    this.cells[this.at].tabIndex = -1;
    this.at = square;
    this.cells[square].tabIndex = 0;
    this.hover(square);
  }

  focus() {
    this.cells[this.at].focus();
  }

  /** @param {KeyboardEvent} event */
  arrows(event) {
    if (event.altKey || event.metaKey || event.shiftKey) return;
    let row = 0;
    let column = 0;
    for (let at = 0; at < 64; at++) if (this.squareAt(at >> 3, at % 8) === this.at) [row, column] = [at >> 3, at % 8];
    const all = event.ctrlKey;
    const to = {
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      Home: [all ? 0 : row, 0],
      End: [all ? 7 : row, 7],
    }[event.key];
    if (!to || (all && !["Home", "End"].includes(event.key))) return;
    event.preventDefault();
    event.stopPropagation();
    const [x, y] = to.map((one) => Math.max(0, Math.min(7, one)));
    this.cells[this.squareAt(x, y)].focus();
  }

  // Drawing

  draw() {
    const { game, preferences } = this;
    const setup = this.setup?.cells;
    const { cells, side, marks } = this.shown();
    const legal = setup ? [] : legalMoves(game.now.cells, game.now.side);
    const playable = new Set(this.preview ? [] : legal);
    const last = setup ? -1 : squareOf(game.now.move);
    const next = game.next(game.now);
    const results = preferences.get("hints") && !this.preview && !setup ? this.hints(legal) : new Map();
    const wrong = this.preview || setup ? [] : this.wrong();
    for (let square = 0; square < 64; square++) {
      const button = this.cells[square];
      const [disc, hint] = button.children;
      const kind = { X: "black", O: "white", "-": "" }[/** @type {"X"|"O"|"-"} */ (cells[square])];
      if (disc.dataset.kind !== kind) {
        const flipped = disc.dataset.kind && kind;
        disc.dataset.kind = kind;
        disc.className = `disc ${kind}${flipped && preferences.get("animate") ? " flipped" : ""}`;
      }
      button.classList.toggle("playable", playable.has(square));
      button.classList.toggle("last", square === last && !this.preview);
      button.classList.toggle(
        "next",
        Boolean(next) && square === squareOf(next?.move ?? "") && !this.preview && !setup,
      );
      const result = results.get(square);
      const [big, small] = hint.children;
      const crossed = wrong.includes(nameOf(square));
      const shown = marks.get(square) ?? (crossed ? "✗" : result ? signed(result.score) : "");
      const sure = result && preferences.get("sure") ? certainty(result, t("sourceLink")) : "";
      if (big.textContent !== shown) big.textContent = shown;
      if (small.textContent !== sure) small.textContent = sure;
      hint.className = `hint ${marks.has(square) ? "number" : crossed ? "wrong" : result ? result.kind : ""}`;
      const label = this.described(square, cells, playable, result) + (crossed ? `, ${t("wrong")}` : "");
      if (button.getAttribute("aria-label") !== label) button.setAttribute("aria-label", label);
    }
    this.box.dataset.side = side;
  }

  /** Return the cells to draw, the side to move, and by square the numbers of the moves of a previewed line. */
  shown() {
    const { game, setup } = this;
    /** @type {Map<number, string>} */
    const marks = new Map();
    if (setup) return { cells: setup.cells.join(""), side: setup.side, marks };
    let { cells, side } = game.now;
    if (!this.preview) return { cells, side, marks };
    this.preview.line.slice(0, this.preview.count).forEach((move, at) => {
      const played = after(cells, side, move);
      if (!played) return;
      cells = played;
      side = other(side);
      if (move !== PASS) marks.set(squareOf(move), String(at + 1));
    });
    return { cells, side, marks };
  }

  /** Return the moves that were wrong answers in the position on the board, or the wrong one that led to it. */
  wrong() {
    const { now } = this.game;
    return [...now.wrong, ...(now.parent?.wrong.filter((move) => move === now.move) ?? [])];
  }

  /** Return the results to show, by square, each with its kind, such as near the best. @param {number[]} legal */
  hints(legal) {
    const { game, knowledge, preferences } = this;
    const results = knowledge.of(game.key()).filter((one) => legal.includes(squareOf(one.move)));
    const most = preferences.get("most") || 64;
    const best = results[0];
    return new Map(
      results.slice(0, most).map((one) => {
        const lost = best.score - one.score;
        // A higher score that is less well founded than the best one's is not taken for a better move.
        const kind = lost < 0 ? "near" : LOSSES.find(([discs]) => lost <= discs)?.[1];
        return [
          squareOf(one.move),
          { ...one, kind: `${kind}${one.exact ? " exact" : ""}${one.source === "book" ? " book" : ""}` },
        ];
      }),
    );
  }

  /** Return a square's text for screen readers. @param {number} square @param {string} cells
   * @param {Set<number>} playable
   * @param {any} result */
  described(square, cells, playable, result) {
    const parts = [nameOf(square), t({ X: "black", O: "white", "-": "empty" }[/** @type {"X"} */ (cells[square])])];
    if (playable.has(square)) parts.push(t("playable"));
    if (result && this.preferences.get("speakHints")) {
      if (result.kind.startsWith("best")) parts.push(t("best"));
      parts.push(told(result));
    }
    return parts.join(", ");
  }

  // Previews

  /** @param {number} square */
  hover(square) {
    if (this.setup) return;
    const { game, knowledge } = this;
    const move = nameOf(square);
    const result = knowledge.ofMove(game.key(), move);
    this.tell({ result: result && game.now.cells[square] === "-" ? result : null, move }, "hover");
    if (this.preview && this.preview.line[0] !== move) this.show(null);
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    const button = /** @type {Element} */ (event.target).closest(".square");
    const result =
      button &&
      this.preferences.get("hints") &&
      this.knowledge.ofMove(this.game.key(), /** @type {HTMLElement} */ (button).dataset.square ?? "");
    if (!this.preview && !result) return;
    event.preventDefault();
    this.advance(result, event.deltaY > 0 ? 1 : -1);
  }

  /** Preview, by keys, the best line of the chosen square's move, or of the best one. @param {number} by */
  along(by) {
    const { game, knowledge } = this;
    const key = game.key();
    const own = this.box.contains(document.activeElement) ? knowledge.ofMove(key, nameOf(this.at)) : undefined;
    this.advance(own ?? knowledge.best(key), by);
  }

  /** Preview more or fewer moves of the line shown, or begin one.
   * @param {import("../model/knowledge.js").Result|undefined} result
   * @param {number} by */
  advance(result, by) {
    const line = this.preview?.line ?? movesOf(result?.pv ?? "");
    const count = (this.preview?.count ?? 0) + by;
    this.show(count > 0 && line.length ? { line, count: Math.min(count, line.length) } : null);
  }

  /** @param {{line: string[], count: number}|null} preview */
  show(preview) {
    preview ??= this.pinned;
    if (preview === this.preview) return;
    this.preview = preview;
    this.draw();
  }

  /** Show a preview that stays when the pointer leaves; null ends it.
   * @param {{line: string[], count: number}|null} preview */
  pin(preview) {
    this.pinned = preview;
    this.show(preview);
  }

  /** Go to a position and scroll to the board. @param {import("../model/game.js").Node} node */
  seek(node) {
    this.game.go(node);
    this.box.scrollIntoView({ block: "nearest" });
  }
}

/** Return a result in words. @param {import("../model/knowledge.js").Result} result */
export function told(result) {
  const score = result.score === 0 ? "0" : t(result.score > 0 ? "plus" : "minus", { n: Math.abs(result.score) });
  const sure = result.exact
    ? t("exact")
    : result.source === "book"
      ? t("fromBook")
      : deep(result.depth, result.selectivity);
  return `${score}, ${sure}`;
}

/** Return in words how deep and how sure a search was. @param {number} depth @param {number} selectivity in percent */
export function deep(depth, selectivity) {
  return [t("deep", { n: depth }), ...(selectivity < 100 ? [t("sureTo", { n: selectivity })] : [])].join(", ");
}
