// The keys: one table, for actions, the sheet that `?` shows, titles of buttons, and the documentation.

import { deep } from "./board.js";
import { t } from "./texts.js";
import { byId, el, fill, press } from "./dom.js";

/** @typedef {import("../main.js").App} App */
/** @typedef {{keys: string[], text: string, letter: boolean, act: (app: App) => void}} Key
 *   `keys` as in `KeyboardEvent.key`, with Shift+ if pressed; keys with `letter` can be switched off. */

/** @param {string} keys @param {string} text @param {(app: App) => void} act @returns {Key} */
const key = (keys, text, act) => ({ keys: keys.split(" "), text, letter: /(^| |\+)[a-z?]( |$)/.test(keys), act });

/** Return the pane that asks: that of practice while it is shown, else that of exercises. @param {App} app */
const asked = (app) => (app.preferences.get("pane") === "practice" ? app.panes.practice : app.panes.exercises);

export const KEYS = [
  key("ArrowLeft k", "back", (app) => app.game.step(-1)),
  key("ArrowRight j", "forward", (app) => app.game.step(1)),
  key("Home", "first", (app) => app.game.go(app.game.root)),
  key("End", "last", (app) => app.game.go(app.game.line().at(-1) ?? app.game.root)),
  key("PageUp", "tenBack", (app) => app.game.step(-10)),
  key("PageDown", "tenForward", (app) => app.game.step(10)),
  key("Backspace", "undo", (app) => app.lesson.takeBack() || app.player.undo()),
  key("Shift+ArrowRight ArrowDown", "nextBranch", (app) => app.game.branch(1)),
  key("Shift+ArrowLeft ArrowUp", "previousBranch", (app) => app.game.branch(-1)),
  key("n", "nextMistake", (app) => app.panes.game.toMistake(1)),
  key("Shift+n", "previousMistake", (app) => app.panes.game.toMistake(-1)),
  key("g", "enginePlays", (app) => app.player.think()),
  key("v", "hints", (app) => app.preferences.set("hints", !app.preferences.get("hints"))),
  key("l", "line", (app) => app.board.along(1)),
  key("Shift+l", "lineBack", (app) => app.board.along(-1)),
  key("u", "simple", (app) => app.preferences.set("sure", !app.preferences.get("sure"))),
  key("a", "analyse", (app) => app.review.begin()),
  key("d", "showLosses", (app) => app.panes.game.swapGraph()),
  key("x", "nextAsked", (app) => asked(app).next()),
  key("h", "hint", (app) => app.lesson.why.tell("better") || asked(app).hint()),
  key("w", "why", (app) => app.lesson.why.tell("why") || asked(app).explain()),
  key("p", "play", (app) => app.lesson.choose(true, 0)),
  key("t", "learn", (app) => app.lesson.choose(true)),
  key("e", "setUp", (app) => app.controls.beginSetup()),
  key("f", "turnBoard", (app) => app.controls.rotate()),
  key("m", "mirrorBoard", (app) => app.controls.mirror()),
  key("Shift+r", "newGame", (app) => app.controls.newGame()),
  key("s", "focusBoard", (app) => app.board.focus()),
  key("Escape", "stop", (app) => app.game.halt()),
  key("?", "help", () => showHelp()),
];

const NAMES = /** @type {Record<string, string>} */ ({
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  PageUp: "Page Up",
  PageDown: "Page Down",
  Escape: "Esc",
});

/** @param {string} one */
const shown = (one) =>
  one
    .split("+")
    .map((part) => NAMES[part] ?? part)
    .join(" + ");

/** @param {App} app */
export function listen(app) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
    const target = /** @type {HTMLElement} */ (event.target);
    if (target.closest("input:not([type=checkbox]), textarea, select, dialog") && event.key !== "Escape") return;
    if (target.closest("dialog")) return;
    const pressed =
      (event.shiftKey && event.key !== "?" ? "Shift+" : "") +
      (event.key.length === 1 ? event.key.toLowerCase() : event.key);
    if (app.board.setup?.key(pressed)) {
      event.preventDefault();
      return;
    }
    const binding = KEYS.find((one) => one.keys.includes(pressed));
    if (
      !binding ||
      (binding.letter && pressed.length <= 7 && /(^|\+).$/.test(pressed) && !app.preferences.get("letters"))
    )
      return;
    event.preventDefault();
    binding.act(app);
  });
  press("keys-close", () => byId("keys").close());
  press("help", showHelp);
}

function showHelp() {
  const signs = [
    ["+4", t("aheadAbout")],
    ["16", deep(16, 100)],
    ["16@73%", deep(16, 73)],
    [t("sourceLink"), t("fromBook")],
    ["=", t("exactAbout")],
    [t("colours"), t("coloursAbout")],
  ];
  const columns = [
    ["grade", "gradeAbout"],
    ["lines", "linesAbout"],
    ["level", "levelAbout"],
    ["paths", "pathsAbout"],
    ["toKnow", "toKnowAbout"],
  ].map((pair) => pair.map((name) => t(name)));
  const about = (/** @type {string[][]} */ rows) =>
    rows.map(([name, text]) => el("tr", {}, el("th", { scope: "row", text: name }), el("td", { text })));
  fill(byId("signs-table"), ...about(signs));
  fill(byId("columns-table"), ...about(columns));
  const rows = KEYS.map((one) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, ...one.keys.flatMap((name, at) => [at ? " " : "", el("kbd", { text: shown(name) })])),
      el("td", { text: t(one.text) }),
    ),
  );
  fill(byId("keys-table"), ...rows);
  byId("keys").showModal();
}
