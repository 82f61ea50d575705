import type { PlacedRoom } from '../lib/api/client'

/** The least width and height of a rectangle, relative to the picture. */
export const least = 0.01

const clamp = (n: number, from: number, to: number) => Math.min(to, Math.max(from, n))
const rounded = (n: number) => Math.round(n * 10_000) / 10_000

/** Returns a room as it is after a move, within the picture. */
export function moved(r: PlacedRoom, dx: number, dy: number): PlacedRoom {
  return { ...r, x: rounded(clamp(r.x + dx, 0, 1 - (r.width ?? 0))), y: rounded(clamp(r.y + dy, 0, 1 - (r.height ?? 0))) }
}

/** Returns a rectangle as it is after its lower right corner was moved, within the picture. */
export function resized(r: PlacedRoom, dx: number, dy: number): PlacedRoom {
  return {
    ...r,
    width: rounded(clamp((r.width ?? 0) + dx, least, 1 - r.x)),
    height: rounded(clamp((r.height ?? 0) + dy, least, 1 - r.y)),
  }
}

/** Returns a room as a point at its center, or as a rectangle around its point. */
export function shaped(r: PlacedRoom, rectangle: boolean): PlacedRoom {
  const [width, height] = [r.width ?? 0, r.height ?? 0]
  if (rectangle === width > 0) return r
  if (!rectangle) return { room_id: r.room_id, x: rounded(r.x + width / 2), y: rounded(r.y + height / 2), width: 0, height: 0 }
  return { ...moved({ ...r, width: 0.16, height: 0.12 }, -0.08, -0.06) }
}
