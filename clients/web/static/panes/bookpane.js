// The pane of the book: its data on each move, scores by hand, and commands.

import { nameOf, legalMoves } from "../model/rules.js";
import { Teller } from "../model/teller.js";
import { byId, el, fill, offer, press, signed } from "../view/dom.js";
import { complain } from "../view/notice.js";
import { changesText, t } from "../view/texts.js";

/** Commands that remove positions. */
const REMOVING = ["delete", "prune", "subtree", "cut", "reduce"];

/** Name of the book that ships, which is read-only. */
const BUILTIN = "builtin";

/** @param {number} won @param {number} drawn @param {number} lost */
function results(won, drawn, lost) {
  return won + drawn + lost ? `${won}–${drawn}–${lost}` : "";
}

/** @typedef {import("../main.js").App} App */

/** Tells "job" with the progress of a command. */
export class BookPane extends Teller {
  /** @param {Pick<App, "game"|"preferences"|"socket"|"moves"|"tabs">} page */
  constructor({ game, preferences, socket, moves, tabs }) {
    super();
    this.game = game;
    this.socket = socket;
    this.moves = moves;
    /** @type {any[]} */
    this.commands = [];
    this.asked = 0;
    this.editor = false;
    /** Whether the page's role may save a copy. */
    this.saves = false;
    /** Names of the commands that the form offers. */
    this.offered = "";
    /** @type {any} */
    this.status = null;
    /** The last reply of book.umigame, and the key of its position. @type {any} */
    this.umigames = null;
    game.on(() => this.look());
    preferences.on(() => this.look(), "language");
    socket.on(({ event }) => event === "book" && this.look(), "told");
    tabs.on(() => this.look());
    byId("book-command").addEventListener("change", () => this.form());
    byId("book-form").addEventListener("submit", (/** @type {Event} */ event) => {
      event.preventDefault();
      this.submit();
    });
    byId("book-edit").addEventListener("submit", (/** @type {Event} */ event) => {
      event.preventDefault();
      this.command("edit", { move: byId("edit-move").value, score: Number(byId("edit-score").value) });
    });
    press("book-unedit", () => this.command("unedit", { move: byId("edit-move").value }));
    press("book-delete", () => this.command("delete", {}, false, t("removePosition")));
    press("book-store", () => this.command("store", {}, true));
    press("book-save", () => this.command("save", {}));
    press("book-umigame", () => this.umigame());
  }

  /** Ask, after a connection, for the commands that this page may give. @param {any} hello */
  async greet(hello) {
    const editor = hello.role === "editor" || hello.role === "admin";
    this.editor = editor;
    byId("book-reader").hidden = editor;
    this.commands = (await this.socket.ask("web.commands")).commands.filter((/** @type {any} */ one) =>
      hello.ops.includes(`book.${one.name}`),
    );
    this.saves = hello.ops.includes("book.save");
    await this.look();
  }

  /** Offer the commands in the form; for a read-only book only those that change nothing, and `reopen` unless it is the
   * book that ships. @param {any} book */
  choices(book) {
    const again = book.path === BUILTIN ? "" : "reopen";
    const usable = this.commands.filter((one) => book.writable || !one.writes || one.name === again);
    const offered = usable.map((one) => one.name).join(" ");
    if (offered === this.offered) return;
    this.offered = offered;
    const before = byId("book-command").value || "deviate";
    offer(
      "book-command",
      usable.map((one) => [one.name]),
      before,
    );
    this.form();
  }

  /** Show the book's data about the position on the board, unless the pane is hidden. */
  async look() {
    const { game, socket } = this;
    if (byId("pane-book").hidden) return;
    const asked = ++this.asked;
    try {
      const [status, look] = await Promise.all([
        socket.ask("status"),
        socket.ask("book.get", { board: game.board(), children: true }).catch((refusal) => {
          if (refusal.code === "not_found") return { found: false };
          throw refusal;
        }),
      ]);
      if (asked === this.asked) this.show(status.book, look);
    } catch (refusal) {
      if (/** @type {any} */ (refusal).code !== "connection_lost") complain(refusal);
    }
  }

  /** @param {any} book @param {any} look */
  show(book, look) {
    const open = book.state === "open";
    const why =
      open && !book.writable ? ` · ${t("readOnly", { why: book.path === BUILTIN ? t("builtIn") : book.reason })}` : "";
    byId("book-about").textContent = open
      ? `${book.path || "–"} · ${t("bookSize", { n: book.positions })}${why}`
      : book.reason || t("bookNone");
    byId("book-tools").hidden = !this.editor || !open;
    byId("book-edit").hidden = byId("book-store").hidden = !book.writable;
    byId("book-copy").hidden = !open || book.writable || !this.saves;
    this.choices(book);
    byId("book-none").hidden = !open || look.found;
    byId("book-known").textContent = look.found
      ? t("bookPosition", {
          score: look.score === null ? "?" : signed(look.score),
          low: signed(look.lower),
          high: signed(look.upper),
          level: look.level,
          grade: look.grade || t("unsure"),
        })
      : "";
    byId("book-table").hidden = byId("book-umigame").hidden = !look.found;
    const known = look.found && this.umigames?.key === this.game.key() ? this.umigames : null;
    byId("book-to-know").hidden = !known;
    if (known) byId("book-known").textContent += ` · ${t("toKnow")} ${known.black}, ${known.white}`;
    const children = look.children ?? [];
    fill(byId("book-rows"), ...children.map((/** @type {any} */ one) => this.row(one, known)));
    this.narrow();
    const moves = legalMoves(this.game.now.cells, this.game.now.side).map(nameOf);
    const before = byId("edit-move").value;
    offer(
      "edit-move",
      moves.map((move) => [move]),
      before,
    );
  }

