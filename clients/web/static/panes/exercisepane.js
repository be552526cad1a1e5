// The pane of exercises: the position is on the board, where the one good move is to be found; question and verdict
// stand below it.

import { Exercises, rightMoves } from "../model/exercises.js";
import { colour } from "../model/rules.js";
import { steps } from "../engine/review.js";
import { byId, press } from "../view/dom.js";
import { complain, tell } from "../view/notice.js";
import { t, turnText } from "../view/texts.js";
import { Why, compared, furnish } from "./why.js";

/** The least loss in discs of a move that becomes an exercise. */
const LOST = 4;

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
    this.note = "";
    furnish("exercise", "nextExercise");
    this.why = new Why(app, "exercise", () => this.draw());
    /** The search of the exercises that are being made of the game on the board.
     * @type {ReturnType<import("../engine/socket.js").Socket["ask"]>|null} */
    this.making = null;
    app.game.on((told) => this.follow(told));
    for (const name of ["begin", "next"]) press(`exercise-${name}`, () => this.next());
    press("exercise-back", () => this.goBack());
    press("exercise-hint", () => this.hint());
    press("exercise-answer", () => this.answer());
    press("exercise-why", () => this.explain());
    for (const place of ["exercise", "mistakes", "lesson"]) press(`${place}-mine`, () => this.make());
    press("exercise-clear", () => {
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
      const told = [t("exercisesRead", { n: exercises.length }), ...(room ? [] : [t("noRoom")])];
      tell([...told, ...complaints.slice(0, 3)].join(" · "));
    } catch (refusal) {
      complain(refusal);
    }
  }

  /** Return the known moves of the game on the board by which a person lost much. */
  mistakes() {
    const { game, preferences } = this.app;
    return steps(this.app)
      .filter(({ node, lost }) => lost >= LOST && preferences.get(colour(node.side)) === "human")
      .map(({ node, lost }) => ({ node, lost, move: game.next(node)?.move ?? "" }));
  }

  /** Make exercises of these mistakes, in which the engine judges all moves, and ask the first one; while that goes on,
   * stop it. */
  async make() {
    const { app, exercises } = this;
    app.pane("exercises");
    if (this.making) {
      this.making.cancel();
      return;
    }
    try {
      const mistakes = this.mistakes();
      const made = [];
      for (const [done, { node, lost, move }] of mistakes.entries()) {
        const board = app.game.board(node);
        if (exercises.of(board)) continue;
        const level = app.preferences.get("gameLevel");
        this.making = app.socket.ask("analyze", { board, multipv: 64, level, book: "ignore" });
        this.note = t("jobProgress", { phase: t("mistakes"), done, total: mistakes.length });
        this.draw();
        const { moves } = await this.making;
        const scores = Object.fromEntries(moves.map((/** @type {any} */ one) => [one.move, one.score]));
        const about = `${node.ply + 1}. ${move} · ${t("lostDiscs", { n: lost })}`;
        if (!rightMoves({ scores }).includes(move)) made.push({ board, scores, about });
      }
      this.making = null;
      // Later it may begin with an exercise.
      if (made.length) app.putAside();
      const room = exercises.add(made);
      const boards = mistakes.map(({ node }) => app.game.board(node));
      const first = made[0]?.board ?? boards.find((board) => exercises.of(board));
      if (first) this.begin(first);
      else this.note = t(steps(app).some((step) => step.judged) ? "mineFew" : "mineNone", { n: LOST });
      if (made.length) tell([t("exercisesMade", { n: made.length }), ...(room ? [] : [t("noRoom")])].join(" · "));
    } catch (refusal) {
      this.making = null;
      this.note = "";
      complain(refusal);
    }
    this.draw();
  }

  /** Ask the exercise that is due first. */
  next() {
    const { app, exercises } = this;
    app.pane("exercises");
    if (exercises.list.length) this.begin(exercises.next(app.game.board(app.game.root)).board);
  }

  /** Put an exercise on the board, without hints and with a person on both sides. @param {string} board */
  begin(board) {
    const { app } = this;
    app.putAside();
    app.stopAll();
    app.people();
    app.preferences.set("hints", false);
    app.game.open({ board });
  }

  /** Say in which column the move is. */
  hint() {
    const one = this.current;
    if (!one) return;
    this.app.game.go(this.app.game.root);
    this.note = t("exerciseHint", { column: rightMoves(one)[0][0] });
    this.draw();
  }

  /** Play the best move; that counts as a wrong answer. */
  answer() {
    const one = this.current;
    if (!one) return;
    this.count(one, false);
    this.app.game.go(this.app.game.root);
    this.app.play(rightMoves(one)[0]);
  }

  /** Go back to the position of the exercise. */
  goBack() {
    this.why.take(null);
    this.app.game.go(this.app.game.root);
    this.draw();
  }

  /** Show why the move that was tried is wrong, or what comes after the right one. */
  async explain() {
    const { app, tried } = this;
    const one = this.current;
    if (!one || !tried) return;
    const { root, now } = app.game;
    const right = rightMoves(one);
    try {
      const found = await compared(app, root, tried, right.includes(tried) ? tried : right[0]);
      if (app.game.now !== now) return;
      app.game.go(root);
      this.why.take(found);
      this.why.tell("why");
    } catch (refusal) {
      complain(refusal);
    }
  }

  /** @param {import("../model/exercises.js").Exercise} one @param {boolean} right */
  count(one, right) {
    if (!this.counted) this.exercises.answer(one, right, Date.now());
    this.counted = true;
  }

  /** React to a change of the game; its first move is an answer. @param {string} kind as `Game` tells it */
  follow(kind) {
    const one = this.current;
    const { game } = this.app;
    if (kind === "new") this.counted = false;
    this.why.take(null);
    const tried = (one && game.now !== game.root && game.line()[1]?.move) || "";
    if (!one || tried !== this.tried) this.note = "";
    if (one && tried && tried !== this.tried) {
      const right = rightMoves(one).includes(tried);
      this.count(one, right);
      if (!right) game.root.wrong.push(tried);
    }
    this.tried = tried;
    this.draw();
  }

  /** What is to be done, or how the answer was. */
  told() {
    const one = this.current;
    const { list } = this.exercises;
    if (!list.length) return t("exercisesNone");
    if (!one) return t("exercisesReady");
    if (this.why.moves) return this.why.text();
    if (!this.tried) return `${turnText(this.app.game)}: ${t("exerciseFind")}`;
    return t(rightMoves(one).includes(this.tried) ? "exerciseRight" : "exerciseWrong", { move: this.tried });
  }

  draw() {
    const one = this.current;
    const { list } = this.exercises;
    const asked = one && this.app.preferences.get("pane") === "exercises";
    if (!asked) this.why.take(null);
    const answer = this.why.moves?.move ?? this.tried;
    const right = Boolean(one && rightMoves(one).includes(answer));
    byId("exercise").hidden = !asked;
    byId(asked ? "exercise-told" : "exercise-ready").textContent = this.told();
    byId(asked ? "exercise-note" : "exercise-made").textContent = this.note;
    byId("exercise-about").textContent = one && right ? one.about : "";
    const due = { n: this.exercises.due(Date.now()), m: list.length };
    byId("exercise-count").textContent = list.length ? t("exercisesDue", due) : "";
    for (const name of ["ready", "made", "begin", "mine"]) byId(`exercise-${name}`).hidden = Boolean(one);
    if (!list.length) byId("exercise-begin").hidden = true;
    byId("exercise-clear").hidden = !list.length;
    byId("exercise-mine").textContent = t(this.making ? "stop" : "mine");
    byId("exercise-back").hidden = !this.why.moves && (!this.tried || right);
    byId("exercise-next").classList.toggle("primary", right);
    byId("exercise-why").hidden = !this.tried;
    for (const name of ["hint", "answer"]) byId(`exercise-${name}`).hidden = right;
    this.why.draw();
  }
}
