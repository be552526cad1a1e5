// The pane of what people played here: moves with results, and games. Without an index of games there is no tab.

import { Game } from "../model/game.js";
import { Teller } from "../model/teller.js";
import { byId, el, fill, signed } from "../view/dom.js";
import { complain } from "../view/notice.js";
import { t } from "../view/texts.js";

/** Games that are listed. */
const GAMES = 50;

/** @typedef {import("../main.js").App} App */

/** Tells whether there is an index of games, once that is known of a daemon. */
export class PlayedPane extends Teller {
  /** @param {Pick<App, "game"|"socket"|"moves"|"tabs">} page */
  constructor({ game, socket, moves, tabs }) {
    super();
    this.game = game;
    this.socket = socket;
    this.moves = moves;
    this.tabs = tabs;
    this.asked = 0;
    /** Whether the daemon has an index of games. */
    this.there = false;
    game.on(() => this.look());
    tabs.on(() => this.look());
    byId("played-filter").addEventListener("submit", (/** @type {Event} */ event) => {
      event.preventDefault();
      this.look();
    });
  }

  /** Show or hide the tab after a connection. @param {any} hello */
  async greet(hello) {
    this.there = Boolean(hello.ops.includes("games.get") && (await this.ask({})));
    byId("tab-played").hidden = !this.there;
    byId("games-missing").hidden = this.there;
    this.tell(this.there);
    if (this.there) await this.look();
    else if (!byId("pane-played").hidden) this.tabs.show("game");
  }

  /** Return what was played on the board; null without an index. @param {any} args */
  ask(args) {
    return this.socket.ask("games.get", { board: this.game.board(), ...args }).catch((refusal) => {
      if (refusal.code === "not_found") return null;
      throw refusal;
    });
  }

  /** Ask about the position on the board, with the filter. */
  async look() {
    if (byId("pane-played").hidden || byId("tab-played").hidden) return;
    const asked = ++this.asked;
    const args = /** @type {Record<string, any>} */ ({ games: GAMES });
    for (const input of byId("played-filter").querySelectorAll("input")) {
      if (input.value.trim()) args[input.name] = input.type === "number" ? Number(input.value) : input.value.trim();
    }
    try {
      const found = await this.ask(args);
      if (asked === this.asked) this.show(found ?? { moves: [], games: [] });
    } catch (refusal) {
      if (/** @type {any} */ (refusal).code !== "connection_lost") complain(refusal);
    }
  }

  /** @param {any} found */
  show(found) {
    const focused = byId("pane-played").querySelector("tr :focus");
    byId("played-none").hidden = found.moves.length > 0;
    byId("played-table").hidden = byId("played-list").hidden = !found.moves.length;
    fill(byId("played-rows"), ...found.moves.flatMap((/** @type {any} */ one) => this.rows(one)));
    fill(byId("played-games"), ...found.games.flatMap((/** @type {any} */ one) => this.listed(one)));
    // The button that had the focus is gone.
    if (focused) (byId("played-rows").querySelector("button") ?? byId("tab-played")).focus();
  }

  /** Return a row that begins with a button, and below it a row of text.
   * @param {any} button its attributes @param {any[]} cells texts @param {string} more */
  pair(button, cells, more) {
    button = el("button", button);
    return [
      el("tr", { class: "led" }, el("th", { scope: "row" }, button), ...cells.map((text) => el("td", { text }))),
      el("tr", { class: "more" }, el("td", { colspan: cells.length + 1, text: more })),
    ];
  }

  /** @param {any} one */
  rows(one) {
    const known = one.wins + one.draws + one.losses;
    const parts = [one.wins, one.draws, one.losses].map((part) =>
      known ? `${((100 * part) / known).toFixed(0)}\u00a0%` : "",
    );
    const mean = one.mean === null ? "" : signed(Math.round(10 * one.mean) / 10);
    const years = one.last > one.first ? `${one.first}–${one.last}` : (one.last ?? "");
    const players = one.players.map((/** @type {any} */ player) => `${player.name} ${player.games}`).join(", ");
    const play = { class: "move", text: one.move, onclick: () => this.moves.play(one.move) };
    return this.pair(play, [one.games, ...parts, mean, years], players && `${t("oftenBy")} ${players}`);
  }

  /** @param {any} one */
  listed(one) {
    // 1 and -1 are wins without discs.
    const points =
      Math.abs(one.result ?? 0) === 1
        ? [(1 + one.result) / 2, (1 - one.result) / 2]
        : [32 + one.result / 2, 32 - one.result / 2];
    const result = one.result === null ? "?" : points.join("–");
    const open = { class: "open", text: `${one.black || "?"} – ${one.white || "?"}`, onclick: () => this.open(one) };
    return this.pair(open, [result, one.move], [one.year, one.event, one.file].filter(Boolean).join(" · "));
  }

  /** Put a listed game on the board, where it was found; how it goes on the index tells move by move.
   * @param {any} one */
  async open(one) {
    const { game } = this;
    const { black, white, event, year } = one;
    const { ply } = game.now;
    const data = {
      board: game.board(game.root),
      moves: game.moves(),
      black,
      white,
      event,
      date: String(year ?? ""),
    };
    const found = new Game();
    found.open(data, true);
    const named = { games: GAMES, ...(black && { black }), ...(white && { white }) };
    /** @param {any} other */
    const same = (other) =>
      ["black", "white", "year", "event", "file", "result"].every((name) => other[name] === one[name]);
    try {
      for (let { move } = one; move && found.play(move);) {
        move = (await this.ask({ board: found.board(), ...named }))?.games.find(same)?.move;
      }
    } catch (refusal) {
      complain(refusal);
      return;
    }
    game.leave();
    game.open({ ...data, moves: found.moves() });
    game.step(ply);
  }
}
