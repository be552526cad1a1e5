// The browser's storage: preferences, the present game, and a list of games. Nothing is stored elsewhere.

import { Teller } from "./teller.js";

const PREFIX = "desdaemon.";

export const DEFAULTS = {
  language: "",
  theme: "",
  contrast: false,
  hints: true,
  most: 0,
  level: 16,
  endless: false,
  animate: true,
  black: "human",
  white: "human",
  playLevel: 8,
  strength: 0,
  contempt: 0,
  minutes: 0,
  gameLevel: 12,
  symmetry: 0,
  speakHints: false,
  letters: true,
  pane: "game",
  sure: true,
  warn: 0,
  practiceSource: "book",
  practiceSide: "X",
  practiceMoves: 12,
  practiceMargin: 0,
  practiceGames: 20,
};

/** The ratings of opponents to choose from. */
export const RATINGS = [100, 300, 500, 700, ...Array.from({ length: 9 }, (_, k) => 800 + 200 * k)];
/** In place of a rating: the opponent who keeps the game close. */
export const CLOSE = -1;

/** A test of a value, a pattern of a text, a list whose entries have one shape, or an object's parts.
 * @typedef {((value: any) => boolean)|RegExp|any[]|Record<string, any>} Shape */

/** @param {any} value @param {Shape} shape @returns {boolean} */
function fits(value, shape) {
  if (typeof shape === "function") return shape(value);
  if (shape instanceof RegExp) return typeof value === "string" && shape.test(value);
  if (Array.isArray(shape)) return Array.isArray(value) && value.every((one) => fits(one, shape[0]));
  return isObject(value) && Object.entries(shape).every(([name, part]) => fits(value[name], part));
}

/** @param {any} value */
const isObject = (value) => Object(value) === value && !Array.isArray(value);

/** Whole numbers. @param {number} least @param {number} [most] @returns {Shape} */
const whole =
  (least, most = Infinity) =>
  (value) =>
    Number.isInteger(value) && value >= least && value <= most;

/** A shape, or nothing. @param {Shape} shape @returns {Shape} */
const maybe = (shape) => (value) => (value ?? null) === null || fits(value, shape);

/** Objects whose values all have a shape. @param {Shape} shape @returns {Shape} */
const all = (shape) => (value) => isObject(value) && fits(Object.values(value), [shape]);

const ANY = () => true;
const TEXT = /^/;
const FLAG = (/** @type {any} */ value) => typeof value === "boolean";
const COUNT = whole(0);
const NUMBER = Number.isFinite;
const BOARD = /^[XO-]{64} [XO]$/;
const SIDE = /^[XO]$/;
const PLAYER = /^(human|engine)$/;
const LEARNT = { right: COUNT, due: NUMBER };
const COURSE = { board: BOARD, moves: TEXT, source: /^(book|games)$/, lines: [{ side: SIDE, moves: TEXT, ...LEARNT }] };
/** A move, a comment, and the trees after it. @param {any} value @returns {boolean} */
const TREE = (value) => fits(value, [ANY]) && fits(value.slice(0, 2), [TEXT]) && fits(value.slice(2), [TREE]);
const GAME = {
  id: maybe(NUMBER),
  about: maybe(all(TEXT)),
  board: maybe(/^([XO-]{64} [XO])?$/),
  tree: maybe(TREE),
  way: maybe([COUNT]),
  moves: maybe(TEXT),
};
const CURRENT = {
  ...GAME,
  tab: maybe(NUMBER),
  used: { X: NUMBER, O: NUMBER },
  paused: FLAG,
  practice: maybe({ ...COURSE, side: SIDE, at: TEXT, line: maybe(TEXT), asked: COUNT, missed: FLAG, ended: FLAG }),
};
/** By the kind of the default, and where that does not say it. @type {Record<string, Shape>} */
const PREFERENCES = {
  ...Object.fromEntries(
    Object.entries(DEFAULTS).map(([name, usual]) => [
      name,
      { string: TEXT, boolean: FLAG, number: COUNT }[typeof usual],
    ]),
  ),
  level: whole(1, 60),
  playLevel: whole(0, 60),
  contempt: whole(0, 64),
  gameLevel: whole(1, 60),
  strength: (/** @type {any} */ value) => [0, CLOSE, ...RATINGS].includes(value),
  symmetry: whole(0, 7),
  black: PLAYER,
  white: PLAYER,
  pane: /^(game|book|played|library|exercises|practice|server|settings)$/,
  practiceSource: COURSE.source,
  practiceSide: /^(X|X?O)$/,
};
const RESULT = { move: TEXT, score: NUMBER, depth: NUMBER, selectivity: NUMBER, exact: FLAG, pv: TEXT };
const SCORES = (/** @type {any} */ value) => fits(value, all(NUMBER)) && Object.keys(value).length > 0;

/** The shape of the entries of each store, by their keys where these matter.
 * @type {Record<string, (key: string) => Shape>} */
const SHAPES = {
  preferences: (key) => PREFERENCES[key] ?? ANY,
  current: (key) => /** @type {Record<string, Shape>} */ (CURRENT)[key] ?? ANY,
  known: (key) => (/^[XO-]{64}[XO]$/.test(key) ? [RESULT] : () => false),
  warned: () => all(NUMBER),
  games: () => GAME,
  practice: () => COURSE,
  exercises: () => ({ board: BOARD, scores: SCORES, about: TEXT, ...LEARNT }),
};

/** The names of stores of which something was put aside since the page was loaded. @type {Set<string>} */
export const unreadable = new Set();

/** Return what is stored under a name, a list or an object as the empty `none` is. Entries that are not what the page
 * stores there are put aside, so that what wrote them, an older page or somebody's script, cannot break this one.
 * @template T @param {string} name @param {T} none @returns {T} */
export function read(name, none) {
  /** @type {any} */
  let stored;
  try {
    stored = localStorage.getItem(PREFIX + name);
    stored = JSON.parse(stored);
  } catch {
    // No storage, or a text that is put aside as it is.
  }
  stored ??= none;
  const listed = Array.isArray(none);
  const alike = listed ? Array.isArray(stored) : isObject(stored);
  /** @type {[string, any][][]} */
  const [kept, rest] = [[], []];
  for (const [key, entry] of alike ? Object.entries(stored) : [])
    (readable(entry, SHAPES[name](key)) ? kept : rest).push([key, entry]);
  if (alike && !rest.length) return stored;
  /** @param {[string, any][]} entries @returns {any} */
  const joined = (entries) => (listed ? entries.map(([, entry]) => entry) : Object.fromEntries(entries));
  unreadable.add(name);
  write(name, joined(kept));
  write(`${name}.unreadable`, alike ? joined(rest) : stored);
  return joined(kept);
}

/** Return whether an entry has a shape; not one that is too deep to tell. @param {any} entry @param {Shape} shape */
function readable(entry, shape) {
  try {
    return fits(entry, shape);
  } catch {
    return false;
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

/** Preferences; a change is stored and told, first as an event of its name, then with it. */
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
    this.tell(value, name);
    this.tell(name);
  }

  /** Have a person play the colours named, the engine the others. @param {string} [colours] */
  people(colours = "black white") {
    for (const name of /** @type {const} */ (["black", "white"]))
      this.set(name, colours.includes(name) ? "human" : "engine");
  }
}
