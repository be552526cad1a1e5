// The pane of practice: lines of an opening are asked back, the page playing the other side; questions and verdicts
// stand below the board.

import { Practice, bookChoices, drawn, gamesChoices, plies, reached, way } from "../model/practice.js";
import { PASS, isOver, movesOf } from "../model/rules.js";
import { DAY_MS, dueFirst, dueOf } from "../model/repetition.js";
import { Game } from "../model/game.js";
import { AGAIN_MS } from "../engine/socket.js";
import { byId, el, fill, offer, press, signed } from "../view/dom.js";
import { complain, tell } from "../view/notice.js";
import { t, turnText } from "../view/texts.js";
import { Why, furnish } from "../view/why.js";

/** Milliseconds for which a wrong move stays on the board. */
const WRONG_MS = 900;

/** @typedef {import("../main.js").App} App */
/** @typedef {import("../model/game.js").Node} Node */
/** @typedef {import("../model/practice.js").Course} Course */
/** @typedef {import("../model/practice.js").Choice} Choice */
/** @typedef {import("../model/practice.js").Line} Line */
/** @typedef {import("../model/rules.js").Side} Side */

/** A line that is being asked. `node` is where it has come to; `choices` are the moves there, null while it is not the
 * user's turn; `line` is one that is asked again, `way` its positions; `tried` is a wrong move that was tried at
 * `node`.
 * @typedef {{course: Course, side: Side, node: Node, choices: Choice[]|null, line: Line|null, way: string[],
 *   asked: number, missed: boolean, tried: string, why: string, done: Line|null, ended: boolean}} Run */

export class PracticePane {
  /** @param {Pick<App, "game"|"preferences"|"socket"|"openings"|"board"|"moves"|"tabs">} page
   * @param {any} before the run that the page had before it was loaded anew, as `saved` returned it */
  constructor({ game, preferences, socket, openings, board, moves, tabs }, before) {
    this.game = game;
    this.preferences = preferences;
    this.socket = socket;
    this.openings = openings;
    this.board = board;
    this.moves = moves;
    this.tabs = tabs;
    /** Whether the daemon has an index of games. */
    this.people = false;
    this.practice = new Practice();
    /** @type {Run|null} */
    this.run = null;
    furnish("practice", "nextLine");
    this.why = new Why({ game, preferences, socket, board }, "practice", () => this.draw());
    this.before = before ?? null;
    /** Why nothing is asked, "" if something is; and what is missing for it. */
    this.nothing = "";
    this.missing = "";
    /** Whether the last question to the source was refused only for the moment. */
    this.refused = false;
    /** Whether this pane itself puts a game on the board. */
    this.opening = false;
    game.on((told) => this.follow(told));
    preferences.on(() => this.label(), "language");
    preferences.on(() => this.draw());
    tabs.on(() => this.draw());
    press("practice-begin", () => this.begin());
    press("practice-next", () => this.next());
    press("practice-back", () => this.goBack());
    press("practice-why", () => this.explain());
    press("practice-hint", () => this.hint());
    press("practice-answer", () => this.answer());
    this.label();
  }

  /** Draw the choices in the chosen language, and everything else. */
  label() {
    const { preferences } = this;
    offer(
      "practice-source",
      [
        ["book", t("paneBook")],
        ["games", t("panePlayed")],
      ],
      preferences.get("practiceSource"),
    );
    const people = byId("practice-source").options[1];
    people.disabled = !this.people;
    if (!this.people) people.textContent += ` (${t("gamesMissing")})`;
    offer(
      "practice-side",
      [
        ["X", t("nameBlack")],
        ["O", t("nameWhite")],
        ["XO", t("bothSides")],
      ],
      preferences.get("practiceSide"),
    );
    this.draw();
  }

  /** @param {boolean} there whether the daemon has an index of games */
  offerPeople(there) {
    this.people = there;
    this.label();
  }

  // Runs

