// A connection with a key, by ZeroMQ's own library: `npm install zeromq`. It has the methods of `Connection` in zmtp.js.

import { readFileSync, statSync } from "node:fs"

export async function keyedConnection(endpoint, type, keyFile, onMessage, onClose) {
  const zeromq = await import("zeromq").catch(() => {
    throw new Error("a key needs the package zeromq: npm install zeromq")
  })
  if (statSync(keyFile).mode & 0o077) throw new Error(`${keyFile}: others can read this secret key`)
  const lines = readFileSync(keyFile, "utf8").matchAll(/^\s*([a-z-]+) = "(.*)"$/gm)
  const keys = Object.fromEntries(Array.from(lines, ([, name, key]) => [name, key]))
  const socket = type === "SUB" ? new zeromq.Subscriber() : new zeromq.Dealer({ linger: 200 })
  socket.curvePublicKey = keys["public-key"]
  socket.curveSecretKey = keys["secret-key"]
  socket.curveServerKey = keys["server-key"]
  socket.connect(endpoint)
  const listen = async () => {
    for await (const frames of socket) onMessage(frames)
  }
  listen().catch(onClose)
  // The library sends one message at a time.
  let sent = Promise.resolve()
  const send = (frames) => {
    sent = sent.then(() => socket.send(frames)).catch(onClose)
  }
  return { send, close: () => socket.close() }
}
