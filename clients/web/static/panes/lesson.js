// A game in which one learns, below the board: the choice of the opponent, warnings with reasons, what came of it.

import { gradeOf } from "../engine/review.js";
import { colour, other } from "../model/rules.js";
import { CLOSE, RATINGS } from "../model/store.js";
import { byId, el, offer, press } from "../view/dom.js";
import { speak } from "../view/speak.js";
import { t, turnText } from "../view/texts.js";
import { Why } from "./why.js";

/** The losses in discs to be warned of, to choose from, and the one that is chosen at first. */
const LOSSES = [2, 4, 6, 10];
const USUAL_LOSS = 4;

/** @typedef {import("../main.js").App} App */
/** @typedef {import("../model/rules.js").Side} Side */

export class Lesson {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** Whether a game is being chosen. */
    this.choosing = false;
    this.why = new Why(app, "lesson", () => this.draw());
    press("play-game", () => this.choose(true, 0));
    press("learn", () => this.choose(true));
    press("lesson-cancel", () => this.choose(false));
    press("lesson-back", () => this.takeBack());
    press("lesson-why", () => this.why.tell("why"));
    press("lesson-better", () => this.why.tell("better"));
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
    const rated = RATINGS.map((rating, at) => [rating, t(at ? "rated" : "ratedLeast", { rating })]);
    offer("lesson-rating", [...rated, [CLOSE, t("keepsClose")], [0, t("engine")]]);
    // Of which scale the ratings are is told where one of them is chosen.
    const list = byId("lesson-rating");
    const scale = el("optgroup", { label: t("ratedScale") }, ...[...list.options].slice(0, RATINGS.length));
    list.prepend(scale);
    offer("lesson-warn", [[0, t("never")], ...LOSSES.map((n) => [n, t("orMore", { n })])]);
    this.preset();
  }

  /** Choose what was chosen last. @param {number} [warn] 0 for a game without warnings */
  preset(warn = this.app.preferences.get("warn") || USUAL_LOSS) {
    const { preferences } = this.app;
    byId("lesson-warn").value = warn;
    byId("lesson-rating").value = preferences.get("strength") || RATINGS[0];
  }

  /** Forget the choice of a game, and a move that waits or is warned of. */
  close() {
    this.choosing = false;
    this.app.teacher.follow();
    this.draw();
  }

  /** Open or close the choice of a game. @param {boolean} open @param {number} [warn] as in `preset` */
  choose(open, warn) {
    if (open) {
      this.app.stopAll();
      this.app.teacher.prepare();
      this.preset(warn);
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
    speak([turnText(app.game), app.teacher.side && this.text()].filter(Boolean).join(". "));
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
    speak(turnText(this.app.game));
    return true;
  }

  /** Play the move warned of, or the best one. @param {"own"|"best"} which */
  place(which) {
    const { warning } = this.app.teacher;
    if (warning) this.app.place(warning[which].move);
  }

  /** Warn of the move that the teacher holds. */
  warn() {
    this.draw();
    byId("lesson").scrollIntoView({ block: "nearest" });
    speak([this.text(), ...["takeBack", "showWhy", "playAnyway"].map((name) => t(name))].join(" "));
  }

  /** Which mistakes were avoided and made in a finished game; "" without a teacher. */
  summary() {
    const { teacher, game, preferences } = this.app;
    if (!teacher.side || !game.over) return "";
    const { made, lost, avoided, saved } = teacher.tally();
    const texts = [
      avoided ? t("avoided", { n: avoided, m: saved }) : "",
      made.length ? t("made", { n: made.length, m: lost }) : "",
    ];
    return texts.join(" ").trim() || t("noWarnings", { n: preferences.get("warn") });
  }

  /** What stands first in the box. */
  text() {
    const { teacher, preferences } = this.app;
    const { warning, held, prepared } = teacher;
    if (held || (teacher.side && !prepared && !warning)) {
      return [held && t("looksAt", { move: held }), prepared ? "" : t("prepares")].filter(Boolean).join(" ");
    }
    if (!warning) return this.summary() || t("lessonOn", { n: preferences.get("warn") });
    return this.why.told === "better" ? t("isBetter", { move: warning.best.move }) : this.why.text();
  }

  /** Return how a side is called in a game against the engine, "" elsewhere. @param {Side} side */
  nameOf(side) {
    const { preferences } = this.app;
    const own = preferences.get(colour(side));
    if (own === preferences.get(colour(other(side)))) return "";
    if (own === "human") return t("you");
    const rating = preferences.get("strength");
    return rating === CLOSE ? t("closeName") : rating ? t("rated", { rating }) : t("engine");
  }

  /** Return a button that leads to a mistake that was made.
   * @param {{node: import("../model/game.js").Node, move: string, lost: number}} made */
  mistake({ node, move, lost }) {
    const text = `${node.ply + 1}. ${move} · ${t("lostDiscs", { n: lost })}`;
    return el("li", {}, el("button", { class: `mistake ${gradeOf(lost)}`, text, onclick: () => this.app.seek(node) }));
  }

  draw() {
    const { app, choosing } = this;
    const { warning, side } = app.teacher;
    const over = side !== "" && app.game.over;
    const focused = document.activeElement;
    this.why.take(warning);
    const better = this.why.told === "better";
    byId("lesson").hidden = !choosing && !side;
    byId("told").hidden = Boolean(warning);
    byId("lesson").classList.toggle("warns", Boolean(warning) && !better);
    byId("lesson-form").hidden = !choosing;
    byId("lesson-box").classList.toggle("idle", !warning && !over);
    byId("lesson-box").hidden = choosing || !side;
    for (const name of ["learn", "play-game"]) byId(name).hidden = side !== "";
    byId("controls").hidden = choosing || Boolean(warning || app.setup);
    byId("lesson-told").textContent = this.text();
    this.why.draw(over ? app.teacher.tally().made.map((one) => this.mistake(one)) : []);
    byId("lesson-instead").textContent = t("playInstead", { move: (better && warning?.best.move) || "" });
    byId("lesson-back").classList.toggle("primary", !better);
    const shown = {
      back: warning,
      why: warning,
      better: warning && this.why.told,
      instead: better,
      anyway: warning && !better,
      again: over,
      analyse: over,
      mine: over,
      end: !warning,
    };
    for (const [name, there] of Object.entries(shown)) byId(`lesson-${name}`).hidden = !there;
    for (const name of ["why", "better"]) byId(`lesson-${name}`).setAttribute("aria-pressed", this.why.told === name);
    // The focus does not go with what is hidden.
    if (focused && !focused.checkVisibility()) (warning ? byId("lesson-back") : app.board).focus();
  }
}
