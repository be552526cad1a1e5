// The graphs of a game: scores, Black's advantage up, with their depth; and the discs that each side has lost.

import { certainty } from "../model/knowledge.js";
import { SIDES, colour } from "../model/rules.js";
import { t } from "./texts.js";
import { signed, svg } from "./dom.js";

/** @typedef {import("../engine/review.js").Step} Step */

const WIDTH = 760;
const HEIGHT = 230;
const LEFT = 52;
const RIGHT = 18;
const TOP = 16;
const BOTTOM = 40;
/** Least number of plies on the axis. */
const LEAST = 20;

/** @param {number} at @param {number} count */
const xOf = (at, count) => LEFT + (at * (WIDTH - LEFT - RIGHT)) / Math.max(1, count - 1);

/** Return the graph of scores or of losses as SVG; `go` is called with the ply that is pressed. @param {Step[]} steps
 * @param {number} now the ply looked at @param {"score"|"loss"} kind @param {(ply: number) => void} go */
export function graph(steps, now, kind, go) {
  const count = Math.max(steps.length, LEAST + 1);
  const picture = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    role: "img",
    class: "graph",
    "aria-label": described(steps, kind),
  });
  const bottom = HEIGHT - BOTTOM;
  if (kind === "score") scores(picture, steps, count, bottom);
  else losses(picture, steps, count, bottom);
  for (let ply = 10; ply < count; ply += 10) {
    picture.append(svg("text", { class: "tick ply", x: xOf(ply, count), y: HEIGHT - 6, text: ply }));
  }
  picture.append(svg("path", { class: "cursor", d: `M${xOf(now, count)} ${TOP}V${bottom}` }));
  /** @param {PointerEvent} event */
  const follow = (event) => {
    const box = picture.getBoundingClientRect();
    const x = ((event.clientX - box.left) * WIDTH) / box.width;
    go(Math.max(0, Math.min(steps.length - 1, Math.round(((x - LEFT) * (count - 1)) / (WIDTH - LEFT - RIGHT)))));
  };
  picture.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => follow(event));
  picture.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => event.buttons & 1 && follow(event));
  return picture;
}

/** @param {any} picture @param {Step[]} steps @param {number} count @param {number} bottom */
function scores(picture, steps, count, bottom) {
  const known = steps.map((step) => step.score).filter((score) => score !== null);
  const largest = scale(Math.max(8, ...known.map((score) => Math.abs(Number(score)))));
  /** @param {number} score */
  const yOf = (score) => TOP + ((largest - score) * (bottom - TOP)) / (2 * largest);
  axis(picture, [-largest, -largest / 2, 0, largest / 2, largest], yOf, (value) => String(Math.abs(value)));
  const zero = yOf(0);
  /** @type {{at: number, score: number}[][]} */
  const runs = [[]];
  steps.forEach((step, at) => {
    if (step.score === null) runs.push([]);
    else runs[runs.length - 1].push({ at, score: step.score });
  });
  for (const run of runs.filter((one) => one.length)) {
    const points = run.map(({ at, score }) => `${xOf(at, count).toFixed(1)} ${yOf(score).toFixed(1)}`);
    const [first, last] = [xOf(run[0].at, count), xOf(run[run.length - 1].at, count)];
    for (const side of ["black", "white"]) {
      const clamped = run.map(
        ({ at, score }) =>
          `${xOf(at, count).toFixed(1)} ${yOf(side === "black" ? Math.max(0, score) : Math.min(0, score)).toFixed(1)}`,
      );
      picture.append(
        svg("path", { class: `area ${side}`, d: `M${first} ${zero}L${clamped.join("L")}L${last} ${zero}Z` }),
      );
    }
    picture.append(svg("path", { class: "score", d: `M${points.join("L")}` }));
  }
  // A strip below, whose height is the depth of the search.
  steps.forEach((step, at) => {
    if (step.score === null) return;
    const result = /** @type {any} */ (step.sure);
    const height = step.exact ? 12 : Math.max(2, Math.min(11, result.depth / 2.5));
    const width = Math.max(2, (WIDTH - LEFT - RIGHT) / count - 1);
    picture.append(
      svg(
        "rect",
        {
          class: `sure${step.exact ? " exact" : ""}`,
          x: xOf(at, count) - width / 2,
          y: bottom + 14 - height,
          width,
          height,
        },
        svg("title", { text: `${at}: ${signed(step.score)}, ${step.exact ? "=" : certainty(result)}` }),
      ),
    );
  });
  steps.forEach((step, at) => {
    if (!step.grade || step.score === null) return;
    const shape = step.node.side === "X" ? svg("circle", { r: 5 }) : svg("path", { d: "M0 -6.5L6.5 0L0 6.5L-6.5 0Z" });
    picture.append(
      svg("g", { class: `blot ${step.grade}`, transform: `translate(${xOf(at, count)} ${yOf(step.score)})` }, shape),
    );
  });
  picture.append(svg("text", { class: "side", x: LEFT + 6, y: TOP + 14, text: t("blackAhead") }));
  picture.append(svg("text", { class: "side", x: LEFT + 6, y: bottom - 6, text: t("whiteAhead") }));
}

/** @param {any} picture @param {Step[]} steps @param {number} count @param {number} bottom */
function losses(picture, steps, count, bottom) {
  /** @type {Record<string, number>} */
  const sum = { X: 0, O: 0 };
  /** @type {Record<string, string[]>} */
  const lines = { X: [], O: [] };
  const totals = steps.map((step) => {
    sum[step.node.side] += step.lost;
    return { ...sum };
  });
  const largest = scale(Math.max(8, sum.X, sum.O));
  /** @param {number} value */
  const yOf = (value) => TOP + ((largest - value) * (bottom - TOP)) / largest;
  axis(picture, [0, largest / 2, largest], yOf, String);
  for (const side of SIDES) {
    lines[side].push(`${xOf(0, count)} ${yOf(0)}`);
    totals.forEach(
      (total, at) =>
        at + 1 < totals.length && lines[side].push(`${xOf(at + 1, count).toFixed(1)} ${yOf(total[side]).toFixed(1)}`),
    );
    picture.append(svg("path", { class: `loss ${colour(side)}`, d: `M${lines[side].join("L")}` }));
    picture.append(
      svg("text", {
        class: "side",
        x: LEFT + 6,
        y: side === "X" ? TOP + 14 : TOP + 32,
        text: `${t(colour(side))} ${sum[side]}`,
      }),
    );
  }
}

/** @param {any} picture @param {number[]} values @param {(value: number) => number} yOf
 * @param {(value: number) => string} name */
function axis(picture, values, yOf, name) {
  for (const value of values) {
    picture.append(svg("path", { class: value ? "grid" : "zero", d: `M${LEFT} ${yOf(value)}H${WIDTH - RIGHT}` }));
    picture.append(svg("text", { class: "tick value", x: LEFT - 6, y: yOf(value) + 4, text: name(value) }));
  }
}

/** @param {number} largest */
const scale = (largest) => [8, 16, 32, 64, 128, 256, 512, 1024].find((one) => largest <= one) ?? 2048;

/** @param {Step[]} steps @param {string} kind */
function described(steps, kind) {
  const known = steps.map((step) => step.score).filter((score) => score !== null);
  if (!known.length) return t("graphEmpty");
  return t(kind === "score" ? "graphScores" : "graphLosses", {
    low: signed(Math.min(...known.map(Number))),
    high: signed(Math.max(...known.map(Number))),
  });
}
