// A game in which one learns, below the board: the choice of the opponent, warnings with their reasons, what came of it.

import { gradeOf } from "../engine/review.js";
import { PASS, colour, movesOf, other } from "../model/rules.js";
import { RATINGS } from "../model/store.js";
import { byId, el, fill, offer, press } from "../view/dom.js";
import { speak } from "../view/speak.js";
import { reasonText, sideName, t } from "../view/texts.js";

/** The losses in discs to be warned of, to choose from, and the one that is chosen at first. */
const LOSSES = [2, 4, 6, 10];
const USUAL_LOSS = 4;
/** Moves of a line that are shown: the later ones are a guess. */
const PLIES = 8;

/** @typedef {import("../main.js").App} App */
/** @typedef {import("../model/rules.js").Side} Side */

export class Lesson {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** Whether a game is being chosen. */
    this.choosing = false;
    /** What is told of the move warned of: "" for the warning alone. @type {""|"why"|"better"} */
    this.told = "";
    /** How many moves of its line are on the board. */
    this.count = 1;
    press("learn", () => this.choose(true));
    press("lesson-cancel", () => this.choose(false));
    press("lesson-back", () => this.takeBack());
    press("lesson-why", () => this.tell("why"));
    press("lesson-better", () => this.tell("better"));
    press("lesson-instead", () => this.place("best"));
    press("lesson-anyway", () => this.place("own"));
    press("lesson-again", () => this.choose(true));
    press("lesson-analyse", () => {
      app.pane("game");
      app.review.begin();
    });
    press("lesson-end", () => this.end());
    byId("lesson-form").addEventListener("submit", (/** @type {Event} */ event) => {
      event.preventDefault();
      this.begin();
    });
    app.game.on(() => this.draw());
    app.preferences.on(() => this.draw());
    this.labels();
    this.draw();
  }

  /** Draw the choices in the chosen language. */
  labels() {
    offer("lesson-rating", RATINGS.map((rating, at) => [rating, t(at ? "rated" : "ratedLeast", { rating })]));
    offer("lesson-warn", LOSSES.map((n) => [n, t("orMore", { n })]));
    this.preset();
  }

  /** Choose what was chosen last. */
  preset() {
    const { preferences } = this.app;
    byId("lesson-warn").value = preferences.get("warn") || USUAL_LOSS;
    byId("lesson-rating").value = preferences.get("strength") || RATINGS[0];
  }

  /** Forget the choice of a game, and a move that waits or is warned of. */
  close() {
    this.choosing = false;
    this.app.teacher.follow();
    this.draw();
  }

  /** Open or close the choice of a game. @param {boolean} open */
  choose(open) {
    if (open) {
      this.app.stopAll();
      this.app.teacher.prepare();
      this.preset();
    }
    this.choosing = open;
    this.draw();
    if (open) byId("lesson-form").querySelector(":checked").focus();
    byId("lesson").scrollIntoView({ block: "nearest" });
  }

  /** Begin the game that was chosen. */
  begin() {
    const { app } = this;
    const { preferences } = app;
    app.putAside();
    const own = byId("lesson-black").checked ? "black" : "white";
    preferences.set("warn", Number(byId("lesson-warn").value));
    preferences.set("strength", Number(byId("lesson-rating").value));
    app.people(own);
    preferences.set("hints", false);
    this.choosing = false;
    app.game.reset();
    speak(`${app.turnText()}. ${this.text()}`);
  }

  /** Go on without warnings, with a person on both sides. */
  end() {
    this.app.preferences.set("warn", 0);
    this.app.people();
  }

  /** Take back the move that the user is warned of; false if there is none. */
  takeBack() {
    if (!this.app.teacher.warning) return false;
    this.close();
    speak(this.app.turnText());
    return true;
  }

  /** Play the move warned of, or the best one. @param {"own"|"best"} which */
  place(which) {
    const { warning } = this.app.teacher;
    if (warning) this.app.place(warning[which].move);
  }

  /** Warn of the move that the teacher holds. */
  warn() {
    this.told = "";
    this.count = 1;
    this.draw();
    byId("lesson").scrollIntoView({ block: "nearest" });
    speak([this.text(), ...["takeBack", "showWhy", "playAnyway"].map((name) => t(name))].join(" "));
  }

  /** Show why the best move is better, beside the line of the user's move or of the best one; false if the user is not
   * warned now. @param {"why"|"better"} told */
  tell(told) {
    const { warning } = this.app.teacher;
    if (!warning) return false;
    this.told = told;
    this.count = told === "why" ? 2 : 1;
    this.draw();
    this.explain(warning);
    return true;
  }

  /** Ask the engine for the reasons, once, and read out what is shown. @param {import("../engine/teacher.js").Warning} warning */
  async explain(warning) {
    const { socket, game, teacher } = this.app;
    const asked = { board: game.board(), played: warning.own.pv, best: warning.best.pv };
    try {
      warning.reasons ??= (await socket.ask("explain", asked)).reasons;
    } catch (refusal) {
      this.app.complain(refusal);
    }
    if (teacher.warning !== warning) return;
    this.draw();
    byId("lesson").scrollIntoView({ block: "nearest" });
    speak([this.text(), ...this.reasons(), this.line().join(" ")].join(" "));
  }

  /** The line that is told: the best play after the move warned of, or after the best move. */
  line() {
    const { warning } = this.app.teacher;
    return movesOf((this.told === "better" ? warning?.best : warning?.own)?.pv ?? "").slice(0, PLIES);
  }

  /** Why the best move is better, as far as that is known, and how the game ends after both moves, in sentences. */
  reasons() {
    const { teacher, game } = this.app;
    const { warning } = teacher;
    if (!warning || !this.told) return [];
    const { own, best, reasons = [] } = warning;
    /** @param {import("../model/knowledge.js").Result} result */
    const end = ({ score }) => t(score > 0 ? "ahead" : score < 0 ? "behind" : "even", { n: Math.abs(score) });
    const about = { side: sideName(other(game.now.side)), move: own.move, instead: best.move };
    const ends = t("endsWith", { first: own.move, end: end(own), second: best.move, otherwise: end(best) });
    return [...reasons.map((reason) => reasonText(reason, about)), ends];
  }

  /** Which mistakes were avoided and made in a finished game; "" without a teacher. */
  summary() {
    const { teacher, game, preferences } = this.app;
    if (!teacher.side || !game.over) return "";
    const { made, lost, avoided, saved } = teacher.tally();
    const texts = [avoided ? t("avoided", { n: avoided, m: saved }) : "", made.length ? t("made", { n: made.length, m: lost }) : ""];
    return texts.join(" ").trim() || t("noWarnings", { n: preferences.get("warn") });
  }

  /** What stands first in the box. */
  text() {
    const { teacher, preferences } = this.app;
    const { warning, held, prepared } = teacher;
    if (held || (teacher.side && !prepared && !warning)) return [held && t("looksAt", { move: held }), prepared ? "" : t("prepares")].filter(Boolean).join(" ");
    if (!warning) return this.summary() || t("lessonOn", { n: preferences.get("warn") });
    if (this.told === "better") return t("isBetter", { move: warning.best.move });
    return t(warning.own.exact && warning.best.exact ? "warnsExact" : "warns", { move: warning.move, n: warning.lost });
  }

  /** Return how a side is called in a game with a teacher, "" elsewhere. @param {Side} side */
  nameOf(side) {
    const { teacher, preferences } = this.app;
    if (!teacher.side) return "";
    if (side === teacher.side) return t("you");
    const rating = preferences.get("strength");
    return rating ? t("rated", { rating }) : t("engine");
  }

  /** Return a button that shows the line up to a move. @param {string} move @param {number} at */
  step(move, at) {
    const side = at % 2 ? other(this.app.game.now.side) : this.app.game.now.side;
    const act = () => {
      this.count = at + 1;
      this.draw();
      byId("lesson-line").children[at].focus();
    };
    const said = move === PASS ? t("passed", { side: sideName(side) }) : `${sideName(side)} ${move}`;
    return el(
      "button",
      { class: "move", "aria-pressed": String(at + 1 === this.count), "aria-label": `${at + 1}. ${said}`, onclick: act },
      el("span", { class: `stone ${colour(side)}`, "aria-hidden": "true" }),
      ` ${move === PASS ? "–" : move}`,
    );
  }

  /** Return a button that leads to a mistake that was made. @param {{node: import("../model/game.js").Node, move: string, lost: number}} made */
  mistake({ node, move, lost }) {
    const text = `${node.ply + 1}. ${move} · ${t("lostDiscs", { n: lost })}`;
    return el("li", {}, el("button", { class: `mistake ${gradeOf(lost)}`, text, onclick: () => this.app.seek(node) }));
  }

  draw() {
    const { app, choosing } = this;
    const { warning, side } = app.teacher;
    const over = side !== "" && app.game.over;
    const focused = document.activeElement;
    if (!warning) this.told = "";
    byId("lesson").hidden = !choosing && !side;
    byId("play").classList.toggle("taught", Boolean(side && !choosing));
    byId("told").hidden = Boolean(warning);
    byId("lesson").classList.toggle("warns", Boolean(warning) && this.told !== "better");
    byId("lesson-form").hidden = !choosing;
    byId("lesson-box").classList.toggle("idle", !warning && !over);
    byId("lesson-box").hidden = choosing;
    byId("learn").hidden = side !== "";
    byId("controls").hidden = choosing || Boolean(warning || app.setup);
    app.board.pin(warning && { line: this.line(), count: this.count });
    byId("lesson-told").textContent = this.text();
    fill(byId("lesson-facts"), ...this.reasons().map((text) => el("li", { text })), ...(over ? app.teacher.tally().made.map((one) => this.mistake(one)) : []));
    const label = el("span", { class: "soft", text: t("pressMove") });
    fill(byId("lesson-line"), ...(this.told ? [...this.line().map((move, at) => this.step(move, at)), label] : []));
    const better = this.told === "better";
    byId("lesson-instead").textContent = t("playInstead", { move: (better && warning?.best.move) || "" });
    byId("lesson-back").classList.toggle("primary", !better);
    const shown = { back: warning, why: warning, better: warning && this.told, instead: better, anyway: warning && !better, again: over, analyse: over, mine: over, end: !warning };
    for (const [name, there] of Object.entries(shown)) byId(`lesson-${name}`).hidden = !there;
    for (const name of ["why", "better"]) byId(`lesson-${name}`).setAttribute("aria-pressed", this.told === name);
    // The focus does not go with what is hidden.
    if (focused && !focused.checkVisibility()) (warning ? byId("lesson-back") : app.board).focus();
  }
}
