// What the browser keeps: preferences, the game at hand, and a list of games. Nothing else is stored anywhere.

const PREFIX = "desdaemon.";

export const DEFAULTS = {
  language: "", theme: "", contrast: false, hints: true, most: 0, level: 16, endless: false, animate: true,
  black: "human", white: "human", playLevel: 8, minutes: 0, gameLevel: 12, symmetry: 0, speakHints: false, letters: true,
  pane: "game", sure: true,
};

/** @param {string} name @param {any} otherwise */
export function read(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name) ?? "null") ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** False where the browser keeps nothing more. @param {string} name @param {any} value */
export function write(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/** Preferences as an object whose changes are kept and told. */
export class Preferences extends EventTarget {
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
    this.dispatchEvent(new CustomEvent("change", { detail: name }));
  }
}