  /** Hide the columns of which this book has nothing, such as results of games. */
  narrow() {
    const [head, ...rows] = byId("book-table").querySelectorAll("tr");
    for (let at = 0; at < (rows[0]?.cells.length ?? 0); at++) {
      const empty = rows.every((row) => !row.cells[at].textContent);
      for (const row of [head, ...rows]) row.cells[at].hidden = empty;
    }
  }

  /** Ask how many lines each side must know, and show it until the position or the book changes. */
  async umigame() {
    const { game, socket } = this;
    const key = game.key();
    try {
      this.umigames = { key, ...(await socket.ask("book.umigame", { board: game.board() })) };
      this.look();
    } catch (refusal) {
      complain(refusal);
    }
  }

  /** @param {any} one a child as book.get tells it @param {any} known what book.umigame tells, or null */
  row(one, known) {
    const source = one.human ? "sourceHuman" : one.kind === "link" ? "sourceLink" : "sourceLeaf";
    const bounds = one.lower === null || one.lower === undefined ? "" : ` [${signed(one.lower)}, ${signed(one.upper)}]`;
    return el(
      "tr",
      {},
      el(
        "th",
        { scope: "row" },
        el("button", { class: "move", text: one.move, onclick: () => this.moves.play(one.move) }),
      ),
      el(
        "td",
        {},
        el("b", { text: one.score === null ? "?" : signed(one.score) }),
        el("span", { class: "soft", text: bounds }),
      ),
      el("td", { text: one.grade }),
      el("td", { text: one.lines }),
      el("td", { text: one.level < 0 ? "" : one.level }),
      el("td", { text: results(one.wins, one.draws, one.losses) }),
      el("td", { text: one.results ? results(one.results.won, one.results.drawn, one.results.lost) : "" }),
      el("td", { text: t(source) }),
      known && el("td", { text: `${known.black_after[one.move]}, ${known.white_after[one.move]}` }),
    );
  }

  // Commands

  form() {
    const command = this.commands.find((one) => one.name === byId("book-command").value);
    byId("book-help").textContent = command?.help ?? "";
    fill(byId("book-parameters"), ...(command?.parameters ?? []).map((/** @type {any} */ one) => this.field(one)));
  }

  /** @param {any} one a parameter as the gateway tells it */
  field(one) {
    const { kind, low: min, high: max, required } = one;
    const named = { id: `parameter-${one.name}`, name: one.name };
    const input =
      kind === "flag"
        ? el("input", { ...named, type: "checkbox" })
        : kind === "choice"
          ? el("select", named)
          : el("input", {
              ...named,
              ...(kind === "int" ? { type: "number", min, max } : {}),
              value: one.default ?? "",
              required,
            });
    if (kind === "choice")
      input.append(...["", ...one.choices].map((value) => el("option", { value, text: value || "–" })));
    return el(
      "label",
      { class: "field" },
      el("span", { text: one.name }),
      input,
      el("small", { class: "soft", text: one.help }),
    );
  }

  submit() {
    const args = /** @type {Record<string, any>} */ ({});
    for (const input of byId("book-parameters").querySelectorAll("input, select")) {
      if (input.type === "checkbox") {
        if (input.checked) args[input.name] = true;
      } else if (input.value !== "") args[input.name] = input.type === "number" ? Number(input.value) : input.value;
    }
    this.command(byId("book-command").value, args, byId("book-command").value === "store");
  }

  /** Give a command about the position on the board or, with `line`, the whole line.
   * @param {string} name @param {Record<string, any>} args @param {boolean} [line]
   * @param {string} [what] its name for the user */
  async command(name, args, line = false, what = `book ${name}`) {
    const { game } = this;
    if (REMOVING.includes(name) && !confirm(t("sureRemove", { what }))) return;
    const last = line ? game.line().at(-1) : game.now;
    const place = { board: game.board(game.root), moves: game.moves(last) };
    byId("book-told").textContent = "…";
    this.umigames = null;
    let seen = false;
    try {
      const done = await this.socket.ask(`book.${name}`, { ...place, ...args }, (data) => {
        this.tell(data, "job");
        if (data.job && !seen) byId("book-jobs").scrollIntoView({ block: "nearest" });
        seen ||= data.job;
      });
      byId("book-told").textContent = [...(done.text ?? []), ...(done.notes ?? []), ...changesText(done)].join("\n");
    } catch (refusal) {
      const stopped = /** @type {any} */ (refusal).code === "cancelled";
      byId("book-told").textContent = stopped ? `book ${name}: ${t("stateCancelled")}` : "";
      complain(refusal);
    }
    this.look();
  }
}
