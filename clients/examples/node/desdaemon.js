// A client of desdaemon, written from docs/protocol.md: requests by id, partials by callback, errors with codes.

import { readFileSync } from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"
import { decode, encode } from "./msgpack.js"
import { Connection } from "./zmtp.js"

// Return the endpoint of this user's daemon, from the connection file that it writes.
export function localEndpoint() {
  const { DESDAEMON_RUNTIME_DIR: named, XDG_RUNTIME_DIR: parent } = process.env
  const folder = named || (parent ? join(parent, "desdaemon") : join(tmpdir(), `desdaemon-${userInfo().uid}`))
  const daemon = JSON.parse(readFileSync(join(folder, "connection.json"), "utf8"))
  process.kill(daemon.pid, 0) // throws if there is no such process
  return daemon.endpoints[0]
}

export class DaemonError extends Error {
  // `data` are the results so far of a cancelled analysis.
  constructor({ code, message, field }, data) {
    super(message)
    Object.assign(this, { code, field, data })
  }
}

// A request in flight: await its `final`, or `cancel` it.
class Request {
  constructor(daemon, id, onPartial) {
    this.daemon = daemon
    this.id = id
    this.onPartial = onPartial
    this.final = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }))
    this.final.catch(() => {})
  }

  // With `keep` an analysis ends with its results so far instead of an error.
  cancel(keep = false) {
    return this.daemon.start("cancel", { target: this.id, keep }).final
  }
}

export class Daemon {
  #connection
  #open = new Map()
  #last = 0
  #failure

  // Connect to an `endpoint` such as tcp://host:6464, with a `keyFile` that `desdaemon keys new` wrote.
  static async connect(endpoint = localEndpoint(), keyFile = undefined) {
    const daemon = new Daemon()
    const onMessage = (frames) => daemon.#take(decode(frames.at(-1)))
    const onClose = (error) => daemon.#lose(error)
    daemon.#connection = keyFile
      ? await (await import("./curve.js")).keyedConnection(endpoint, "DEALER", keyFile, onMessage, onClose)
      : new Connection(endpoint, "DEALER", onMessage, onClose)
    return daemon
  }

  start(op, args = {}, onPartial = undefined) {
    const request = new Request(this, ++this.#last, onPartial)
    if (this.#failure) request.reject(this.#failure)
    else {
      this.#open.set(request.id, request)
      this.#connection.send([encode({ v: 1, id: request.id, op, args })])
    }
    return request
  }

  // Resolve to the final's data; reject with a DaemonError.
  request(op, args = {}, onPartial = undefined) {
    return this.start(op, args, onPartial).final
  }

  #take({ id, type, data, error, warnings = [] }) {
    for (const warning of warnings) console.warn(warning)
    if (id === null) {
      this.#lose(new DaemonError(error))
      return
    }
    const request = this.#open.get(id)
    if (!request) return
    if (type === "partial") {
      request.onPartial?.(data)
      return
    }
    this.#open.delete(id)
    if (type === "final") request.resolve(data)
    else request.reject(new DaemonError(error, data))
  }

  // The connection broke: open requests may have been carried out. A new Daemon may repeat those that change nothing.
  #lose(error) {
    this.#failure = error
    for (const request of this.#open.values()) request.reject(error)
    this.#open.clear()
  }

  close() {
    this.#connection.close()
  }
}

// Call `onEvent(topic, data)` for events whose topics begin with one of `topics`. Returns an object with `close`.
export function subscribe(endpoint, topics, onEvent, onClose = () => {}) {
  const beside = endpoint.startsWith("tcp://")
    ? endpoint.replace(/\d+$/, (port) => String(Number(port) + 1))
    : `${endpoint}-events`
  const onMessage = ([topic, body]) => onEvent(topic.toString(), decode(body))
  const connection = new Connection(beside, "SUB", onMessage, onClose)
  for (const topic of topics) connection.send([Buffer.concat([Buffer.of(1), Buffer.from(topic)])])
  return connection
}
