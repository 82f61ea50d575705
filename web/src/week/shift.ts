import type { Axis } from '../lib/axis'

// Slots that are moved and resized on the grid of a week.

/** The grabbed part of a meeting: all of it, or one of its edges. */
export type Part = 'all' | 'start' | 'end'

export interface Slot {
  start: Date
  end: Date
}

/** A distance or a position: columns, and minutes down. */
export interface Spot {
  column: number
  place: number
}

const least = 15 * 60_000 // the shortest length after resizing

/** Returns the slot moved on a grid of that many minutes; it keeps its length and stays on the axis. */
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

/** Returns the slot with one edge moved, at least a quarter of an hour long. */
export function stretched({ start, end }: Slot, edge: 'start' | 'end', to: Date): Slot {
  return edge === 'end'
    ? { start, end: new Date(Math.max(+to, +start + least)) }
    : { start: new Date(Math.min(+to, +end - least)), end }
}
