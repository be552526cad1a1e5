// The socket to the gateway: requests by number, partials as they come, and a new connection after a loss.

import { Teller } from "../model/teller.js";

/** Operations that change nothing and are repeated after a loss of the connection. */
const REPEATABLE = /^(ping|hello|status|analyze|legal|book\.get|games\.get|people\.get|explain|jobs|web\..*)$/;
const PAUSES_MS = [100, 250, 500, 1000, 2000];
/** Milliseconds after which a request is tried again that was refused for the moment. */
export const AGAIN_MS = 2000;

/** An error reply; `code` is one of the protocol's. */
export class Refusal extends Error {
  /** @param {{code: string, message: string}} error @param {any} [found] */
  constructor(error, found) {
    super(error.message);
    this.code = error.code;
    this.found = found;
  }

  /** Whether it is for the moment: another try may be answered. */
  get passing() {
    return /^(busy|cancelled|connection_lost|internal|shutting_down)$/.test(this.code);
  }
}

/** @typedef {{id: number, op: string, args: any, partial: (data: any) => void, resolve: (data: any) => void,
 *   reject: (error: Refusal) => void, sent: boolean}} Pending */

export class Socket extends Teller {
  constructor() {
    super();
    /** Whether gateway and daemon can be reached. */
    this.connected = false;
    /** The last 200 messages, for the log that users see, newest last.
     * @type {{at: number, out: boolean, text: string}[]} */
    this.log = [];
    /** @type {Map<number, Pending>} */
    this.pending = new Map();
    this.last = 0;
    this.failures = 0;
    /** @type {WebSocket|null} */
    this.socket = null;
  }

  connect() {
    const token = /** @type {HTMLMetaElement} */ (document.querySelector("meta[name=page]")).content;
    const address = `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}/socket?page=${token}`;
    const socket = (this.socket = new WebSocket(address));
    socket.addEventListener("message", (event) => this.take(JSON.parse(event.data)));
    socket.addEventListener("close", () => this.lost());
  }

  lost() {
    this.know(false);
    for (const one of [...this.pending.values()]) {
      if (REPEATABLE.test(one.op)) one.sent = false;
      else {
        this.pending.delete(one.id);
        if (one.op === "cancel") one.resolve({ cancelled: true });
        else one.reject(new Refusal({ code: "connection_lost", message: one.op }));
      }
    }
    const pause = PAUSES_MS[Math.min(this.failures++, PAUSES_MS.length - 1)];
    if (this.failures % 4 === 3) this.askWhy();
    setTimeout(() => this.connect(), pause);
  }

  /** Ask for the page, to see whether the gateway refuses this browser, which a socket does not tell: then "shut" is
   * told. */
  async askWhy() {
    try {
      const answer = await fetch("/", { method: "HEAD", cache: "no-store" });
      if (answer.status === 403) this.tell(null, "shut");
    } catch {
      // The gateway is away; the socket tries again.
    }
  }

  /** @param {boolean} connected */
  know(connected) {
    if (connected === this.connected) return;
    this.connected = connected;
    if (connected) {
      this.failures = 0;
      for (const one of this.pending.values()) if (!one.sent) this.send(one);
    }
    this.tell(connected, "connection");
  }

  /** @param {any} message */
  take(message) {
    if (message.event) {
      this.note(false, `${message.event} ${summary(message.data)}`);
      if (message.event === "daemon") this.know(message.data.connected);
      else this.tell(message, "told");
      return;
    }
    const one = this.pending.get(message.id);
    this.note(false, `${message.id} ${message.type} ${summary(message.data ?? message.error)}`);
    if (!one) return;
    if (message.type === "partial") {
      one.partial(message.data);
      return;
    }
    this.pending.delete(message.id);
    if (message.type === "final") one.resolve(message.data);
    else one.reject(new Refusal(message.error, message.data));
  }

  /** Send a request. The promise resolves to the final's data and has `cancel` and the number `id`.
   * @param {string} op @param {any} [args] @param {(data: any) => void} [partial]
   * @returns {Promise<any> & {id: number, cancel: (keep?: boolean) => void}} */
  ask(op, args = {}, partial = () => {}) {
    const id = ++this.last;
    /** @type {Pending} */
    let one;
    const promise = new Promise((resolve, reject) => {
      one = { id, op, args, partial, resolve, reject, sent: false };
      this.pending.set(id, one);
      if (this.connected) this.send(one);
    });
    const cancel = (keep = false) => {
      if (!this.pending.has(id)) return;
      if (one.sent) this.ask("cancel", { target: id, ...(keep ? { keep } : {}) }).catch(() => {});
      else {
        this.pending.delete(id);
        one.reject(new Refusal({ code: "cancelled", message: op }));
      }
    };
    return Object.assign(promise, { id, cancel });
  }

  /** @param {Pending} one */
  send(one) {
    one.sent = true;
    this.note(true, `${one.id} ${one.op} ${summary(one.args)}`);
    this.socket?.send(JSON.stringify({ v: 1, id: one.id, op: one.op, args: one.args }));
  }

  /** @param {boolean} out @param {string} text */
  note(out, text) {
    this.log.push({ at: Date.now(), out, text });
    if (this.log.length > 200) this.log.shift();
  }
}

/** @param {any} data */
function summary(data) {
  const text = JSON.stringify(data) ?? "";
  return text.length > 160 ? `${text.slice(0, 157)}…` : text;
}
