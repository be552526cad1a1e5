// The pane of the game: graph, mistakes, the tree of moves with comments, the moves as a table.

import { certainty } from "../model/knowledge.js";
import { PASS, SIDES, colour } from "../model/rules.js";
import { accuracy, leftBook, steps } from "../engine/review.js";
import { byId, el, fill, press, signed } from "../view/dom.js";
import { graph } from "../view/graph.js";
import { t } from "../view/texts.js";

/** @typedef {import("../main.js").App} App */
/** @typedef {import("../model/game.js").Node} Node */

export class GamePane {
  /** @param {Pick<App, "game"|"knowledge"|"board"|"review">} page */
  constructor({ game, knowledge, board, review }) {
    this.game = game;
    this.knowledge = knowledge;
    this.board = board;
    this.review = review;
    /** @type {"score"|"loss"} */
    this.kind = "score";
    /** @type {ReturnType<typeof leftBook>} */
    this.left = null;
    press("analyse", () => (review.running ? review.stop() : review.begin()));
    press("graph-kind", () => this.swapGraph());
    press("mistake-next", () => this.toMistake(1));
    press("mistake-back", () => this.toMistake(-1));
    press("promote", () => game.promote());
    byId("comment").addEventListener("input", (/** @type {Event} */ event) => {
      game.note(/** @type {HTMLTextAreaElement} */ (event.target).value);
      this.tree();
    });
  }

  swapGraph() {
    this.kind = this.kind === "score" ? "loss" : "score";
    this.draw();
  }

  /** Go to the next mistake (1) or the one before (-1). @param {number} by */
  toMistake(by) {
    const now = this.game.now.ply;
    const bad = steps(this).filter((step) => step.grade);
    const to = by > 0 ? bad.find((step) => step.node.ply > now) : bad.reverse().find((step) => step.node.ply < now);
    if (to) this.board.seek(to.node);
  }

  /** Draw everything that depends on scores. */
  draw() {
    const { game } = this;
    const judged = steps(this);
    const line = judged.map((step) => step.node);
    fill(
      byId("graph"),
      graph(judged, Math.max(0, line.indexOf(game.now)), this.kind, (ply) => game.go(line[ply])),
    );
    this.progress();
    byId("graph-kind").textContent = t(this.kind === "score" ? "showLosses" : "showScores");
    const [black, white] = SIDES.map((side) => accuracy(judged.filter((step) => step.node.side === side)));
    byId("graph-kind").hidden = !(black + white);
    byId("accuracy").textContent = black + white ? t("accuracy", { black: black || "–", white: white || "–" }) : "";
    const left = (this.left = leftBook(this));
    const had = left?.had ? ` (${t("sourceLink")} ${left.had.move} ${signed(left.had.score)})` : "";
    const text = left && t("leftBook", { move: `${left.next.ply}. ${left.next.move}` }) + had;
    fill(byId("left-book"), left && el("button", { class: "small", text, onclick: () => this.board.seek(left.node) }));
    const bad = judged.filter((step) => step.grade);
    fill(byId("mistakes"), ...bad.map((step) => this.mistake(step)));
    byId("mistakes-none").hidden = bad.length > 0;
    for (const id of ["mistakes-mine", "mistake-back", "mistake-next"]) byId(id).hidden = !bad.length;
    if (byId("table-box").open) this.table(judged);
    this.tree();
  }

  progress() {
    const { review } = this;
    const running = Boolean(review.running);
    byId("analyse").textContent = t(running ? "stop" : "analyse");
    byId("analysis-progress").hidden = !running;
    byId("analysis-progress").value = running ? review.done / review.total : 0;
    byId("analysis-told").textContent = running ? `${Math.floor((100 * review.done) / review.total)} %` : "";
  }

  /** @param {import("../engine/review.js").Step} step */
  mistake(step) {
    const next = this.game.next(step.node);
    return el(
      "li",
      {},
      el(
        "button",
        {
          class: `mistake ${step.grade}`,
          onclick: () => this.board.seek(step.node),
          "aria-current": step.node === this.game.now ? "true" : undefined,
        },
        el("span", { class: `stone ${colour(step.node.side)}`, "aria-hidden": "true" }),
        `${step.node.ply + 1}. ${next?.move} `,
        el("span", {
          class: "soft",
          text: `${t(step.grade)}, ${t("lostDiscs", { n: step.lost })}, ${t("bestWas", { move: step.best })}`,
        }),
      ),
    );
  }

  /** Draw the moves as a tree: the first child continues the line, others are indented below. */
  tree() {
    const { game } = this;
    const path = new Set(game.line());
    /** @param {Node} node @returns {any} */
    const button = (node) =>
      el(
        "button",
        {
          class: `move ${node.parent?.side === "X" ? "by-black" : "by-white"}${path.has(node) ? "" : " aside"}`,
          "aria-current": node === game.now ? "true" : undefined,
          onclick: () => game.go(node),
          title: node.comment || undefined,
          "aria-label": `${node.ply}. ${node.move === PASS ? t("passed", { side: "" }).trim() : node.move}`,
        },
        node.parent?.side === "X" || node.parent === game.root
          ? el("span", { class: "soft", text: `${node.ply}.` })
          : null,
        node.move === PASS ? "–" : node.move,
        node.comment ? el("span", { class: "soft", text: "✎" }) : null,
        node === this.left?.next ? el("span", { class: "soft", text: "†" }) : null,
      );
    /** @param {Node} from @returns {any[]} */
    const run = (from) => {
      const parts = [];
      for (let node = from; node; node = node.children[0]) {
        parts.push(button(node));
        const others = node.parent?.children[0] === node ? node.parent.children.slice(1) : [];
        if (others.length)
          parts.push(el("ul", { class: "variations" }, ...others.map((one) => el("li", {}, ...run(one)))));
      }
      return parts;
    };
    fill(byId("tree"), ...(game.root.children[0] ? run(game.root.children[0]) : []));
    const current = byId("tree").querySelector("[aria-current]");
    const pane = byId("tree");
    if (current) pane.scrollTop = current.offsetTop - pane.clientHeight / 2;
    const area = byId("comment");
    if (document.activeElement !== area || area.value !== game.now.comment) area.value = game.now.comment;
    byId("promote").hidden = game.now.parent ? isMain(game.now) : true;
  }

  /** @param {import("../engine/review.js").Step[]} judged */
  table(judged) {
    const rows = judged.slice(1).map((step, at) => {
      const before = judged[at];
      const sure = before.exact ? "=" : before.sure ? certainty(/** @type {any} */ (before.sure), t("sourceLink")) : "";
      return el(
        "tr",
        { class: before.grade, "aria-current": step.node === this.game.now ? "true" : undefined },
        el("th", { scope: "row", text: `${step.node.ply}. ${step.node.move}` }),
        el("td", { text: before.score === null ? "" : signed(before.score) }),
        el("td", { text: sure }),
        el("td", { text: before.best }),
        el("td", { text: before.lost || "" }),
      );
    });
    fill(byId("table-body"), ...rows);
  }
}

/** @param {Node} node */
function isMain(node) {
  for (let at = node; at.parent; at = at.parent) if (at.parent.children[0] !== at) return false;
  return true;
}
