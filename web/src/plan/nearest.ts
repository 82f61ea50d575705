/** A place on a plan: its center. */
export interface Spot {
  id: number
  x: number
  y: number
}

const directions: Record<string, [x: number, y: number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }

/** Returns the nearest spot in the direction of an arrow key; undefined: there is none, or it is another key. */
export function nearest(spots: Spot[], from: Spot, key: string): Spot | undefined {
  const direction = directions[key]
  if (!direction) return undefined
  let best: Spot | undefined
  let least = Infinity
  for (const s of spots) {
    const [dx, dy] = [s.x - from.x, s.y - from.y]
    const along = dx * direction[0] + dy * direction[1]
    const across = Math.abs(dx * direction[1]) + Math.abs(dy * direction[0])
    // What lies more to the side than ahead belongs to another arrow.
    if (s.id === from.id || along <= 0 || across > 2 * along) continue
    if (along + 2 * across < least) [best, least] = [s, along + 2 * across]
  }
  return best
}
