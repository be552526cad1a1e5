// A client of desdaemon: requests in flight by id, partials by callback, errors with codes.

import { readFileSync } from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"
import { decode, encode } from "@msgpack/msgpack"
import { Dealer } from "zeromq"

// The daemon of this user on this machine, by the file that it leaves.
function localEndpoint() {
  const { DESDAEMON_RUNTIME_DIR: named, XDG_RUNTIME_DIR: parent } = process.env
  const folder = named || (parent ? join(parent, "desdaemon") : join(tmpdir(), `desdaemon-${userInfo().uid}`))
  return JSON.parse(readFileSync(join(folder, "connection.json"), "utf8")).endpoints[0]
}

export class Daemon {
  #socket = new Dealer({ linger: 200 })
  #open = new Map()
  #last = 0

  // `endpoint` such as tcp://host:6464; `keyFile` as `desdaemon keys new` writes it.
  constructor(endpoint = localEndpoint(), keyFile = undefined) {
    if (keyFile) {
      const lines = readFileSync(keyFile, "utf8").matchAll(/^([a-z-]+) = "(.*)"$/gm)
      const keys = Object.fromEntries(Array.from(lines, ([, name, key]) => [name, key]))
      this.#socket.curvePublicKey = keys["public-key"]
      this.#socket.curveSecretKey = keys["secret-key"]
      this.#socket.curveServerKey = keys["server-key"]
    }
    this.#socket.connect(endpoint)
    this.#listen()
  }

  async #listen() {
    for await (const frames of this.#socket) {
      const reply = decode(frames.at(-1))
      const request = this.#open.get(reply.id)
      if (!request) continue
      if (reply.type === "partial") {
        request.onPartial?.(reply.data)
        continue
      }
      this.#open.delete(reply.id)
      if (reply.type === "final") request.resolve(reply.data)
      else request.reject(Object.assign(new Error(reply.error.message), reply.error))
    }
  }

  // The final data of an operation; an error has the `code` of the protocol.
  request(op, args = {}, onPartial = undefined) {
    const id = ++this.#last
    return new Promise((resolve, reject) => {
      this.#open.set(id, { resolve, reject, onPartial })
      this.#socket.send(["", encode({ v: 1, id, op, args })]).catch(reject)
    })
  }

  close() {
    this.#socket.close()
  }
}
