// Setting up a position: discs by mouse or keys, the side to move, faults that make the board unplayable.

import { START } from "../model/rules.js";
import { byId } from "./dom.js";

/** @typedef {import("../main.js").App} App */
/** @typedef {import("../model/rules.js").Side} Side */

export class Setup {
  /** @param {Pick<App, "game"|"board">} page */
  constructor({ game, board }) {
    this.game = game;
    this.board = board;
    this.cells = [...game.now.cells];
    /** @type {Side} */
    this.side = game.now.side;
    /** @type {"X"|"O"|"-"} */
    this.disc = "X";
    this.controls = new AbortController();
    const { signal } = this.controls;
    game.addEventListener("halt", () => this.end(false), { signal });
    /** @param {string} id @param {() => void} act */
    const press = (id, act) => byId(id).addEventListener("click", act, { signal });
    press("setup-black", () => this.take("X"));
    press("setup-white", () => this.take("O"));
    press("setup-empty", () => this.take("-"));
    press("setup-clear", () => this.put("-".repeat(64)));
    press("setup-start", () => this.put(START));
    press("setup-done", () => this.end(true));
    press("setup-cancel", () => this.end(false));
    for (const radio of document.getElementsByName("setup-side")) {
      const input = /** @type {HTMLInputElement} */ (radio);
      input.checked = input.value === this.side;
      input.addEventListener("change", () => (this.side = /** @type {Side} */ (input.value)), { signal });
    }
    byId("setup").hidden = false;
    byId("controls").hidden = true;
    this.take("X");
  }

  /** @param {"X"|"O"|"-"} disc */
  take(disc) {
    this.disc = disc;
    for (const [id, one] of [
      ["setup-black", "X"],
      ["setup-white", "O"],
      ["setup-empty", "-"],
    ]) {
      byId(id).setAttribute("aria-pressed", one === disc);
    }
  }

  /** @param {string} cells */
  put(cells) {
    this.cells = [...cells];
    this.board.draw();
  }

  /** Put the chosen disc on a square; on the same disc take it away. @param {number} square */
  press(square) {
    this.cells[square] = this.cells[square] === this.disc ? "-" : this.disc;
    this.board.draw();
  }

  /** Handle a key; returns whether it was for the set-up. @param {string} pressed */
  key(pressed) {
    const disc = /** @type {Record<string, "X"|"O"|"-">} */ ({ b: "X", w: "O", x: "-" })[pressed];
    if (disc) this.take(disc);
    else if (pressed === "Escape") this.end(false);
    else return pressed.length === 1 || ["Backspace", "ArrowLeft", "ArrowRight"].includes(pressed);
    return true;
  }

  /** @param {boolean} keep */
  end(keep) {
    this.controls.abort();
    byId("setup").hidden = true;
    byId("controls").hidden = false;
    this.board.setup = null;
    if (keep) {
      this.game.leave();
      this.game.reset(this.cells.join(""), this.side);
    } else this.board.draw();
  }
}
