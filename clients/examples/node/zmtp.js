// The part of ZMTP 3 that a client without a key needs (docs/protocol.md, "ZMTP"), over Node's own sockets.

import { connect } from "node:net"

const MORE = 1
const LONG = 2
const COMMAND = 4
const GREETING_SIZE = 64

// One connection. `onMessage` gets the frames of a message, `onClose` an Error when the connection has ended.
export class Connection {
  #socket
  #buffer = Buffer.alloc(0)
  #greeted = false
  #ready = false
  #waiting = []
  #frames = []
  #onMessage
  #onClose

  constructor(endpoint, type, onMessage, onClose) {
    this.#onMessage = onMessage
    this.#onClose = onClose
    this.#socket = connect(address(endpoint))
    this.#socket.on("data", (data) => this.#receive(data))
    this.#socket.on("error", (error) => this.#end(error))
    this.#socket.on("close", () => this.#end(new Error("the daemon has closed the connection")))
    this.#socket.write(greeting())
    this.#socket.write(frame(COMMAND, command("READY", property("Socket-Type", type))))
  }

  // Send a message, a list of frames; before the end of the handshake messages wait.
  send(frames) {
    if (!this.#ready) {
      this.#waiting.push(frames)
      return
    }
    const last = frames.length - 1
    for (const [at, content] of frames.entries()) this.#socket.write(frame(at < last ? MORE : 0, content))
  }

  close() {
    this.#onClose = () => {}
    this.#socket.end()
  }

  #end(error) {
    const onClose = this.#onClose
    this.#onClose = () => {}
    this.#socket.destroy()
    onClose(error)
  }

  #receive(data) {
    this.#buffer = Buffer.concat([this.#buffer, data])
    try {
      while (this.#greeted ? this.#readFrame() : this.#readGreeting());
    } catch (error) {
      this.#end(error)
    }
  }

  #take(size) {
    const taken = this.#buffer.subarray(0, size)
    this.#buffer = this.#buffer.subarray(size)
    return taken
  }

  #readGreeting() {
    if (this.#buffer.length < GREETING_SIZE) return false
    const greeting = this.#take(GREETING_SIZE)
    if (greeting[0] !== 0xff || greeting[9] !== 0x7f || greeting[10] < 3) throw new Error("no peer of ZMTP 3")
    const mechanism = greeting.toString("latin1", 12, 32).replace(/\0+$/, "")
    if (mechanism !== "NULL") throw new Error(`the endpoint wants ${mechanism}: a key is needed`)
    this.#greeted = true
    return true
  }

  #readFrame() {
    if (this.#buffer.length < 2) return false
    const flags = this.#buffer[0]
    const head = flags & LONG ? 9 : 2
    if (this.#buffer.length < head) return false
    const size = flags & LONG ? Number(this.#buffer.readBigUInt64BE(1)) : this.#buffer[1]
    if (this.#buffer.length < head + size) return false
    this.#take(head)
    const content = this.#take(size)
    if (flags & COMMAND) {
      this.#command(content)
      return true
    }
    this.#frames.push(content)
    if (!(flags & MORE)) {
      const message = this.#frames
      this.#frames = []
      this.#onMessage(message)
    }
    return true
  }

  #command(content) {
    const name = content.toString("latin1", 1, 1 + content[0])
    const data = content.subarray(1 + content[0])
    if (name === "READY" && !this.#ready) {
      this.#ready = true
      for (const frames of this.#waiting.splice(0)) this.send(frames)
    } else if (name === "PING") {
      this.#socket.write(frame(COMMAND, command("PONG", data.subarray(2))))
    } else if (name === "ERROR") {
      throw new Error(`the daemon refuses the connection: ${data.toString("latin1", 1)}`)
    }
  }
}

function address(endpoint) {
  if (endpoint.startsWith("ipc://")) return { path: endpoint.slice("ipc://".length) }
  const parts = /^tcp:\/\/(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(endpoint)
  if (!parts) throw new Error(`${endpoint}: expected an endpoint such as tcp://host:6464`)
  return { host: parts[1] ?? parts[2], port: Number(parts[3]) }
}

function greeting() {
  const made = Buffer.alloc(GREETING_SIZE)
  made[0] = 0xff
  made[9] = 0x7f
  made[10] = 3
  made[11] = 1
  made.write("NULL", 12, "latin1")
  return made
}

function frame(flags, content) {
  if (content.length < 256) return Buffer.concat([Buffer.of(flags, content.length), content])
  const head = Buffer.alloc(9)
  head[0] = flags | LONG
  head.writeBigUInt64BE(BigInt(content.length), 1)
  return Buffer.concat([head, content])
}

function command(name, data) {
  return Buffer.concat([Buffer.of(name.length), Buffer.from(name), data])
}

function property(name, value) {
  const size = Buffer.alloc(4)
  size.writeUInt32BE(value.length)
  return Buffer.concat([Buffer.of(name.length), Buffer.from(name), size, Buffer.from(value)])
}
