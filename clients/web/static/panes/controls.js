// The controls below the board: steps through the game, other games, the board's orientation.

import { movesOf, nameOf } from "../model/rules.js";
import { byId, press } from "../view/dom.js";
import { complain, tell } from "../view/notice.js";
import { Setup } from "../view/setup.js";
import { t } from "../view/texts.js";

/** By symmetry in use: the one that shows the board turned another quarter to the right. */
const QUARTER = [6, 7, 4, 5, 1, 0, 3, 2];

/** @typedef {import("../main.js").App} App */

export class Controls {
  /** @param {Pick<App, "game"|"preferences"|"socket"|"board"|"player"|"moves">} page */
  constructor({ game, preferences, socket, board, player, moves }) {
    this.game = game;
    this.preferences = preferences;
    this.socket = socket;
    this.board = board;
    press("first", () => game.go(game.root));
    press("back", () => game.step(-1));
    press("forward", () => game.step(1));
    press("last", () => game.go(game.line().at(-1) ?? game.root));
    press("undo", () => player.undo());
    press("engine-plays", () => player.think());
    press("new-game", () => this.newGame());
    press("random-start", () => this.randomStart());
    press("set-up", () => this.beginSetup());
    press("rotate", () => this.rotate());
    press("mirror", () => this.mirror());
    press("hints", () => preferences.set("hints", !preferences.get("hints")));
    preferences.on(() => this.label(), "hints");
    board.on((square) => {
      if (board.setup) board.setup.press(square);
      else if (game.now.cells[square] === "-") moves.play(nameOf(square));
    }, "press");
    byId("typed").addEventListener("submit", (/** @type {Event} */ event) => {
      event.preventDefault();
      const input = byId("typed-move");
      const typed = movesOf(input.value);
      const rest = input.value.toLowerCase().replace(/[a-h][1-8]|p[as]|\d+\.|[\s,.-]/g, "");
      if (rest || !typed.length) tell(t("noMove", { text: input.value.trim() }));
      else typed.every((move) => moves.play(move));
      input.value = "";
    });
    this.label();
  }

  /** Show on its button whether hints are on. */
  label() {
    byId("hints").setAttribute("aria-pressed", this.preferences.get("hints"));
  }

  newGame() {
    this.game.leave();
    this.game.reset();
  }

  /** Start from a random opening. */
  async randomStart() {
    try {
      const { moves } = await this.socket.ask("web.start");
      this.game.leave();
      this.game.open({ moves }, true);
    } catch (refusal) {
      complain(refusal);
    }
  }

  beginSetup() {
    const { game, board } = this;
    if (board.setup) return;
    game.halt();
    board.setup = new Setup({ game, board });
    board.draw();
  }

  rotate() {
    this.preferences.set("symmetry", QUARTER[this.preferences.get("symmetry")]);
  }

  mirror() {
    const symmetry = this.preferences.get("symmetry");
    this.preferences.set("symmetry", symmetry ^ (symmetry & 4 ? 2 : 1));
  }
}