  /** Practise from the position on the board. */
  begin() {
    const { game, preferences } = this;
    this.ask(this.practice.course(game.board(game.root), game.moves(), preferences.get("practiceSource")));
  }

  /** Ask the next line of the same course; without one begin. */
  next() {
    if (this.run) this.ask(this.run.course, this.run.done);
    else this.begin();
  }

  /** Ask a line of a course: one that is due, another than `last` if there is one, else a new one.
   * @param {Course} course @param {Line|null} [last] */
  async ask(course, last = null) {
    const { game, preferences } = this;
    const sides = /** @type {Side[]} */ ([...preferences.get("practiceSide")]);
    const lines = course.lines.filter((one) => sides.includes(one.side));
    const line = dueFirst(dueOf(lines, Date.now()), last ?? undefined) ?? null;
    /** @param {Side} one */
    const count = (one) => lines.filter((line) => line.side === one).length;
    sides.sort((one, two) => count(one) - count(two));
    this.tabs.show("practice");
    const before = game.now;
    const side = line?.side ?? (await this.withNew(course, sides));
    if (side === null || game.now !== before) return;
    this.nothing = side ? "" : this.unasked(course, lines);
    if (!side) {
      this.run = null;
      this.draw();
      return;
    }
    game.leave();
    game.halt();
    preferences.people();
    preferences.set("hints", false);
    this.opening = true;
    game.open({ board: course.board, moves: course.moves }, true);
    this.opening = false;
    this.run = this.started(course, side, game.now, line);
    this.step();
  }

  /** @param {Course} course @param {Side} side @param {Node} node @param {Line|null} line @returns {Run} */
  started(course, side, node, line) {
    return {
      course,
      side,
      node,
      choices: null,
      line,
      way: line ? way(course, line.moves) : [],
      asked: 0,
      missed: false,
      tried: "",
      why: "",
      done: null,
      ended: false,
    };
  }

  /** Return the run as plain data, for the browser's storage. */
  saved() {
    const { run } = this;
    if (!run) return this.before;
    const { course, side, node, asked, missed, ended } = run;
    return {
      ...course,
      lines: [],
      side,
      at: this.game.moves(node),
      line: (run.done ?? run.line)?.moves,
      asked,
      missed,
      ended,
    };
  }

  /** Go on with the run that the page had before it was loaded anew, if its game is on the board. */
  goOn() {
    const { before: saved } = this;
    this.before = null;
    const { game } = this;
    const node =
      saved && game.board(game.root) === saved.board && game.line().find((one) => game.moves(one) === saved.at);
    if (!node || this.run) return;
    const { side, asked, missed, ended } = saved;
    const course = this.practice.course(saved.board, saved.moves, saved.source);
    const line = course.lines.find((one) => one.side === side && one.moves === saved.line) ?? null;
    this.run = { ...this.started(course, side, node, line), asked, missed, ended, done: ended ? line : null };
    if (ended) this.draw();
    else this.step();
  }

  /** Return the first of these sides that has a line that it was not asked; "" if none has, null without an answer.
   * @param {Course} course @param {Side[]} sides @returns {Promise<Side|""|null>} */
  async withNew(course, sides) {
    for (const side of sides) {
      const found = await this.hasNew(course, side);
      if (found === null) return null;
      if (found) return side;
    }
    return "";
  }

  /** Return whether a course has a line that a side was not asked: a first one, or a reply that no line has had; null
   * without an answer. @param {Course} course @param {Side} side */
  async hasNew(course, side) {
    const lines = course.lines.filter((one) => one.side === side);
    const known = new Set(lines.flatMap((one) => way(course, one.moves)));
    const game = new Game();
    for (const moves of new Set(["", ...lines.map((one) => one.moves)])) {
      game.open({ board: course.board, moves: course.moves + moves }, true);
      for (const node of game.line().slice(movesOf(course.moves).length)) {
        const own = node.side === side;
        const first = !lines.length && !moves;
        if (
          (own && !first) ||
          isOver(node.cells) ||
          plies(game.moves(node).slice(course.moves.length)) >= this.preferences.get("practiceMoves")
        )
          continue;
        const choices = await this.choices(course.source, game.board(node));
        if (!choices) return null;
        if (choices.some((one) => (own ? one.right : one.weight) && !known.has(reached(node, one.move)))) return true;
      }
    }
    return false;
  }

