// Links to a position: #b=board&m=moves behind the address, which browsers do not send to the gateway.

import { START } from "./rules.js";

/** @typedef {import("./game.js").Game} Game */

/** @param {Game} game */
export function fragment(game) {
  const parts = new URLSearchParams();
  const first = game.board(game.root);
  if (first !== `${START} X`) parts.set("b", first);
  const moves = game.moves();
  if (moves) parts.set("m", moves);
  const text = parts.toString();
  return text ? `#${text}` : "";
}

/** Return the board and moves in a fragment, "" for either; null without both, and for a wrong board.
 * @param {string} text */
export function parsed(text) {
  const parts = new URLSearchParams(text.replace(/^#/, ""));
  const board = parts.get("b") ?? "";
  const moves = parts.get("m") ?? "";
  if (!board && !moves) return null;
  if (board && !/^[XO-]{64} [XO]$/.test(board)) return null;
  return { board, moves };
}
