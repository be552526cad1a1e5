// The pane of exercises: the position is on the board, the one good move is to be found there.

import { Exercises, bestMoves } from "../model/exercises.js";
import { refutation } from "../engine/refutation.js";
import { byId } from "../view/dom.js";
import { t } from "../view/texts.js";

/** @typedef {import("../main.js").App} App */

export class ExercisePane {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.exercises = new Exercises();
    /** The move that was last tried in this exercise. */
    this.tried = "";
    /** Whether an answer to this exercise counted already. */
    this.counted = false;
    this.why = "";
    app.game.addEventListener("change", (event) => this.follow(/** @type {CustomEvent} */ (event).detail));
    byId("exercise-next").addEventListener("click", () => this.next());
    byId("exercise-hint").addEventListener("click", () => this.hint());
    byId("exercise-answer").addEventListener("click", () => this.answer());
    byId("exercise-why").addEventListener("click", () => this.explain());
    byId("exercise-clear").addEventListener("click", () => {
      if (!confirm(t("sureForgetExercises", { n: this.exercises.list.length }))) return;
      this.exercises.clear();
      this.draw();
    });
    byId("exercise-file").addEventListener("change", async (/** @type {any} */ event) => {
      for (const file of event.target.files) await this.read(await file.text());
      event.target.value = "";
    });
    this.draw();
  }

  /** The exercise that the game on the board begins with. */
  get current() {
    const { game } = this.app;
    return this.exercises.of(game.board(game.root));
  }

  /** Have the gateway read problems in OBF, keep them, and begin. @param {string} text */
  async read(text) {
    try {
      const { exercises, complaints } = await this.app.socket.ask("web.exercises", { text });
      const room = this.exercises.add(exercises);
      this.app.pane("exercises");
      this.next();
      this.app.tell([t("exercisesRead", { n: exercises.length }), ...(room ? [] : [t("noRoom")]), ...complaints.slice(0, 3)].join(" · "));
    } catch (refusal) {
      this.app.complain(refusal);
    }
  }

  /** Put the exercise that is due first on the board, without hints and with a person on both sides. */
  next() {
    const { app } = this;
    app.pane("exercises");
    if (!this.exercises.list.length) return;
    const one = this.exercises.next(app.game.board(app.game.root));
    app.stopAll();
    for (const side of /** @type {const} */ (["black", "white"])) app.preferences.set(side, "human");
    app.preferences.set("hints", false);
    app.game.open({ board: one.board });
  }

  /** Say in which column the move is. */
  hint() {
    const one = this.current;
    if (!one) return;
    this.app.game.go(this.app.game.root);
    this.why = t("exerciseHint", { column: bestMoves(one)[0][0] });
    this.draw();
  }

  /** Play the best move; that counts as a wrong answer. */
  answer() {
    const one = this.current;
    if (!one) return;
    this.count(one, false);
    this.app.game.go(this.app.game.root);
    this.app.play(bestMoves(one)[0]);
  }

  /** Show the best line after the move that was tried, and what it lost. */
  async explain() {
    const { app, tried } = this;
    const one = this.current;
    const node = app.game.line()[1];
    if (!one || !tried || !node) return;
    const best = one.scores[bestMoves(one)[0]];
    try {
      const { score, line } = await refutation(app, node);
      if (tried !== this.tried) return;
      this.why = t(bestMoves(one).includes(tried) ? "whyRight" : "whyWrong", { move: tried, n: Math.max(0, best - score), line });
      this.draw();
    } catch (refusal) {
      app.complain(refusal);
    }
  }

  /** @param {import("../model/exercises.js").Exercise} one @param {boolean} right */
  count(one, right) {
    if (!this.counted) this.exercises.answer(one, right, Date.now());
    this.counted = true;
  }

  /** React to a change of the game; its first move is an answer. @param {string} kind as in `Game.tell` */
  follow(kind) {
    const one = this.current;
    const { game } = this.app;
    if (kind === "new") this.counted = false;
    const tried = (one && game.now !== game.root && game.line()[1]?.move) || "";
    if (tried !== this.tried) this.why = "";
    if (one && tried && tried !== this.tried) this.count(one, bestMoves(one).includes(tried));
    this.tried = tried;
    this.draw();
  }

  /** What is to be done, or how the answer was. */
  told() {
    const one = this.current;
    const { list } = this.exercises;
    if (!list.length) return t("exercisesNone");
    if (!one) return t("exercisesReady");
    if (!this.tried) return t(this.app.game.root.side === "X" ? "exerciseBlack" : "exerciseWhite");
    return t(bestMoves(one).includes(this.tried) ? "exerciseRight" : "exerciseWrong", { move: this.tried });
  }

  draw() {
    const one = this.current;
    const { list } = this.exercises;
    byId("exercise-told").textContent = this.told();
    byId("exercise-line").textContent = this.why;
    byId("exercise-about").textContent = one && bestMoves(one).includes(this.tried) ? one.about : "";
    byId("exercise-count").textContent = list.length ? t("exercisesDue", { n: this.exercises.due(Date.now()), m: list.length }) : "";
    byId("exercise-clear").hidden = byId("exercise-next").hidden = !list.length;
    for (const name of ["hint", "answer"]) byId(`exercise-${name}`).hidden = !one;
    byId("exercise-why").hidden = !one || !this.tried;
  }
}
