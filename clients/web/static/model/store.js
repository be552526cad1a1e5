// The browser's storage: preferences, the present game, and a list of games. Nothing is stored elsewhere.

import { Teller } from "./teller.js";

const PREFIX = "desdaemon.";

export const DEFAULTS = {
  language: "", theme: "", contrast: false, hints: true, most: 0, level: 16, endless: false, animate: true,
  black: "human", white: "human", playLevel: 8, strength: 0, minutes: 0, gameLevel: 12, symmetry: 0, speakHints: false, letters: true,
  pane: "game", sure: true, warn: 0, practiceSource: "book", practiceSide: "X", practiceMoves: 12, practiceMargin: 0, practiceGames: 20,
};

/** The ratings of opponents to choose from. */
export const RATINGS = Array.from({ length: 9 }, (_, k) => 800 + 200 * k);

/** @param {string} name @param {any} otherwise */
export function read(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name) ?? "null") ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** Store a value; false if the browser has no room. @param {string} name @param {any} value */
export function write(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/** Preferences; a change is stored and its name told. */
export class Preferences extends Teller {
  constructor() {
    super();
    this.values = { ...DEFAULTS, ...read("preferences", {}) };
  }

  /** @param {keyof typeof DEFAULTS} name */
  get(name) {
    return this.values[name];
  }

  /** @param {keyof typeof DEFAULTS} name @param {any} value */
  set(name, value) {
    if (this.values[name] === value) return;
    /** @type {any} */ (this.values)[name] = value;
    write("preferences", this.values);
    this.tell(name);
  }
}
