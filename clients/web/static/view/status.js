// What stands around the board: players, discs, clocks, whose turn it is, the opening, the best line, the connection.

import { SIDES, START, after, colour, discs, movesOf, other } from "../model/rules.js";
import { CLOSE } from "../model/store.js";
import { told } from "./board.js";
import { byId } from "./dom.js";
import { sideName, t, turnText } from "./texts.js";

/** @typedef {import("../main.js").App} App */
/** @typedef {import("../model/rules.js").Side} Side */

export class Status {
  /** @param {Pick<App, "game"|"knowledge"|"preferences"|"socket"|"openings"|"player"|"board">} page */
  constructor({ game, knowledge, preferences, socket, openings, player, board }) {
    this.game = game;
    this.knowledge = knowledge;
    this.preferences = preferences;
    this.socket = socket;
    this.openings = openings;
    this.player = player;
    player.on((yes) => this.thinking(yes), "thinking");
    player.on(() => this.clocks(), "clock");
    board.on(({ result, move }) => this.hovered(result, move), "hover");
    preferences.on(() => this.connection(), "language");
    socket.on(() => this.connection(), "connection");
    socket.on(() => this.chip(t("shut"), "bad"), "shut");
  }

  draw() {
    const { game } = this;
    for (const [at, count] of discs(game.now.cells).entries()) {
      const side = SIDES[at];
      const name = byId(`${colour(side)}-name`);
      byId(`${colour(side)}-discs`).textContent = count;
      name.textContent = name.title = game.about[colour(side)] || this.nameOf(side);
      byId(`${colour(side)}-player`).classList.toggle("turn", !game.over && game.now.side === side);
    }
    byId("board").setAttribute("aria-label", t("boardLabel"));
    document.body.classList.toggle("unplayed", !game.root.children.length);
    byId("new-game").hidden = !game.root.children.length && game.root.cells === START;
    if (!this.player.running) byId("told").textContent = turnText(game);
    this.hovered(null);
    this.clocks();
  }

  clocks() {
    for (const side of SIDES) byId(`${colour(side)}-clock`).textContent = this.player.clock(side);
  }

  /** @param {boolean} yes */
  thinking(yes) {
    byId("engine-plays").setAttribute("aria-busy", yes);
    byId("told").textContent = yes ? t("thinking") : turnText(this.game);
  }

  /** Return how a side is called that has no name: in a game against the engine by who plays it.
   * @param {Side} side */
  nameOf(side) {
    const { preferences } = this;
    const own = preferences.get(colour(side));
    if (own === preferences.get(colour(other(side)))) return sideName(side);
    if (own === "human") return t("you");
    const rating = preferences.get("strength");
    return rating === CLOSE ? t("closeName") : rating ? t("rated", { rating }) : t("engine");
  }

  /** Show in words what the move pointed at is worth, or the best one, with its best line, and the opening that it
   * leads to.
   * @param {import("../model/knowledge.js").Result|null} result @param {string} [move] */
  hovered(result, move = "") {
    const { now } = this.game;
    const cells = move && after(now.cells, now.side, move);
    const name = cells && this.openings.nameOf(cells, other(now.side));
    byId("opening").textContent = name ? `${move}: ${name}` : this.openings.last(now);
    const shown = result ?? this.knowledge.best(this.game.key());
    const hints = this.preferences.get("hints") && shown;
    byId("line").textContent = hints
      ? `${shown.move} ${told(shown)} · ${t("line")}: ${movesOf(shown.pv).join(" ")}`
      : "";
  }

  connection() {
    const { connected } = this.socket;
    this.chip(t(connected ? "connected" : "disconnected"), connected ? "good" : "bad");
  }

  /** @param {string} text @param {string} kind */
  chip(text, kind) {
    byId("connection").textContent = text;
    byId("connection").className = `chip ${kind}`;
  }
}
