// The pane of games: paste, drop, open, copy, save, a picture, and this browser's list of games.

import { discs, finalScore, isOver, nameOf, squareOf } from "../model/rules.js";
import { Game } from "../model/game.js";
import { fragment } from "../model/link.js";
import { read, write } from "../model/store.js";
import { Teller } from "../model/teller.js";
import { steps } from "../engine/review.js";
import { byId, el, fill, offer, press, save, signed, svg } from "../view/dom.js";
import { complain, tell } from "../view/notice.js";
import { t } from "../view/texts.js";

const FORMATS = ["txt", "ggf", "sgf", "pgn", "wtb", "edx"];
/** Most bytes of a file that fit into a frame, in base64. */
const LARGEST = 190_000;
/** Most lines of a text in a frame, fewer than the games that an answer may have. */
const MOST_LINES = 4500;
/** Games shown at first, and more with each *Show more*. */
const SHOWN = 200;
/** Sizes in WTHOR's files, bytes: header, game, name of a player (jou), of a tournament (trn). */
const WTHOR = { header: 16, game: 68, jou: 20, trn: 26 };

/** @typedef {import("../main.js").App} App */

/** Tells "problems" with files of them that were given. */
export class LibraryPane extends Teller {
  /** @param {Pick<App, "game"|"knowledge"|"preferences"|"socket"|"board">} page */
  constructor({ game, knowledge, preferences, socket, board }) {
    super();
    this.game = game;
    this.knowledge = knowledge;
    this.preferences = preferences;
    this.socket = socket;
    this.board = board;
    /** @type {any[]} */
    this.games = read("games", []);
    /** Number of games that the browser has room for. */
    this.room = this.games.length;
    this.shown = SHOWN;
    offer(
      "format",
      FORMATS.map((format) => [format]),
    );
    press("paste-open", () => this.text(byId("paste").value));
    byId("paste-file").addEventListener("change", (/** @type {any} */ event) => this.files(event.target.files));
    press("copy-moves", (event) => this.copy(game.moves(game.line().at(-1)), event.target));
    press("copy-board", (event) => this.copy(game.board(), event.target));
    press("copy-link", (event) => this.copy(location.origin + "/" + fragment(game), event.target));
    press("save", () => this.save(byId("format").value));
    press("picture-svg", () => save("board.svg", picture(this), "image/svg+xml"));
    press("picture-png", () => this.png());
    press("keep", () => this.keepPresent());
    byId("kept-filter").addEventListener("input", () => this.draw());
    press("kept-more", () => {
      this.shown += SHOWN;
      this.draw();
    });
    press("kept-clear", () => this.remove(this.matching()));
    document.addEventListener("paste", (event) => {
      if (/** @type {Element} */ (event.target).closest("input, textarea")) return;
      const files = event.clipboardData?.files;
      if (files?.length) this.files(files);
      else this.text(event.clipboardData?.getData("text/plain") ?? "");
      event.preventDefault();
    });
    document.addEventListener("copy", (event) => {
      if (String(getSelection()) || /** @type {Element} */ (event.target).closest?.("input, textarea")) return;
      event.clipboardData?.setData("text/plain", game.moves(game.line().at(-1)));
      event.preventDefault();
    });
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      if (event.dataTransfer?.files.length) this.files(event.dataTransfer.files);
      else this.text(event.dataTransfer?.getData("text/plain") ?? "");
    });
    preferences.on(() => this.draw(), "language");
    this.draw();
  }

  // Reading

  /** @param {string} text */
  text(text) {
    if (text.trim()) this.read([{ text }]);
  }

  /** Read files of games; `.jou` and `.trn` files name the players and tournaments of `.wtb` files.
   * @param {FileList} files */
  async files(files) {
    const problems = [...files].filter((file) => /\.obf$/i.test(file.name));
    if (problems.length) {
      this.tell(problems, "problems");
      return;
    }
    const [players, tournaments] = [await namesOf(files, "jou"), await namesOf(files, "trn")];
    const games = [...files].filter((file) => !/\.(jou|trn)$/i.test(file.name));
    if (!games.length) tell(t("namesAlone"));
    for (const file of games) {
      await this.read(parts(file), (game, bytes) => {
        if (!/\.wtb(\.gz)?$/i.test(file.name)) return;
        const base = new DataView(bytes.buffer, WTHOR.header + WTHOR.game * (game.number - 1));
        game.event ||= tournaments[base.getUint16(0, true)] ?? "";
        game.black ||= players[base.getUint16(2, true)] ?? "";
        game.white ||= players[base.getUint16(4, true)] ?? "";
      });
    }
  }

  /** Have the gateway read games, part by part: the first is opened, and several go into the list.
   * @param {Iterable<any>|AsyncIterable<any>} sources the arguments of `web.read`, and `bytes`
   * @param {(game: any, bytes: Uint8Array) => void} [named] called with each game */
  async read(sources, named = () => {}) {
    const { game } = this;
    const games = [];
    const complaints = [];
    try {
      for await (const { bytes, ...args } of sources) {
        const reply = await this.socket.ask("web.read", args);
        for (const one of reply.games) named(one, bytes);
        games.push(...reply.games);
        complaints.push(...reply.complaints);
      }
      if (games.length) {
        game.leave();
        game.open(games[0], games.length === 1);
      }
      if (games.length > 1) this.keep(games.map(asSaved));
      tell([t("read", { n: games.length }), ...complaints.slice(0, 3)].join(" · "));
    } catch (refusal) {
      complain(refusal);
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
    const { game } = this;
    const line = game.line();
    const known = steps(this);
    const scores = known
      .slice(0, -1)
      .map((step) => (step.score === null ? null : step.node.side === "X" ? step.score : -step.score));
    const last = line[line.length - 1];
    const whole = {
      ...game.about,
      board: game.board(game.root),
      moves: game.moves(last),
      notes: line.slice(1).map((node) => node.comment),
      scores,
      result: isOver(last.cells) ? finalScore(last.cells) : null,
    };
    try {
      const reply = await this.socket.ask("web.write", { games: [whole], format });
      if (reply.text !== undefined) save(`game.${format}`, reply.text, "text/plain");
      else
        save(
          `game.${format}`,
          Uint8Array.from(atob(reply.data), (one) => one.charCodeAt(0)),
          "application/octet-stream",
        );
    } catch (refusal) {
      complain(refusal);
    }
  }

  png() {
    const image = new Image();
    image.onload = () => {
      const canvas = el("canvas", { width: 856, height: 856 });
      canvas.getContext("2d").drawImage(image, 0, 0, 856, 856);
      canvas.toBlob((/** @type {Blob} */ blob) => save("board.png", blob, "image/png"));
    };
    image.src = `data:image/svg+xml,${encodeURIComponent(picture(this))}`;
  }

  // The list

  /** Put the game on the board into the list, in place of its row unless other moves were played since; false if it is
   * there already. */
  keepPresent() {
    const { game } = this;
    const moves = game.moves(game.line().at(-1));
    /** @param {any} game */
    const text = ({ about, board, tree }) => JSON.stringify([about, board, tree]);
    const saved = { ...game.save(), moves };
    if (this.games.some((one) => one.moves === moves && text(loaded(new Game(), one).save()) === text(saved)))
      return false;
    const row = this.games.find((one) => one.id === saved.id && one.moves === moves);
    saved.id = game.id = row?.id ?? Math.random();
    this.change([saved, ...this.games.filter((one) => one !== row)]);
    return true;
  }

  /** Open a game of the list. @param {any} one */
  open(one) {
    this.game.leave();
    loaded(this.game, one);
  }

  /** @param {any[]} games */
  keep(games) {
    this.change([...games, ...this.games]);
  }

  /** @param {any[]} games */
  change(games) {
    this.games = games;
    this.room = games.length;
    while (!write("games", games.slice(0, this.room)) && this.room) this.room = Math.floor(0.9 * this.room);
    this.draw();
  }

  /** Return the games with all words of the search in names, event, date or moves. */
  matching() {
    const words = byId("kept-filter").value.toLowerCase().split(/\s+/);
    return this.games.filter((game) => {
      const text = `${Object.values(game.about ?? {}).join(" ")} ${game.moves}`.toLowerCase();
      return words.every((/** @type {string} */ word) => text.includes(word));
    });
  }

  draw() {
    const matching = this.matching();
    const few = matching.length <= this.shown;
    const told = !this.games.length
      ? [t("keptNone")]
      : [few ? t("keptCount", { n: matching.length }) : t("keptSome", { n: this.shown, m: matching.length })];
    if (this.room < this.games.length) told.push(t("full", { n: this.room }));
    byId("kept-told").textContent = told.join(" · ");
    byId("kept-filter").hidden = !this.games.length;
    byId("kept-more").hidden = few;
    byId("kept-clear").hidden = !matching.length;
    fill(
      byId("kept"),
      ...matching
        .slice(0, this.shown)
        .map((one) =>
          el(
            "tr",
            {},
            el(
              "th",
              { scope: "row" },
              el("button", { class: "open", text: titled(one), onclick: () => this.open(one) }),
            ),
            el("td", { class: "date", text: one.about?.date ?? "" }),
            el("td", {}, el("button", { class: "small", text: t("remove"), onclick: () => this.remove([one]) })),
          ),
        ),
    );
  }

  /** @param {any[]} games */
  remove(games) {
    const question =
      games.length === 1 ? t("sureForget", { what: titled(games[0]) }) : t("sureForgetAll", { n: games.length });
    const gone = new Set(games);
    if (confirm(question)) this.change(this.games.filter((game) => !gone.has(game)));
  }
}