  /** Return why a course has nothing to ask. @param {Course} course @param {Line[]} lines those of the sides to ask */
  unasked(course, lines) {
    const days = (Math.min(...lines.map((one) => one.due)) - Date.now()) / DAY_MS;
    if (lines.length) return t("practiceAll", { n: lines.length, d: Math.max(1, Math.round(days)) });
    return t(course.source === "book" ? "practiceNoBook" : this.missing ? "gamesMissing" : "practiceNoGames");
  }

  /** Go on from where the line has come to: reply, wait for the user's move, or end. @param {string} [why] what is told
   * of the move before */
  async step(why = "") {
    const run = /** @type {Run} */ (this.run);
    run.choices = null;
    run.tried = "";
    run.why = why;
    const own = run.node.side === run.side;
    const moves = this.movesOf(run);
    const at = movesOf(moves).length;
    const over = run.line ? at + 1 >= run.way.length : !own && plies(moves) >= this.preferences.get("practiceMoves");
    const choices =
      over || isOver(run.node.cells) ? [] : await this.choices(run.course.source, this.game.board(run.node));
    if (this.run !== run) return;
    if (choices) this.take(run, choices, at);
    else if (this.refused) setTimeout(() => this.run === run && this.step(why), AGAIN_MS);
    else this.run = null;
    this.draw();
  }

  /** Reply, ask, or end, with what the source knows of the position. @param {Run} run @param {Choice[]} choices
   * @param {number} at number of moves so far, passes included */
  take(run, choices, at) {
    const { game } = this;
    const own = run.node.side === run.side;
    if (game.now !== run.node) game.go(run.node);
    const usable = choices.filter((one) => (own ? one.right : one.weight));
    if (!usable.length) this.end(run);
    else if (own) {
      run.choices = choices;
      run.asked++;
    } else {
      this.moves.place(this.reply(run, usable, at).move);
      run.node = game.now;
      this.step(run.why);
    }
  }

  /** Return the moves of a line up to where it has come. @param {Run} run */
  movesOf(run) {
    return this.game.moves(run.node).slice(run.course.moves.length);
  }

  /** Return what a source knows of a position, and note what is missing for it; null without an answer.
   * @param {Course["source"]} source @param {string} board */
  async choices(source, board) {
    const { socket, preferences } = this;
    const book = source === "book";
    this.missing = "";
    try {
      const found = await socket.ask(book ? "book.get" : "games.get", { board });
      if (book && !found.found && (await socket.ask("status")).book.state !== "open") this.missing = t("bookNone");
      return book
        ? bookChoices(found, preferences.get("practiceMargin"))
        : gamesChoices(found, preferences.get("practiceGames"));
    } catch (refusal) {
      if (/** @type {any} */ (refusal).code !== "not_found") {
        this.refused = /** @type {any} */ (refusal).passing;
        complain(refusal);
        return null;
      }
      this.missing = /** @type {any} */ (refusal).message;
      return [];
    }
  }

  /** Choose the reply: that of the line, else one that no line has had yet, if there is one.
   * @param {Run} run @param {Choice[]} choices @param {number} at number of moves so far, passes included */
  reply(run, choices, at) {
    const same = run.line && choices.find((one) => reached(run.node, one.move) === run.way[at + 1]);
    if (same) return same;
    this.leave(run);
    const known = new Set(
      run.course.lines.filter((one) => one.side === run.side).flatMap((one) => way(run.course, one.moves)),
    );
    const fresh = choices.filter((one) => !known.has(reached(run.node, one.move)));
    return drawn(fresh.length ? fresh : choices, Math.random());
  }

