// Moves on the board, by whoever plays there: they are told and read out.

import { PASS, colour, flips, other, squareOf } from "../model/rules.js";
import { tell } from "../view/notice.js";
import { speak } from "../view/speak.js";
import { resultText, t } from "../view/texts.js";

/** @typedef {import("../main.js").App} App */

export class Moves {
  /** @param {Pick<App, "game"|"teacher">} page */
  constructor({ game, teacher }) {
    this.game = game;
    this.teacher = teacher;
    teacher.on((move) => this.play(move), "released");
  }

  /** Play a move of the user's; false for an illegal one, and for one that the teacher holds. @param {string} move */
  play(move) {
    return !this.teacher.holds(move) && this.place(move);
  }

  /** Play a move; false for an illegal one. @param {string} move */
  place(move) {
    const { game, teacher } = this;
    const { cells, side } = game.now;
    if (!game.play(move)) {
      tell(t("illegal", { move }));
      return false;
    }
    const n = flips(cells, side, squareOf(move)).length;
    const parts = [t("played", { side: t(colour(side)), move, n })];
    if (game.now.move === PASS) parts.push(t("passed", { side: t(colour(other(game.now.side))) }));
    if (game.over) parts.push(resultText(game), teacher.summary());
    speak(parts.filter(Boolean).join(". "));
    return true;
  }
}