/** Yield parts of a file that fit into a frame: whole lines of a text, whole WTHOR games with a header.
 * @param {File} given */
async function* parts(given) {
  const file = await unpacked(given);
  const base = /\.wtb$/i.test(file.name);
  const header =
    base && file.size > LARGEST ? new Uint8Array(await file.slice(0, WTHOR.header).arrayBuffer()) : new Uint8Array(0);
  const room = header.length ? LARGEST - (LARGEST % WTHOR.game) : LARGEST;
  for (let at = header.length, taken; at < file.size; at += taken) {
    const own = new Uint8Array(await file.slice(at, at + room).arrayBuffer());
    taken = base ? own.length : linesOf(own, at + own.length < file.size);
    const bytes = new Uint8Array([...header, ...own.subarray(0, taken)]);
    if (header.length) new DataView(bytes.buffer).setUint32(4, taken / WTHOR.game, true);
    let binary = "";
    for (const byte of bytes) binary += String.fromCharCode(byte);
    yield { data: btoa(binary), name: file.name, bytes };
  }
}

/** Return a file, unpacked if it is gzipped; throws an `Error` for the user. @param {File} file */
async function unpacked(file) {
  if (!/\.gz$/i.test(file.name)) return file;
  const plain = file.stream().pipeThrough(new DecompressionStream("gzip"));
  const blob = await new Response(plain).blob().catch(() => {
    throw new Error(t("damaged", { name: file.name }));
  });
  return new File([blob], file.name.slice(0, -3));
}

