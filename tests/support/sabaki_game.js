// Two engines play each other through Sabaki's own library, and one of them analyses; a line of JSON says what they said.
// node sabaki_game.js PLIES COMMAND ARGUMENT ...

const {Controller} = require('@sabaki/gtp')

const [plies, command, ...rest] = process.argv.slice(2)

async function ask(engine, id, name, ...args) {
  const response = await engine.sendCommand({id, name, args})
  if (response.error) throw new Error(`${name} ${args.join(' ')}: ${response.content}`)
  if (response.id !== id) throw new Error(`${name}: an answer with the id ${response.id}`)
  return response.content
}

async function main() {
  const engines = [new Controller(command, rest), new Controller(command, rest)]
  for (const engine of engines) engine.start()
  let id = 1
  const moves = []
  for (const engine of engines) {
    await ask(engine, id++, 'protocol_version')
    await ask(engine, id++, 'boardsize', '8')
    await ask(engine, id++, 'clear_board')
  }
  for (let turn = 0, passes = 0; moves.length < Number(plies) && passes < 2; turn = 1 - turn) {
    const colour = 'BW'[turn]
    const move = await ask(engines[turn], id++, 'genmove', colour)
    await ask(engines[1 - turn], id++, 'play', colour, move)
    passes = move === 'pass' ? passes + 1 : 0
    moves.push(move)
  }
  const scores = []
  for (const engine of engines) scores.push(await ask(engine, id++, 'final_score'))
  await ask(engines[0], id++, 'clear_board')
  const lines = []
  const analysis = engines[0].sendCommand({name: 'kata-analyze', args: ['B', '10']}, ({line}) => {
    if (line.startsWith('info ')) lines.push(line)
    if (lines.length === 2) engines[0].sendCommand({name: 'name'})
  })
  await analysis
  for (const engine of engines) await engine.stop()
  console.log(JSON.stringify({moves, scores, lines}))
}

main().catch(error => {
  console.error(String(error))
  process.exit(1)
})