  /** Forget the line that was to be asked again: it is left, or no longer there. @param {Run} run */
  leave(run) {
    run.course.lines = run.course.lines.filter((one) => one !== run.line);
    run.line = null;
  }

  /** Note how the line was answered, if anything was asked. @param {Run} run */
  end(run) {
    const moves = this.movesOf(run);
    run.ended = true;
    if (run.line && run.line.moves.length > moves.length) this.leave(run);
    if (!run.asked) return;
    run.done = this.practice.answer(run.course, run.side, moves, !run.missed, Date.now());
    if (!this.practice.save()) tell(t("noRoom"));
  }

  // Answers

  /** React to a change of the game: a move from where the line has come to is an answer.
   * @param {string} kind as `Game` tells it */
  follow(kind) {
    const { run } = this;
    this.nothing = "";
    this.why.take(null);
    if (kind === "new") this.before = null;
    if (!run || this.opening) return;
    const { now } = this.game;
    const played = now.move === PASS && now.parent ? now.parent : now;
    if (kind === "new") this.run = null;
    else if (run.choices && played.parent === run.node) this.judge(run, played);
    this.draw();
  }

  /** @param {Run} run @param {Node} node after the user's move */
  judge(run, node) {
    const here = reached(run.node, node.move);
    const right = run.choices?.find((one) => one.right && reached(run.node, one.move) === here);
    if (!right) {
      run.missed = true;
      run.tried = node.move;
      run.why = "";
      run.node.wrong.push(node.move);
      setTimeout(() => this.takeBack(run, node), WRONG_MS);
      return;
    }
    if (run.line && run.way[movesOf(this.movesOf(run)).length + 1] !== here) this.leave(run);
    run.node = this.game.now;
    const lost = (run.choices?.[0].score ?? 0) - (right.score ?? 0);
    this.step(
      lost
        ? t("practiceRight", { move: node.move, n: lost })
        : t("exerciseRight", { move: this.named({ ...right, move: node.move }) }),
    );
  }

  /** Take back a wrong move and all that came after it, unless the user has. @param {Run} run
   * @param {Node} node after it */
  takeBack(run, node) {
    const { game } = this;
    /** @type {Node|null} */
    let at = game.now;
    while (at && at !== node) at = at.parent;
    if (this.run === run && at) while (game.now !== run.node) game.undo();
  }

  /** Show why the move that was tried is wrong. */
  async explain() {
    const { run } = this;
    if (!run?.choices || !run.tried) return;
    const { node, tried } = run;
    try {
      const found = await this.why.compared(node, tried, this.right(run)[0].move);
      if (this.run !== run || run.node !== node || run.tried !== tried) return;
      this.game.go(node);
      this.why.take(found);
      this.why.tell("why");
    } catch (refusal) {
      complain(refusal);
    }
  }

  /** Go back to where the line has come to. */
  goBack() {
    this.why.take(null);
    if (this.run) this.game.go(this.run.node);
    this.draw();
  }

  /** Go back to where the line has come to, and say in which column the first right move is. */
  hint() {
    const { run } = this;
    if (!run?.choices) return;
    this.game.go(run.node);
    run.why = t("exerciseHint", { column: this.right(run)[0].move[0] });
    this.draw();
  }

  /** Play a right move; the line then counts as missed. */
  answer() {
    const { run } = this;
    if (!run?.choices) return;
    run.missed = true;
    this.game.go(run.node);
    this.moves.place(this.right(run)[0].move);
  }

  /** Return the right moves, that of a line asked again first, then the best or commonest. @param {Run} run */
  right(run) {
    const next = run.way[movesOf(this.movesOf(run)).length + 1];
    const moves = (run.choices ?? []).filter((one) => one.right);
    return moves.sort(
      (one, two) => Number(reached(run.node, two.move) === next) - Number(reached(run.node, one.move) === next),
    );
  }

