// Analyses every position of a game: node analyze_game.js f5d6c3d3c4 [LEVEL] [ENDPOINT] [KEYFILE]

import { Daemon } from "./desdaemon.js"

const [moves = "f5d6c3d3c4f4e3", level = "10", endpoint, keyFile] = process.argv.slice(2)
let daemon
try {
  daemon = await Daemon.connect(endpoint, keyFile)
  const silence = new Promise((_, reject) => {
    setTimeout(() => reject(new Error("no reply within 5 s: no server there, or a key that it refuses")), 5000).unref()
  })
  const { name, version, role } = await Promise.race([daemon.request("hello"), silence])
  console.log(`${name} ${version}, role ${role}`)
  const plies = Array.from({ length: moves.length / 2 + 1 }, (_, ply) => ply)
  const final = await daemon.request("analyze", { moves, plies, level: Number(level) }, ({ ply, done, moves: [best] }) => {
    // A score from a book of a lower level is preliminary: a search follows.
    if (done) console.log(`${ply}: ${best ? `${best.move} ${best.score} ${best.pv}` : "the game is over"}`)
  })
  console.log(`${final.plies.length} positions in ${final.time_ms} ms`)
  const look = await daemon.request("book.get", { moves })
  console.log(look.found ? `in the book: ${look.score}` : "not in the book")
} catch (error) {
  console.error(`${error.code ?? "error"}: ${error.message}`)
  process.exitCode = 1
} finally {
  daemon?.close()
}
