// The tree of a game: a node for each position, with the moves tried there and a comment; one node is looked at.

import { Teller } from "./teller.js";
import { PASS, START, after, isOver, movesOf, mustPass, other } from "./rules.js";

/** @typedef {import("./rules.js").Side} Side */
/** @typedef {{move: string, cells: string, side: Side, ply: number, parent: Node|null, children: Node[],
 *   comment: string, line: Node|null, wrong: string[]}} Node  `line` is the child that "forward" goes to; `wrong` are
 *   the moves that were wrong answers here. */

/** @param {string} move @param {string} cells @param {Side} side @param {Node|null} parent @returns {Node} */
function made(move, cells, side, parent) {
  return {
    move,
    cells,
    side,
    ply: parent ? parent.ply + 1 : 0,
    parent,
    children: [],
    comment: "",
    line: null,
    wrong: [],
  };
}

/** Tells "moved" (another node is looked at), "played" (along an existing branch), "tree" (nodes were added, removed or
 * reordered), "new" (another game). Events of their own are "leave", "halt" and "noted". */
export class Game extends Teller {
  constructor() {
    super();
    this.begin();
  }

  /** Return a position's key in `Knowledge`. @param {Node} [node] */
  key(node = this.now) {
    return node.cells + node.side;
  }

  /** Return a position as the wire protocol writes it. @param {Node} [node] */
  board(node = this.now) {
    return `${node.cells} ${node.side}`;
  }

  /** Begin a game. @param {string} [cells] @param {Side} [side] */
  reset(cells = START, side = "X") {
    this.begin(`${cells} ${side}`);
    this.passWhereForced();
    this.tell("new");
  }

  /** Return the child by a move, a new one if need be; null for an illegal move.
   * @param {Node} node @param {string} move @returns {Node|null} */
  child(node, move) {
    const known = node.children.find((one) => one.move === move);
    if (known) return known;
    if (move === PASS && !mustPass(node.cells, node.side)) return null;
    const cells = after(node.cells, node.side, move);
    if (!cells) return null;
    const child = made(move, cells, other(node.side), node);
    node.children.push(child);
    return child;
  }

  /** Tell that another game is to come on the board. */
  leave() {
    this.tell(null, "leave");
  }

  /** Tell everything that goes on about the game to stop. */
  halt() {
    this.tell(null, "halt");
  }

  /** Comment on the position that is looked at. @param {string} comment */
  note(comment) {
    this.now.comment = comment;
    this.tell(null, "noted");
  }

  passWhereForced() {
    if (!mustPass(this.now.cells, this.now.side)) return;
    const passed = this.child(this.now, PASS);
    if (passed) this.enter(passed);
  }

  /** @param {Node} node */
  enter(node) {
    if (node.parent) node.parent.line = node;
    this.now = node;
  }

  /** Play a move and the forced passes after it. Returns false for an illegal move. @param {string} move */
  play(move) {
    const before = this.now.children.length;
    const child = this.child(this.now, move);
    if (!child) return false;
    const fresh = this.now.children.length > before;
    this.enter(child);
    this.passWhereForced();
    this.tell(fresh ? "tree" : "played");
    return true;
  }

  /** @param {Node} node */
  go(node) {
    if (node === this.now) return;
    this.now = node;
    for (let at = node; at.parent; at = at.parent) at.parent.line = at;
    this.tell("moved");
  }

  /** Go that many moves forward (or back) along the line, never stopping at a pass. @param {number} count */
  step(count) {
    let node = this.now;
    for (let left = Math.abs(count); left; left--) {
      let next = count > 0 ? this.next(node) : node.parent;
      if (next && next.children.length && mustPass(next.cells, next.side))
        next = count > 0 ? this.next(next) : (next.parent ?? next);
      if (!next) break;
      node = next;
    }
    this.go(node);
  }

  /** @param {Node} node @returns {Node|null} */
  next(node) {
    return node.line ?? node.children[0] ?? null;
  }

