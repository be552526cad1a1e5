// The pane of games: paste, drop, open, copy, save, a picture, and the list that this browser keeps.

import { discs, finalScore, isOver, movesOf, nameOf, squareOf } from "../model/rules.js";
import { fragment } from "../model/link.js";
import { read, write } from "../model/store.js";
import { steps } from "../engine/review.js";
import { byId, el, fill, save, signed, svg } from "../view/dom.js";
import { t } from "../view/texts.js";

/** @typedef {import("../main.js").App} App */

const FORMATS = ["txt", "ggf", "sgf", "pgn", "wtb", "edx"];
/** Bytes of a file that fit into a frame as base64. */
const LARGEST = 190_000;
/** Games that the list has room for. */
const MOST = 500;
/** Bytes of WTHOR's files: the header of all, a game, and the names of players and of tournaments. */
const WTHOR = { header: 16, game: 68, jou: 20, trn: 26 };

export class LibraryPane {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {any[]} */
    this.games = read("games", []);
    fill(byId("format"), ...FORMATS.map((format) => el("option", { text: format })));
    byId("paste-open").addEventListener("click", () => this.text(byId("paste").value));
    byId("paste-file").addEventListener("change", (/** @type {any} */ event) => this.files(event.target.files));
    byId("copy-moves").addEventListener("click", (/** @type {any} */ event) => this.copy(app.game.moves(app.game.line().at(-1)), event.target));
    byId("copy-board").addEventListener("click", (/** @type {any} */ event) => this.copy(app.game.board(), event.target));
    byId("copy-link").addEventListener("click", (/** @type {any} */ event) => this.copy(location.origin + "/" + fragment(app.game), event.target));
    byId("save").addEventListener("click", () => this.save(byId("format").value));
    byId("picture-svg").addEventListener("click", () => save("board.svg", picture(app), "image/svg+xml"));
    byId("picture-png").addEventListener("click", () => this.png());
    byId("keep").addEventListener("click", () => this.keep([{ ...app.game.save(), added: Date.now() }]));
    document.addEventListener("paste", (event) => {
      if (/** @type {Element} */ (event.target).closest("input, textarea")) return;
      const files = event.clipboardData?.files;
      if (files?.length) this.files(files);
      else this.text(event.clipboardData?.getData("text/plain") ?? "");
      event.preventDefault();
    });
    document.addEventListener("copy", (event) => {
      if (String(getSelection()) || /** @type {Element} */ (event.target).closest?.("input, textarea")) return;
      event.clipboardData?.setData("text/plain", app.game.moves(app.game.line().at(-1)));
      event.preventDefault();
    });
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      if (event.dataTransfer?.files.length) this.files(event.dataTransfer.files);
      else this.text(event.dataTransfer?.getData("text/plain") ?? "");
    });
    this.draw();
  }

  // Reading

  /** @param {string} text */
  text(text) {
    if (text.trim()) this.read({ text });
  }

  /** Files of games; those of WTHOR's names serve the `.wtb` among them. @param {FileList} files */
  async files(files) {
    const [players, tournaments] = [await namesOf(files, "jou"), await namesOf(files, "trn")];
    const games = [...files].filter((file) => !/\.(jou|trn)$/i.test(file.name));
    if (!games.length) this.app.tell(t("namesAlone"));
    for (const file of games) {
      const bytes = await beginning(file);
      let binary = "";
      for (const byte of bytes) binary += String.fromCharCode(byte);
      const base = /\.wtb$/i.test(file.name) ? new DataView(bytes.buffer) : null;
      await this.read({ data: btoa(binary), name: file.name }, file.size > LARGEST ? [t("tooLarge", { n: LARGEST / 1000 })] : [], (game) => {
        const at = WTHOR.header + WTHOR.game * (game.number - 1);
        if (!base) return;
        game.event ||= tournaments[base.getUint16(at, true)] ?? "";
        game.black ||= players[base.getUint16(at + 2, true)] ?? "";
        game.white ||= players[base.getUint16(at + 4, true)] ?? "";
      });
    }
  }

  /** Have the gateway read games: one is opened, several go into the list.
   * @param {any} args @param {string[]} [notes] @param {(game: any) => void} [named] told each game */
  async read(args, notes = [], named = () => {}) {
    const { app } = this;
    try {
      const found = await app.socket.ask("web.read", args);
      found.games.forEach(named);
      const [first] = found.games;
      app.game.open(first, found.games.length === 1);
      if (found.games.length > 1) this.keep(found.games.slice(0, MOST).map((/** @type {any} */ game) => asSaved(game)));
      if (found.games.length > MOST) notes.push(t("keptSome", { n: MOST }));
      app.tell([t("read", { n: found.games.length }), ...notes, ...found.complaints.slice(0, 3)].join(" · "));
    } catch (refusal) {
      app.complain(refusal);
    }
  }

  // Writing

  /** @param {string} text @param {HTMLElement} button */
  async copy(text, button) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = el("textarea", { class: "away" });
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    const before = button.textContent;
    button.textContent = t("copied");
    setTimeout(() => (button.textContent = before), 1500);
  }

  /** @param {string} format */
  async save(format) {
    const { app } = this;
    const line = app.game.line();
    const known = steps(app);
    const scores = known.slice(0, -1).map((step) => (step.score === null ? null : step.node.side === "X" ? step.score : -step.score));
    const last = line[line.length - 1];
    const game = {
      ...app.game.about, board: app.game.board(app.game.root), moves: app.game.moves(last), notes: line.slice(1).map((node) => node.comment), scores,
      result: isOver(last.cells) ? finalScore(last.cells) : null,
    };
    try {
      const found = await app.socket.ask("web.write", { games: [game], format });
      if (found.text !== undefined) save(`game.${format}`, found.text, "text/plain");
      else save(`game.${format}`, Uint8Array.from(atob(found.data), (one) => one.charCodeAt(0)), "application/octet-stream");
    } catch (refusal) {
      app.complain(refusal);
    }
  }

  png() {
    const image = new Image();
    image.onload = () => {
      const canvas = el("canvas", { width: 856, height: 856 });
      canvas.getContext("2d").drawImage(image, 0, 0, 856, 856);
      canvas.toBlob((/** @type {Blob} */ blob) => save("board.png", blob, "image/png"));
    };
    image.src = `data:image/svg+xml,${encodeURIComponent(picture(this.app))}`;
  }

  // The list

  /** @param {any[]} games */
  keep(games) {
    this.games = [...games, ...this.games].slice(0, MOST);
    if (!write("games", this.games)) this.app.tell(t("full"));
    this.draw();
  }

  draw() {
    fill(
      byId("kept"),
      ...this.games.map((game, at) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, el("button", { type: "button", class: "open", text: titled(game), onclick: () => this.app.game.load(game) })),
          el("td", { text: game.about?.date ?? "" }),
          el("td", {}, el("button", { type: "button", class: "small", text: t("remove"), onclick: () => this.remove(at) })),
        ),
      ),
    );
  }

  /** @param {number} at */
  remove(at) {
    if (!confirm(t("sureForget", { what: titled(this.games[at]) }))) return;
    this.games.splice(at, 1);
    write("games", this.games);
    this.draw();
  }
}

