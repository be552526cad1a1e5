// msgpack as docs/protocol.md uses it: nil, bool, int, float, str, array, map.

export function encode(value) {
  const parts = []
  put(value, parts)
  return Buffer.concat(parts)
}

function put(value, parts) {
  if (value === null || value === undefined) parts.push(Buffer.of(0xc0))
  else if (typeof value === "boolean") parts.push(Buffer.of(value ? 0xc3 : 0xc2))
  else if (typeof value === "number") parts.push(Number.isInteger(value) ? integer(value) : float(value))
  else if (typeof value === "string") {
    const text = Buffer.from(value)
    parts.push(head(text.length, 0xa0, 32, 0xd9), text)
  } else if (Array.isArray(value)) {
    parts.push(head(value.length, 0x90, 16, undefined))
    for (const item of value) put(item, parts)
  } else {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined)
    parts.push(head(entries.length, 0x80, 16, undefined))
    for (const [name, item] of entries) {
      put(name, parts)
      put(item, parts)
    }
  }
}

// Return the head of a str, array or map: short below `limit`, else with a size of 8 (str only), 16 or 32 bits.
function head(size, short, limit, byte) {
  if (size < limit) return Buffer.of(short | size)
  if (byte !== undefined && size < 0x100) return Buffer.of(byte, size)
  const first = { 0xa0: 0xda, 0x90: 0xdc, 0x80: 0xde }[short]
  const made = Buffer.alloc(size < 0x10000 ? 3 : 5)
  made[0] = size < 0x10000 ? first : first + 1
  made.writeUIntBE(size, 1, made.length - 1)
  return made
}

function integer(value) {
  if (value >= -32 && value < 128) return Buffer.of(value & 0xff)
  const made = Buffer.alloc(9)
  made[0] = value < 0 ? 0xd3 : 0xcf
  if (value < 0) made.writeBigInt64BE(BigInt(value), 1)
  else made.writeBigUInt64BE(BigInt(value), 1)
  return made
}

function float(value) {
  const made = Buffer.alloc(9)
  made[0] = 0xcb
  made.writeDoubleBE(value, 1)
  return made
}

// Return the value in a body; ints beyond 2^53 lose precision.
export function decode(body) {
  let at = 0
  const uint = (size) => body.readUIntBE((at += size) - size, size)
  const text = (size) => body.toString("utf8", at, (at += size))
  const list = (size) => Array.from({ length: size }, value)
  const map = (size) => Object.fromEntries(Array.from({ length: size }, () => [value(), value()]))

  function value() {
    const first = uint(1)
    if (first < 0x80) return first
    if (first < 0x90) return map(first & 15)
    if (first < 0xa0) return list(first & 15)
    if (first < 0xc0) return text(first & 31)
    if (first >= 0xe0) return first - 256
    switch (first) {
      case 0xc0: return null
      case 0xc2: return false
      case 0xc3: return true
      case 0xca: return body.readFloatBE((at += 4) - 4)
      case 0xcb: return body.readDoubleBE((at += 8) - 8)
      case 0xcc: return uint(1)
      case 0xcd: return uint(2)
      case 0xce: return uint(4)
      case 0xcf: return Number(body.readBigUInt64BE((at += 8) - 8))
      case 0xd0: return body.readInt8((at += 1) - 1)
      case 0xd1: return body.readInt16BE((at += 2) - 2)
      case 0xd2: return body.readInt32BE((at += 4) - 4)
      case 0xd3: return Number(body.readBigInt64BE((at += 8) - 8))
      case 0xd9: return text(uint(1))
      case 0xda: return text(uint(2))
      case 0xdb: return text(uint(4))
      case 0xdc: return list(uint(2))
      case 0xdd: return list(uint(4))
      case 0xde: return map(uint(2))
      case 0xdf: return map(uint(4))
    }
    throw new Error(`msgpack: unexpected byte ${first}`)
  }

  const result = value()
  if (at !== body.length) throw new Error("msgpack: bytes are left over")
  return result
}
