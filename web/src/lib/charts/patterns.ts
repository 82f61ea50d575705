/** The number of series that differ by pattern and color. */
export const looks = 8

/** Returns the current color of a CSS variable inside an element. */
export function colorOf(name: string, within: Element): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  within.append(probe)
  const color = getComputedStyle(probe).color
  probe.remove()
  return color
}

/** The strokes of each pattern on a square of 8; the first pattern is plain. */
const strokes: ((c: CanvasRenderingContext2D) => void)[] = [
  () => {},
  (c) => lines(c, [[-2, 10, 10, -2], [-2, 2, 2, -2], [6, 10, 10, 6]]),
  (c) => dot(c, 4, 4),
  (c) => lines(c, [[0, 4, 8, 4]]),
  (c) => lines(c, [[-2, -2, 10, 10], [-2, 6, 2, 10], [6, -2, 10, 2]]),
  (c) => lines(c, [[0, 4, 8, 4], [4, 0, 4, 8]]),
  (c) => lines(c, [[4, 0, 4, 8]]),
  (c) => (dot(c, 2, 2), dot(c, 6, 6)),
]

function lines(c: CanvasRenderingContext2D, all: [number, number, number, number][]) {
  c.beginPath()
  for (const [x1, y1, x2, y2] of all) {
    c.moveTo(x1, y1)
    c.lineTo(x2, y2)
  }
  c.stroke()
}

function dot(c: CanvasRenderingContext2D, x: number, y: number) {
  c.beginPath()
  c.arc(x, y, 1.3, 0, 2 * Math.PI)
  c.fill()
}

/** The fill of a series' bars: its color with its pattern. */
export function fillOf(look: number, within: Element): CanvasPattern | string {
  const color = colorOf(`--series-${look % looks}`, within)
  const draw = strokes[look % looks]!
  const tile = document.createElement('canvas')
  tile.width = tile.height = 8
  const c = tile.getContext('2d')
  if (!c || look % looks === 0) return color
  c.fillStyle = color
  c.fillRect(0, 0, 8, 8)
  c.strokeStyle = c.fillStyle = colorOf('--surface', within)
  c.lineWidth = 1.4
  draw(c)
  return c.createPattern(tile, 'repeat') ?? color
}

/** The points and dashes of a series' line. */
export const points = ['circle', 'rect', 'triangle', 'rectRot', 'cross', 'star', 'crossRot', 'dash'] as const
export const dashes: number[][] = [[], [7, 4], [2, 3], [10, 3, 2, 3], [4, 2], [12, 4], [1, 3], [6, 2, 1, 2]]
