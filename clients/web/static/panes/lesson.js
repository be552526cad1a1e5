// A game in which one learns, below the board: the choice of the opponent, warnings with reasons, what came of it.

import { gradeOf } from "../engine/review.js";
import { CLOSE, RATINGS } from "../model/store.js";
import { byId, el, offer, press } from "../view/dom.js";
import { speak } from "../view/speak.js";
import { t, turnText } from "../view/texts.js";
import { Why } from "../view/why.js";

/** The losses in discs to be warned of, to choose from, and the one that is chosen at first. */
const LOSSES = [2, 4, 6, 10];
const USUAL_LOSS = 4;

/** @typedef {import("../main.js").App} App */

export class Lesson {
  /** @param {Pick<App, "game"|"preferences"|"socket"|"board"|"moves"|"teacher"|"review"|"tabs">} page */
  constructor({ game, preferences, socket, board, moves, teacher, review, tabs }) {
    this.game = game;
    this.preferences = preferences;
    this.board = board;
    this.moves = moves;
    this.teacher = teacher;
    /** Whether a game is being chosen. */
    this.choosing = false;
    this.why = new Why({ game, preferences, socket, board }, "lesson", () => this.draw());
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
      tabs.show("game");
      review.begin();
    });
    press("lesson-end", () => this.end());
    byId("lesson-form").addEventListener("submit", (/** @type {Event} */ event) => {
      event.preventDefault();
      this.begin();
    });
    game.on(() => this.draw());
    game.on(() => this.close(), "halt");
    teacher.on(() => this.draw());
    teacher.on(() => this.warn(), "warned");
    preferences.on(() => this.labels(), "language");
    preferences.on(() => this.draw());
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
  preset(warn = this.preferences.get("warn") || USUAL_LOSS) {
    const { preferences } = this;
    byId("lesson-warn").value = warn;
    byId("lesson-rating").value = preferences.get("strength") || RATINGS[0];
  }

  /** Forget the choice of a game, and a move that waits or is warned of. */
  close() {
    this.choosing = false;
    this.teacher.follow();
    this.draw();
  }

  /** Open or close the choice of a game. @param {boolean} open @param {number} [warn] as in `preset` */
  choose(open, warn) {
    if (open) {
      this.game.halt();
      this.teacher.prepare();
      this.preset(warn);
    }
    this.choosing = open;
    this.draw();
    if (open) byId("lesson-form").querySelector(":checked").focus();
    byId("lesson").scrollIntoView({ block: "nearest" });
  }

  /** Begin the game that was chosen. */
  begin() {
    const { game, preferences, teacher } = this;
    game.leave();
    const own = byId("lesson-black").checked ? "black" : "white";
    preferences.set("warn", Number(byId("lesson-warn").value));
    preferences.set("strength", Number(byId("lesson-rating").value));
    preferences.people(own);
    preferences.set("hints", false);
    this.choosing = false;
    game.reset();
    speak([turnText(game), teacher.side && this.text()].filter(Boolean).join(". "));
  }

  /** Go on without warnings, with a person on both sides. */
  end() {
    this.preferences.set("warn", 0);
    this.preferences.people();
  }

  /** Take back the move that the user is warned of; false if there is none. */
  takeBack() {
    if (!this.teacher.warning) return false;
    this.close();
    speak(turnText(this.game));
    return true;
  }

  /** Play the move warned of, or the best one. @param {"own"|"best"} which */
  place(which) {
    const { warning } = this.teacher;
    if (warning) this.moves.place(warning[which].move);
  }

  /** Warn of the move that the teacher holds. */
  warn() {
    this.draw();
    byId("lesson").scrollIntoView({ block: "nearest" });
    speak([this.text(), ...["takeBack", "showWhy", "playAnyway"].map((name) => t(name))].join(" "));
  }

  /** What stands first in the box. */
  text() {
    const { teacher, preferences } = this;
    const { warning, held, prepared } = teacher;
    if (held || (teacher.side && !prepared && !warning)) {
      return [held && t("looksAt", { move: held }), prepared ? "" : t("prepares")].filter(Boolean).join(" ");
    }
    if (!warning) return teacher.summary() || t("lessonOn", { n: preferences.get("warn") });
    return this.why.told === "better" ? t("isBetter", { move: warning.best.move }) : this.why.text();
  }

  /** Return a button that leads to a mistake that was made.
   * @param {{node: import("../model/game.js").Node, move: string, lost: number}} made */
  mistake({ node, move, lost }) {
    const text = `${node.ply + 1}. ${move} · ${t("lostDiscs", { n: lost })}`;
    const onclick = () => this.board.seek(node);
    return el("li", {}, el("button", { class: `mistake ${gradeOf(lost)}`, text, onclick }));
  }

  draw() {
    const { board, choosing, teacher } = this;
    const { warning, side } = teacher;
    const over = side !== "" && this.game.over;
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
    byId("controls").hidden = choosing || Boolean(warning || board.setup);
    byId("lesson-told").textContent = this.text();
    this.why.draw(over ? teacher.tally().made.map((one) => this.mistake(one)) : []);
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
    if (focused && !focused.checkVisibility()) (warning ? byId("lesson-back") : board).focus();
  }
}
