// The rules of the game, for instant flips; the daemon's `legal` decides.

/** @typedef {"X"|"O"} Side  X is Black, O is White. */

/** The standard start: squares a1, b1 … h8, X black, O white, - empty. */
export const START = "-".repeat(27) + "OX" + "-".repeat(6) + "XO" + "-".repeat(27);
export const PASS = "pa";

const STEPS = [
  [1, 0],
  [1, 1],
  [0, 1],
  [-1, 1],
  [-1, 0],
  [-1, -1],
  [0, -1],
  [1, -1],
];

/** @param {number} square 0..63 @returns {string} such as d3 */
export const nameOf = (square) => "abcdefgh"[square % 8] + ((square >> 3) + 1);

/** @param {string} name such as d3 or D3 @returns {number} 0..63, -1 for anything else */
export function squareOf(name) {
  const parts = /^([a-h])([1-8])$/i.exec(name.trim());
  return parts ? "abcdefgh".indexOf(parts[1].toLowerCase()) + 8 * (Number(parts[2]) - 1) : -1;
}

export const SIDES = /** @type {Side[]} */ (["X", "O"]);

/** @param {Side} side */
export const colour = (side) => (side === "X" ? "black" : "white");

/** @param {Side} side @returns {Side} */
export const other = (side) => (side === "X" ? "O" : "X");

/** Return the squares of the discs that a move turns; [] for an illegal move.
 * @param {string} cells @param {Side} side @param {number} square @returns {number[]} */
export function flips(cells, side, square) {
  const turned = [];
  if (cells[square] !== "-") return turned;
  const opponent = other(side);
  for (const [x, y] of STEPS) {
    const run = [];
    let column = (square % 8) + x;
    let row = (square >> 3) + y;
    while (column >= 0 && column < 8 && row >= 0 && row < 8) {
      const at = 8 * row + column;
      if (cells[at] === opponent) run.push(at);
      else {
        if (cells[at] === side) turned.push(...run);
        break;
      }
      column += x;
      row += y;
    }
  }
  return turned;
}

/** @param {string} cells @param {Side} side @returns {number[]} */
export function legalMoves(cells, side) {
  const squares = [];
  for (let square = 0; square < 64; square++) if (flips(cells, side, square).length) squares.push(square);
  return squares;
}

/** Return the cells after a move; null for an illegal move. @param {string} cells @param {Side} side
 * @param {string} move */
export function after(cells, side, move) {
  if (move === PASS) return cells;
  const square = squareOf(move);
  const turned = square < 0 ? [] : flips(cells, side, square);
  if (!turned.length) return null;
  const squares = [...cells];
  for (const at of [square, ...turned]) squares[at] = side;
  return squares.join("");
}

/** @param {string} cells @param {Side} side */
export const mustPass = (cells, side) => !legalMoves(cells, side).length && legalMoves(cells, other(side)).length > 0;

/** @param {string} cells */
export const isOver = (cells) => !legalMoves(cells, "X").length && !legalMoves(cells, "O").length;

/** @param {string} cells @returns {[number, number]} Black's and White's discs */
export function discs(cells) {
  let black = 0;
  let white = 0;
  for (const cell of cells) {
    if (cell === "X") black++;
    else if (cell === "O") white++;
  }
  return [black, white];
}

/** Return Black's final score, empty squares given to the winner. @param {string} cells */
export function finalScore(cells) {
  const [black, white] = discs(cells);
  const empty = 64 - black - white;
  return black === white ? 0 : black > white ? black - white + empty : black - white - empty;
}

/** Return the moves in a text such as f5d6c3, in lower case; other text is passed over. @param {string} text
 * @returns {string[]} */
export const movesOf = (text) =>
  text
    .toLowerCase()
    .match(/[a-h][1-8]|pa|ps/g)
    ?.map((one) => (one === "ps" ? PASS : one)) ?? [];

/** Return a square under a symmetry 0..7: bit 0 mirrors files, bit 1 ranks, bit 2 swaps both.
 * @param {number} square @param {number} symmetry */
export function turned(square, symmetry) {
  let column = square % 8;
  let row = square >> 3;
  if (symmetry & 1) column = 7 - column;
  if (symmetry & 2) row = 7 - row;
  return symmetry & 4 ? 8 * column + row : 8 * row + column;
}

/** Return a text that a position's eight images share: the least of their squares, the side to move as X.
 * @param {string} cells @param {Side} side */
export function canonical(cells, side) {
  const seen = side === "X" ? cells : cells.replace(/[XO]/g, (disc) => (disc === "X" ? "O" : "X"));
  let least = "";
  for (let symmetry = 0; symmetry < 8; symmetry++) {
    const image = new Array(64);
    for (let square = 0; square < 64; square++) image[turned(square, symmetry)] = seen[square];
    const text = image.join("");
    if (!least || text < least) least = text;
  }
  return least;
}
