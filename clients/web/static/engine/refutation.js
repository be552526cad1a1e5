// What a move is worth, and how the game goes on after it.

import { PASS, finalScore, isOver, movesOf } from "../model/rules.js";

/** Return the score of the move that led to a node, for the side that played it, and the best line after it.
 * @param {import("../main.js").App} app @param {import("../model/game.js").Node} node
 * @returns {Promise<{score: number, line: string}>} */
export async function refutation(app, node) {
  if (isOver(node.cells)) return { score: (node.side === "X" ? -1 : 1) * finalScore(node.cells), line: "" };
  const asked = { board: app.game.board(node), level: app.preferences.get("level"), book: "use" };
  const [reply] = (await app.socket.ask("analyze", asked)).moves;
  return { score: -reply.score, line: movesOf(reply.pv).filter((move) => move !== PASS).join(" ") };
}