/** Return the length of the whole lines, in PGN whole games, in these bytes; all bytes if they end a short text.
 * @param {Uint8Array} bytes @param {boolean} more whether the text goes on */
function linesOf(bytes, more) {
  let [lines, last, line, game] = [0, -1, 0, 0];
  for (let at = 0; at < bytes.length && lines < MOST_LINES; at++) {
    if (bytes[at] !== 10) continue;
    lines++;
    line = at + 1;
    // A blank line before a tag begins a game.
    if (at - last <= 2 && bytes[line] === 91) game = line;
    last = at;
  }
  return !more && lines < MOST_LINES ? bytes.length : game || line || bytes.length;
}

/** Return the names in the WTHOR file of that kind among these files; [] without one. @param {FileList} files
 * @param {"jou"|"trn"} kind */
async function namesOf(files, kind) {
  const file = [...files].find((one) => one.name.toLowerCase().endsWith(`.${kind}`));
  const bytes = file ? new Uint8Array(await file.arrayBuffer()) : [];
  const names = [];
  for (let at = WTHOR.header; at < bytes.length; at += WTHOR[kind]) {
    const [name] = new TextDecoder("latin1").decode(bytes.slice(at, at + WTHOR[kind])).split("\0");
    names.push(/^\?*$/.test(name.trim()) ? "" : name.trim());
  }
  return names;
}

/** Return a game of the gateway's as the list stores it. @param {any} game */
function asSaved({ black, white, event, date, board, moves }) {
  return { id: Math.random(), about: { black, white, event, date }, board, moves };
}

/** Put a game of the list into `game`, which is returned. @param {Game} game @param {any} one */
function loaded(game, one) {
  if (one.tree) game.load(one);
  else game.open({ ...one.about, ...one });
  return game;
}

/** @param {any} game */
function titled(game) {
  const { black, white, event } = game.about ?? {};
  const players = (black || white) && `${black || "?"} – ${white || "?"}`;
  // Most games end differently.
  const moves = game.moves?.replace(/^(.{24}).*(.{8})$/, "$1…$2");
  const noted = /","[^\x22]/.test(JSON.stringify(game.tree)) && "✎";
  return [players, event, moves, noted].filter(Boolean).join(" · ");
}

/** Return the board as the text of an SVG file: the page's drawing with discs, the last move and, if they are on,
 * hints.
 * @param {Pick<App, "game"|"knowledge"|"preferences"|"board">} page */
export function picture({ game, knowledge, preferences, board }) {
  const drawing = /** @type {any} */ (byId("board").querySelector("svg.board")).cloneNode(true);
  drawing.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  drawing.setAttribute("width", "428");
  drawing.setAttribute("height", "428");
  const place = (/** @type {number} */ square) => {
    for (let at = 0; at < 64; at++)
      if (board.squareAt(at >> 3, at % 8) === square) return [22 + (at % 8) * 48 + 24, 22 + (at >> 3) * 48 + 24];
    return [0, 0];
  };
  for (let square = 0; square < 64; square++) {
    const [cx, cy] = place(square);
    const cell = game.now.cells[square];
    if (cell !== "-")
      drawing.append(svg("circle", { cx, cy, r: 20, fill: cell === "X" ? "#161817" : "#f7f5ee", stroke: "#0d1110" }));
    if (squareOf(game.now.move) === square) drawing.append(svg("circle", { cx, cy, r: 5, fill: "#ffb020" }));
  }
  if (preferences.get("hints")) {
    for (const one of knowledge.of(game.key())) {
      if (game.now.cells[squareOf(one.move)] !== "-") continue;
      const [x, y] = place(squareOf(one.move));
      drawing.append(
        svg("text", {
          x,
          y: y + 6,
          "text-anchor": "middle",
          "font-family": "sans-serif",
          "font-size": 17,
          "font-weight": "bold",
          fill: "#fff",
          text: signed(one.score),
        }),
      );
    }
  }
  const [black, white] = discs(game.now.cells);
  drawing.prepend(svg("title", { text: `${nameOf(0)}–${nameOf(63)}: ${black}–${white}` }));
  return new XMLSerializer().serializeToString(drawing);
}
