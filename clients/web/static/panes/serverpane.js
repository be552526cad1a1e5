// The pane of the engine: jobs with their progress, the daemon's status, and the last messages.

import { byId, el, fill } from "../view/dom.js";
import { complain } from "../view/notice.js";
import { changesText, t } from "../view/texts.js";

const STATES = /** @type {Record<string, string>} */ ({
  queued: "stateQueued",
  running: "stateRunning",
  done: "stateDone",
  cancelled: "stateCancelled",
  failed: "stateFailed",
});

/** Phases that are a whole job: games of self-play, positions of a batch. */
const WHOLE = ["games", "analyze"];

/** @typedef {import("../main.js").App} App */

export class ServerPane {
  /** @param {Pick<App, "preferences"|"socket"|"tabs">} page */
  constructor({ preferences, socket, tabs }) {
    this.socket = socket;
    /** @type {Map<number, any>} */
    this.jobs = new Map();
    preferences.on(() => this.draw(), "language");
    socket.on(({ event, data }) => this.take(event, data), "told");
    tabs.on(() => this.shown());
    byId("log-box").addEventListener("toggle", () => this.log());
    setInterval(() => this.log(), 1000);
  }

  /** @param {any} hello */
  async greet(hello) {
    this.editor = hello.role !== "reader";
    const may = t(this.editor ? "mayEdit" : "mayRead");
    byId("version").textContent = t("version", { name: hello.name, version: hello.version, may });
    this.shown();
    await this.list();
  }

  /** @param {string} event @param {any} data */
  take(event, data) {
    if (event.startsWith("job.")) this.progress(data);
    else if (event === "status") this.look();
  }

  /** Follow the daemon's status while the pane is shown. */
  shown() {
    const topics = byId("pane-server").hidden ? [] : ["status"];
    this.socket.ask("web.follow", { topics }).catch(() => {});
    if (topics.length) this.look();
    this.log();
  }

  /** Ask for the daemon's status, because its events do not tell who searches. */
  look() {
    this.socket.ask("status").then(
      (data) => this.status(data),
      () => {},
    );
  }

  async list() {
    const listed = await this.socket.ask("jobs").catch(() => ({ jobs: [] }));
    for (const job of listed.jobs) this.note(job);
    this.draw();
  }

  /** @param {any} data a job's data in a list, an event or a partial */
  note(data) {
    const old = this.jobs.get(data.job) ?? {};
    this.jobs.set(data.job, { state: "running", ...old, ...data, share: share(data) ?? old.share });
  }

  /** Show an event or a partial about a job. @param {any} data */
  progress(data) {
    if (!data.job) return;
    this.note(data);
    this.draw();
  }

  draw() {
    const jobs = [...this.jobs.values()].sort((a, b) => b.job - a.job).slice(0, 20);
    fill(byId("jobs"), ...jobs.map((job) => this.row(job)));
    fill(byId("book-jobs"), ...jobs.filter(busy).map((job) => this.row(job)));
    byId("jobs-none").hidden = jobs.length > 0;
    const running = jobs.find((job) => job.state === "running");
    byId("job-chip").hidden = !running;
    byId("job-chip").textContent = running ? [running.op ?? t("jobs"), ...doneOf(running)].join(" · ") : "";
  }

  /** @param {any} job */
  row(job) {
    const going = busy(job);
    const parts = [`${job.job}. ${job.op ?? ""} · ${t(STATES[job.state] ?? job.state)}`, ...(going ? doneOf(job) : [])];
    if (going && job.total) parts.push(t("jobProgress", { phase: job.phase, done: job.done, total: job.total }));
    if (going && job.rate) parts.push(t("jobRate", { n: job.rate.toFixed(1) }));
    if (going && job.eta_s) parts.push(t("jobLeft", { n: Math.round(job.eta_s) }));
    if (going && job.searches) parts.push(t("jobSearches", { n: job.searches }));
    parts.push(...(going && job.added === 0 ? [t("jobAdded", { n: 0 })] : changesText(job)));
    return el(
      "li",
      { class: "job" },
      el("span", { text: parts.join(" · ") }),
      going ? el("progress", { value: job.share, "aria-label": job.op }) : null,
      going && this.editor
        ? el("button", {
            text: t("stop"),
            onclick: () =>
              this.socket.ask("cancel", { job: job.job }).catch((refusal) => complain(refusal)),
          })
        : null,
    );
  }

  /** @param {any} data */
  status(data) {
    const hours = Math.floor(data.uptime_s / 3600);
    const minutes = Math.floor(data.uptime_s / 60) % 60;
    fill(
      byId("status"),
      el("li", { text: t("searches", { n: data.running, m: data.queued, t: data.threads }) }),
      el("li", {
        text: t("clients", {
          n: data.clients,
          m: Math.round(data.memory_mb),
          t: `${hours}:${String(minutes).padStart(2, "0")}`,
        }),
      }),
      ...(data.accounts ?? []).map((/** @type {any} */ one) =>
        el("li", { text: t("who", { key: one.key, n: one.in_flight, s: Math.round(one.seconds) }) }),
      ),
      ...data.problems.map((/** @type {string} */ line) => el("li", { class: "problem", text: line })),
    );
  }

  log() {
    if (!byId("log-box").open || byId("pane-server").hidden) return;
    const lines = this.socket.log
      .slice(-60)
      .reverse()
      .map((one) => `${new Date(one.at).toLocaleTimeString()} ${one.out ? "→" : "←"} ${one.text}`);
    byId("log").textContent = lines.join("\n");
  }
}

/** @param {any} job */
const busy = (job) => ["running", "queued"].includes(job.state);

/** Return the part of a job that is done, 0 to 1, by its budget or its phase; undefined if unknown.
 * @param {any} data @returns {number|undefined} */
function share({ budget, phase, done, total }) {
  return budget || (WHOLE.includes(phase) && total ? done / total : undefined);
}

/** Return a job's progress in words. @param {any} job */
function doneOf(job) {
  const percent = job.share === undefined ? [] : [`${Math.floor(100 * job.share)} %`];
  return job.round ? [...percent, t("jobRound", { n: job.round })] : percent;
}