  /** Return the nodes of the present line, from the root on. @returns {Node[]} */
  line() {
    const nodes = [];
    for (let node = this.now; node; node = /** @type {Node} */ (node.parent)) nodes.unshift(node);
    for (let node = this.next(this.now); node; node = this.next(node)) nodes.push(node);
    return nodes;
  }

  /** Go to the next branch (1) or the one before (-1) at the last fork on the way here, if there is one; after the last
   * branch comes the first. @param {number} by */
  branch(by) {
    let node = this.now;
    while (node.parent && node.parent.children.length < 2) node = node.parent;
    if (!node.parent) return;
    const among = node.parent.children;
    this.go(among[(among.indexOf(node) + by + among.length) % among.length]);
  }

  /** Go back, to a turn of `side` if given, and remove the moves taken back. @param {Side} [side] */
  undo(side) {
    let node = this.now;
    if (node.move === PASS && node.parent) node = node.parent;
    while (side && node.parent?.parent && (node.parent.side !== side || node.move === PASS)) node = node.parent;
    const parent = node.parent;
    if (!parent) return;
    parent.children = parent.children.filter((one) => one !== node);
    parent.line = null;
    this.now = parent;
    this.tell("tree");
  }

  /** Make this branch the first one at each fork that leads to it. */
  promote() {
    for (let node = this.now; node.parent; node = node.parent) {
      node.parent.children = [node, ...node.parent.children.filter((one) => one !== node)];
    }
    this.tell("tree");
  }

  get over() {
    return isOver(this.now.cells);
  }

  /** Return the moves to a node, passes included. @param {Node} [node] */
  moves(node = this.now) {
    let moves = "";
    for (let at = node; at.parent; at = at.parent) moves = at.move + moves;
    return moves;
  }

  /** Return the game as plain data, for the browser's storage. */
  save() {
    /** @param {Node} node @returns {any} */
    const pack = (node) => [node.move, node.comment, ...node.children.map(pack)];
    const way = [];
    for (let node = this.now; node.parent; node = node.parent) way.unshift(node.parent.children.indexOf(node));
    return { id: this.id, about: this.about, board: this.board(this.root), tree: pack(this.root), way };
  }

  /** @param {string} [board] @param {{black?: string, white?: string, event?: string, date?: string}|null} [about]
   * @param {number} [id] */
  begin(board, about, id = 0) {
    const { black = "", white = "", event = "", date = "" } = about ?? {};
    const [cells, side] = (board || `${START} X`).split(" ");
    this.about = { black, white, event, date };
    /** The number of its row in the list of games, 0 without one. */
    this.id = id;
    this.root = this.now = made("", cells, /** @type {Side} */ (side), null);
  }

  /** Replace the game by data of `save`; moves that are not legal are left out. @param {any} data */
  load(data) {
    this.begin(data.board, data.about, data.id);
    /** @param {Node} node @param {any[]} packed */
    const unpack = (node, packed) => {
      node.comment = packed[1];
      for (const one of packed.slice(2)) {
        const child = this.child(node, one[0]);
        if (child) unpack(child, one);
      }
    };
    unpack(this.root, data.tree);
    for (const at of data.way ?? []) if (this.now.children[at]) this.enter(this.now.children[at]);
    this.tell("new");
  }

  /** Begin with a board and moves as the gateway reads them, up to the first illegal one, and look at the start or,
   * `toEnd`, the end.
   * @param
   * {{id?: number, board?: string, moves?: string, black?: string, white?: string, event?: string, date?: string}} data
   * @param {boolean} [toEnd] */
  open(data, toEnd = false) {
    this.begin(data.board, data, data.id);
    for (const move of movesOf(data.moves ?? "")) {
      if (move !== PASS && mustPass(this.now.cells, this.now.side)) this.passWhereForced();
      const child = this.child(this.now, move);
      if (!child) break;
      this.enter(child);
    }
    this.passWhereForced();
    if (!toEnd) this.now = this.root;
    this.tell("new");
  }
}
