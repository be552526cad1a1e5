// The pane of exercises: the position is on the board, where the one good move is to be found; question and verdict
// stand below it.

import { Exercises, rightMoves } from "../model/exercises.js";
import { colour } from "../model/rules.js";
import { steps } from "../engine/review.js";
import { byId, press } from "../view/dom.js";
import { complain, tell } from "../view/notice.js";
import { t, turnText } from "../view/texts.js";
import { Why, furnish } from "../view/why.js";

/** The least loss in discs of a move that becomes an exercise. */
const LOST = 4;

/** @typedef {import("../main.js").App} App */

export class ExercisePane {
  /** @param {Pick<App, "game"|"knowledge"|"preferences"|"socket"|"board"|"moves"|"tabs">} page */
  constructor({ game, knowledge, preferences, socket, board, moves, tabs }) {
    this.game = game;
    this.knowledge = knowledge;
    this.preferences = preferences;
    this.socket = socket;
    this.moves = moves;
    this.tabs = tabs;
    this.exercises = new Exercises();
    /** The move that was last tried in this exercise. */
    this.tried = "";
    /** Whether an answer to this exercise counted already. */
    this.counted = false;
    this.note = "";
    furnish("exercise", "nextExercise");
    this.why = new Why({ game, preferences, socket, board }, "exercise", () => this.draw());
    /** The search of the exercises that are being made of the game on the board.
     * @type {ReturnType<import("../engine/socket.js").Socket["ask"]>|null} */
    this.making = null;
    game.on((told) => this.follow(told));
    game.on(() => this.making?.cancel(), "halt");
    preferences.on(() => this.draw(), "language");
    tabs.on(() => this.draw());
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
      await this.files(event.target.files);
      event.target.value = "";
    });
    this.draw();
  }

  /** The exercise that the game on the board begins with. */
  get current() {
    const { game } = this;
    return this.exercises.of(game.board(game.root));
  }

  /** @param {Iterable<File>} files */
  async files(files) {
    for (const file of files) await this.read(await file.text());
  }

  /** Have the gateway read problems in OBF, keep them, and begin. @param {string} text */
  async read(text) {
    try {
      const { exercises, complaints } = await this.socket.ask("web.exercises", { text });
      const room = this.exercises.add(exercises);
      this.tabs.show("exercises");
      this.next();
      const told = [t("exercisesRead", { n: exercises.length }), ...(room ? [] : [t("noRoom")])];
      tell([...told, ...complaints.slice(0, 3)].join(" · "));
    } catch (refusal) {
      complain(refusal);
    }
  }

  /** Return the known moves of the game on the board by which a person lost much. */
  mistakes() {
    const { game, preferences } = this;
    return steps(this)
      .filter(({ node, lost }) => lost >= LOST && preferences.get(colour(node.side)) === "human")
      .map(({ node, lost }) => ({ node, lost, move: game.next(node)?.move ?? "" }));
  }

  /** Make exercises of these mistakes, in which the engine judges all moves, and ask the first one; while that goes on,
   * stop it. */
  async make() {
    const { game, exercises } = this;
    this.tabs.show("exercises");
    if (this.making) {
      this.making.cancel();
      return;
    }
    try {
      const mistakes = this.mistakes();
      const made = [];
      for (const [done, { node, lost, move }] of mistakes.entries()) {
        const board = game.board(node);
        if (exercises.of(board)) continue;
        const level = this.preferences.get("gameLevel");
        this.making = this.socket.ask("analyze", { board, multipv: 64, level, book: "ignore" });
        this.note = t("jobProgress", { phase: t("mistakes"), done, total: mistakes.length });
        this.draw();
        const { moves } = await this.making;
        const scores = Object.fromEntries(moves.map((/** @type {any} */ one) => [one.move, one.score]));
        const about = `${node.ply + 1}. ${move} · ${t("lostDiscs", { n: lost })}`;
        if (!rightMoves({ scores }).includes(move)) made.push({ board, scores, about });
      }
      this.making = null;
      // Later it may begin with an exercise.
      if (made.length) game.leave();
      const room = exercises.add(made);
      const boards = mistakes.map(({ node }) => game.board(node));
      const first = made[0]?.board ?? boards.find((board) => exercises.of(board));
      if (first) this.begin(first);
      else this.note = t(steps(this).some((step) => step.judged) ? "mineFew" : "mineNone", { n: LOST });
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
    const { game, exercises } = this;
    this.tabs.show("exercises");
    if (exercises.list.length) this.begin(exercises.next(game.board(game.root)).board);
  }

  /** Put an exercise on the board, without hints and with a person on both sides. @param {string} board */
  begin(board) {
    const { game, preferences } = this;
    game.leave();
    game.halt();
    preferences.people();
    preferences.set("hints", false);
    game.open({ board });
  }

  /** Say in which column the move is. */
  hint() {
    const one = this.current;
    if (!one) return;
    this.game.go(this.game.root);
    this.note = t("exerciseHint", { column: rightMoves(one)[0][0] });
    this.draw();
  }

  /** Play the best move; that counts as a wrong answer. */
  answer() {
    const one = this.current;
    if (!one) return;
    this.count(one, false);
    this.game.go(this.game.root);
    this.moves.play(rightMoves(one)[0]);
  }

  /** Go back to the position of the exercise. */
  goBack() {
    this.why.take(null);
    this.game.go(this.game.root);
    this.draw();
  }

  /** Show why the move that was tried is wrong, or what comes after the right one. */
  async explain() {
    const { game, tried } = this;
    const one = this.current;
    if (!one || !tried) return;
    const { root, now } = game;
    const right = rightMoves(one);
    try {
      const found = await this.why.compared(root, tried, right.includes(tried) ? tried : right[0]);
      if (game.now !== now) return;
      game.go(root);
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
    const { game } = this;
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
    if (!this.tried) return `${turnText(this.game)}: ${t("exerciseFind")}`;
    return t(rightMoves(one).includes(this.tried) ? "exerciseRight" : "exerciseWrong", { move: this.tried });
  }

  draw() {
    const one = this.current;
    const { list } = this.exercises;
    const asked = one && this.preferences.get("pane") === "exercises";
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