/** The bytes of a file; of one that does not fit into a frame the first games as a file of their own. @param {File} file */
async function beginning(file) {
  const bytes = new Uint8Array(await file.slice(0, LARGEST).arrayBuffer());
  if (file.size <= LARGEST) return bytes;
  if (!/\.wtb$/i.test(file.name)) return bytes.slice(0, bytes.lastIndexOf(10) + 1);
  const games = Math.floor((LARGEST - WTHOR.header) / WTHOR.game);
  new DataView(bytes.buffer).setUint32(4, games, true);
  return bytes.slice(0, WTHOR.header + WTHOR.game * games);
}

/** The names in a file of WTHOR's among others; none without one. @param {FileList} files @param {"jou"|"trn"} kind */
async function namesOf(files, kind) {
  const file = [...files].find((one) => one.name.toLowerCase().endsWith(`.${kind}`));
  const bytes = file ? new Uint8Array(await file.arrayBuffer()) : [];
  const found = [];
  for (let at = WTHOR.header; at < bytes.length; at += WTHOR[kind]) {
    const [name] = new TextDecoder("latin1").decode(bytes.slice(at, at + WTHOR[kind])).split("\0");
    found.push(/^\?*$/.test(name.trim()) ? "" : name.trim());
  }
  return found;
}

/** A game as the gateway reads it in the form of `Game.save`. @param {any} game */
function asSaved(game) {
  const moves = movesOf(game.moves);
  const tree = moves.reduceRight((rest, move) => [move, "", ...(rest ? [rest] : [])], /** @type {any} */ (null));
  const about = { black: game.black, white: game.white, event: game.event, date: game.date };
  return { about, board: game.board || "---------------------------OX------XO--------------------------- X", tree: ["", "", ...(tree ? [tree] : [])], way: [] };
}

/** @param {any} game */
function titled(game) {
  const { black, white, event } = game.about ?? {};
  let moves = "";
  for (let at = game.tree; at?.[2] && moves.length < 24; at = at[2]) moves += at[2][0];
  return [black || white ? `${black || "?"} – ${white || "?"}` : "", event, moves].filter(Boolean).join(" · ");
}

/** The board as SVG that stands alone: the page's own drawing with discs, marks and hints. @param {App} app */
export function picture(app) {
  const drawing = /** @type {any} */ (byId("board").querySelector("svg.board")).cloneNode(true);
  drawing.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  drawing.setAttribute("width", "428");
  drawing.setAttribute("height", "428");
  const { game } = app;
  const place = (/** @type {number} */ square) => {
    for (let at = 0; at < 64; at++) if (app.board.squareAt(at >> 3, at % 8) === square) return [22 + (at % 8) * 48 + 24, 22 + (at >> 3) * 48 + 24];
    return [0, 0];
  };
  for (let square = 0; square < 64; square++) {
    const [cx, cy] = place(square);
    const cell = game.now.cells[square];
    if (cell !== "-") drawing.append(svg("circle", { cx, cy, r: 20, fill: cell === "X" ? "#161817" : "#f7f5ee", stroke: "#0d1110" }));
    if (squareOf(game.now.move) === square) drawing.append(svg("circle", { cx, cy, r: 5, fill: "#ffb020" }));
  }
  if (app.preferences.get("hints")) {
    for (const one of app.knowledge.of(game.key())) {
      if (game.now.cells[squareOf(one.move)] !== "-") continue;
      const [x, y] = place(squareOf(one.move));
      drawing.append(svg("text", { x, y: y + 6, "text-anchor": "middle", "font-family": "sans-serif", "font-size": 17, "font-weight": "bold", fill: "#fff", text: signed(one.score) }));
    }
  }
  const [black, white] = discs(game.now.cells);
  drawing.prepend(svg("title", { text: `${nameOf(0)}–${nameOf(63)}: ${black}–${white}` }));
  return new XMLSerializer().serializeToString(drawing);
}
