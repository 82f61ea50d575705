import type { Axis } from '../lib/axis'

// Slots as they are moved and stretched on the grid of a week.

/** What of a meeting is taken: all of it, or one of its edges. */
export type Part = 'all' | 'start' | 'end'

export interface Slot {
  start: Date
  end: Date
}

/** How far something was carried, or where it is: columns, and minutes down. */
export interface Spot {
  column: number
  place: number
}

const least = 15 * 60_000 // what stretching leaves of a meeting

/** The slot carried on, to a place on the grid of that many minutes; it keeps its length and stays on the axis. */
export function carried({ start, end }: Slot, by: Spot, axis: Axis, snap: number): Slot {
  const round = (place: number) => Math.round(place / snap) * snap
  const first = axis.column(start)
  if (first < 0) {
    const after = (by.column * 1440 + round(by.place)) * 60_000 // it began before the week
    return { start: new Date(+start + after), end: new Date(+end + after) }
  }
  if (!by.column && !by.place) return { start, end }
  const column = Math.max(0, Math.min(axis.columns.length - 1, first + by.column))
  const place = Math.max(0, Math.min(axis.length - snap, round(axis.place(first, start) + by.place)))
  const to = axis.instant(column, place)
  return { start: to, end: new Date(+to + (+end - +start)) }
}

/** The slot with an edge elsewhere, but for a quarter of an hour that is always left of it. */
export function stretched({ start, end }: Slot, edge: 'start' | 'end', to: Date): Slot {
  return edge === 'end'
    ? { start, end: new Date(Math.max(+to, +start + least)) }
    : { start: new Date(Math.min(+to, +end - least)), end }
}
