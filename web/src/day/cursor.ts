import type { GridRoom } from '../lib/api/client'
import { day } from './day.svelte'
import { layoutOf, stops, type Stop } from './layout'

/** The position of the keyboard: at a meeting, at a time, or at a room's name. */
export interface Cursor {
  room: number
  /** The current minute, kept when moving up and down. */
  at: number
  meeting?: number
  head?: boolean
  /** The end of the time that is being selected. */
  to?: number
}

/** A cursor and the stop that it is at. */
export interface Place {
  room: GridRoom
  index: number
  stop: Stop | 'head'
}

function stopsOf(room: GridRoom): Stop[] {
  return stops(room, layoutOf(room, day.of(room), day.axis).placed, day.axis)
}

/** Returns the stop at the cursor; if the room is gone, the stop in the first room. */
export function placeOf(c: Cursor): Place | undefined {
  const index = Math.max(0, day.rooms.findIndex((r) => r.id === c.room))
  const room = day.rooms[index]
  if (!room) return undefined
  if (c.head) return { room, index, stop: 'head' }
  const all = stopsOf(room)
  const stop =
    all.find((s) => c.meeting !== undefined && s.meeting?.id === c.meeting) ??
    all.find((s) => s.from <= c.at && c.at < s.to && (!s.meeting || c.to === undefined)) ??
    all[0]!
  return { room, index, stop: c.to && !stop.meeting ? { ...stop, to: c.to } : stop }
}

/** The cursor at a stop of a row. */
function cursorAt(room: GridRoom, stop: Stop, at = stop.from): Cursor {
  return { room: room.id, at, meeting: stop.meeting?.id }
}

/** Returns where a key leads from a position, if it leads anywhere. */
export function walk(e: KeyboardEvent, c: Cursor, p: Place): Cursor | undefined {
  const last = day.rooms.length - 1
  const row = (index: number): Cursor => {
    const room = day.rooms[Math.min(last, Math.max(0, index))]!
    if (c.head) return { ...c, room: room.id }
    const stop = placeOf({ room: room.id, at: c.at })!.stop as Stop
    return cursorAt(room, stop, c.at)
  }
  const along = (to: (all: Stop[], i: number) => number): Cursor => {
    const all = stopsOf(p.room)
    const { stop } = p
    const i = to(all, stop === 'head' ? -1 : all.findIndex((s) => s.from === stop.from && s.meeting === stop.meeting))
    return i < 0 ? { room: p.room.id, at: c.at, head: true } : cursorAt(p.room, all[Math.min(i, all.length - 1)]!)
  }
  switch (e.key) {
    case 'ArrowRight':
      return along((_, i) => i + 1)
    case 'ArrowLeft':
      return along((_, i) => Math.max(-1, i - 1))
    case 'ArrowDown':
      return row(p.index + 1)
    case 'ArrowUp':
      return row(p.index - 1)
    case 'PageDown':
      return row(p.index + 10)
    case 'PageUp':
      return row(p.index - 10)
    case 'Home':
      return e.ctrlKey ? row(0) : along(() => 0)
    case 'End':
      return e.ctrlKey ? row(last) : along((all) => all.length - 1)
  }
  return undefined
}
