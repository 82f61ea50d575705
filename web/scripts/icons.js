import { crc32, deflateSync } from 'node:zlib'

// Draws public/favicon.svg, on a square of 32 x 32, as PNG for home screens that need PNG icons.
// Distances to the shapes give smooth edges at every size.

const ground = [0x0b, 0x6b, 0x58]
const white = [0xff, 0xff, 0xff]
const amber = [0xff, 0xc8, 0x57]

/** @typedef {[x: number, y: number]} Point */

const away = (/** @type {Point} */ [x, y], /** @type {Point} */ [a, b]) => Math.hypot(x - a, y - b)

/** @type {(p: Point, a: Point, b: Point) => number} */
function fromLine(p, a, b) {
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]]
  const t = Math.min(1, Math.max(0, ((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / (dx * dx + dy * dy)))
  return away(p, [a[0] + t * dx, a[1] + t * dy])
}

/** The distance of a point from the circle, whose top right quarter is missing. @type {(p: Point) => number} */
function fromArc(p) {
  if (p[0] > 16 && p[1] < 16) return Math.min(away(p, [16, 6.5]), away(p, [25.5, 16]))
  return Math.abs(away(p, [16, 16]) - 9.5)
}

/** The distance of a point from the square with round corners; negative inside. @type {(p: Point, round: number) => number} */
function fromSquare(p, round) {
  const [dx, dy] = [Math.abs(p[0] - 16) - 16 + round, Math.abs(p[1] - 16) - 16 + round]
  return Math.hypot(Math.max(dx, 0), Math.max(dy, 0)) + Math.min(Math.max(dx, dy), 0) - round
}

/**
 * @param {number} size in pixels
 * @param {{ round: number, drawn: number }} looks the corners, 0: none; and the size of the drawing, 1: as in the favicon
 */
function pixels(size, { round, drawn }) {
  const scale = size / 32
  const rows = Buffer.alloc(size * (size * 4 + 1)) // each row begins with its filter type: none
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      /** @type {Point} */
      const p = [(x + 0.5) / scale, (y + 0.5) / scale]
      /** @type {Point} */
      const q = [16 + (p[0] - 16) / drawn, 16 + (p[1] - 16) / drawn]
      const cover = (/** @type {number} */ d, /** @type {number} */ by) => Math.min(1, Math.max(0, 0.5 - d * by))
      const stroke = Math.min(fromArc(q), fromLine(q, [16, 10.8], [16, 16]), fromLine(q, [16, 16], [19.6, 18.4])) - 1.3
      const dot = away(q, [23.2, 8.8]) - 2.6
      const at = y * (size * 4 + 1) + 1 + x * 4
      for (let c = 0; c < 3; c++) {
        let v = ground[c] ?? 0
        v += ((white[c] ?? 0) - v) * cover(stroke, scale * drawn)
        v += ((amber[c] ?? 0) - v) * cover(dot, scale * drawn)
        rows[at + c] = Math.round(v)
      }
      rows[at + 3] = Math.round(255 * (round ? cover(fromSquare(p, round), scale) : 1))
    }
  }
  return rows
}

/** @type {(type: string, data: Buffer) => Buffer} */
function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type), data])
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  check.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, check])
}

/** @type {(size: number, looks: { round: number, drawn: number }) => Buffer} */
function png(size, looks) {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(size, 0)
  head.writeUInt32BE(size, 4)
  head.set([8, 6], 8) // bits per channel; color with alpha
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', deflateSync(pixels(size, looks), { level: 9 })), chunk('IEND', Buffer.alloc(0))])
}

/** A vite plugin that draws the icons named by the manifests and pages. */
export function icons() {
  return {
    name: 'icons',
    apply: /** @type {const} */ ('build'),
    /** @this {import('vite').Rolldown.PluginContext} */
    generateBundle() {
      for (const [fileName, size, looks] of /** @type {const} */ ([
        ['icon-192.png', 192, { round: 9, drawn: 1 }],
        ['icon-512.png', 512, { round: 9, drawn: 1 }],
        ['icon-maskable.png', 512, { round: 0, drawn: 0.82 }], // safe for any mask shape
        ['apple-touch-icon.png', 180, { round: 0, drawn: 0.9 }],
      ])) {
        this.emitFile({ type: 'asset', fileName, source: png(size, looks) })
      }
    },
  }
}
