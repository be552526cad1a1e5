// The names of openings.

import { canonical } from "../model/rules.js";
import { Game } from "../model/game.js";
import { chosen } from "./texts.js";

export class Openings {
  constructor() {
    /** By position. @type {Map<string, Record<string, string[]>>} */
    this.names = new Map();
  }

  /** Take the openings that the gateway knows. @param {{moves: string, names: Record<string, string[]>}[]} openings */
  take(openings) {
    for (const { moves, names } of openings) {
      const line = new Game();
      line.open({ moves }, true);
      this.names.set(canonical(line.now.cells, line.now.side), names);
    }
  }

  /** Return a position's name in the chosen language, "" without one. @param {string} cells @param {"X"|"O"} side */
  nameOf(cells, side) {
    const language = { en: "english", ja: "japanese", fr: "french" }[chosen()] ?? "english";
    const names = this.names.get(canonical(cells, side));
    return names ? (names[language]?.length ? names[language] : names.english)[0] : "";
  }

  /** Return the name of the last named position on the way to a node, "" without one.
   * @param {import("../model/game.js").Node} last */
  last(last) {
    for (let node = /** @type {any} */ (last); node; node = node.parent) {
      const name = this.nameOf(node.cells, node.side);
      if (name) return name;
    }
    return "";
  }
}