  // Display

  /** Return a move with what its source knows of it. @param {Choice} one */
  named(one) {
    return one.games === undefined
      ? `${one.move} ${signed(one.score ?? 0)}`
      : `${one.move} (${t("keptCount", { n: one.games })})`;
  }

  told() {
    const { run, game } = this;
    if (!run) return this.nothing || t("practiceReady");
    if (run.ended) {
      if (!run.asked) return t(run.course.source === "book" ? "practiceNoBook" : "practiceNoGames");
      if (run.missed) return t("practiceMissed");
      return t("practiceDone", { n: Math.round(((run.done?.due ?? 0) - Date.now()) / DAY_MS) });
    }
    if (!run.choices) return "";
    if (this.why.moves) return this.why.text();
    if (run.tried) {
      const known = run.choices.find((one) => one.move === run.tried);
      const right = this.right(run)
        .map((one) => this.named(one))
        .join(", ");
      return t("practiceWrong", { move: known ? this.named(known) : run.tried, right });
    }
    if (game.now !== run.node) return t("practiceAway");
    const find = t(run.course.source === "book" ? "practiceFindBook" : "practiceFindGames");
    return `${turnText(game)}: ${find}`;
  }

  draw() {
    const { run, game, preferences } = this;
    const shown = preferences.get("pane") === "practice";
    const asked = Boolean(run && shown);
    if (!asked) this.why.take(null);
    byId("practice").hidden = !asked;
    this.why.draw();
    if (!shown) return;
    const told = this.told();
    // The last verdict stays while the next question is looked for.
    if (told) byId("practice-told").textContent = told;
    byId("practice-note").textContent = run?.why ?? "";
    byId("practice-ready").textContent = run ? "" : [told, this.nothing && this.missing].filter(Boolean).join(" ");
    byId("practice-begin").classList.toggle("primary", !run);
    byId("practice-back").hidden =
      !run?.choices || (!this.why.moves && (Boolean(run.tried) || game.now === run.node));
    byId("practice-next").classList.toggle("primary", Boolean(run?.ended));
    byId("practice-why").hidden = !run?.choices || !run.tried;
    for (const name of ["hint", "answer"]) byId(`practice-${name}`).hidden = !run?.choices;
    const source = preferences.get("practiceSource");
    byId("practice-margin").hidden = source !== "book";
    byId("practice-least").hidden = source !== "games";
    fill(
      byId("practice-courses"),
      ...this.practice.list.filter((one) => one.lines.length).map((one) => this.course(one)),
    );
  }

  /** Return a line of the list of courses. @param {Course} one */
  course(one) {
    const game = new Game();
    game.open(one, true);
    const sitting = one.lines.filter((line) => line.right).length;
    const name = [
      this.openings.last(game.now) || one.moves || t("setupStart"),
      t(one.source === "book" ? "paneBook" : "panePlayed"),
    ].join(" · ");
    return el(
      "li",
      { class: "bar" },
      el("button", {
        text: name,
        "aria-current": one === this.run?.course ? "true" : undefined,
        onclick: () => this.resume(one),
      }),
      el("span", {
        text: t("practiceCount", { n: one.lines.length, m: sitting, k: dueOf(one.lines, Date.now()).length }),
      }),
      el("button", {
        class: "small",
        text: t("remove"),
        "aria-label": `${t("remove")}: ${name}`,
        onclick: () => this.remove(one, name),
      }),
    );
  }

  /** @param {Course} course */
  resume(course) {
    this.ask(course);
    this.board.focus();
  }

  /** @param {Course} course @param {string} name */
  remove(course, name) {
    if (!confirm(t("sureForgetLines", { what: name, n: course.lines.length }))) return;
    if (this.run?.course === course) this.run = null;
    this.practice.remove(course);
    this.draw();
  }
}
