import type { GridMeeting, GridRoom } from '../lib/api/client'
import { seconds } from '../lib/duration'
import { lanes } from '../lib/lanes'
import { offsetAt } from '../lib/zone'
import { dayLength, drawnDay, instantAt, lengthOf, minuteOf, stretch, xOf, type DayAxis, type Stretch } from './dayAxis'

// What is in the row of a room, in minutes of the axis. Intervals that reach beyond its dates are cut.

/** A meeting in a row: it takes lane `lane` of `of` lanes. */
export interface Placed extends Stretch {
  meeting: GridMeeting
  lane: number
  of: number
  /** It begins before, or ends after, the shown dates. */
  before: boolean
  after: boolean
}

export interface Shade extends Stretch {
  kind: 'closed' | 'blackout' | 'buffer'
  text: string
}

export interface Layout {
  placed: Placed[]
  /** Where meetings will move once the move is approved. */
  asked: (Stretch & { meeting: GridMeeting })[]
  shades: Shade[]
  lanes: number
}

export function layout(room: GridRoom, meetings: GridMeeting[], axis: DayAxis): Layout {
  const placed: Placed[] = []
  const asked: Layout['asked'] = []
  const shades: Shade[] = []
  const shade = (kind: Shade['kind'], of: { start: string; end: string }, text = '') => {
    const s = stretch(of, axis)
    if (s) shades.push({ ...s, kind, text })
  }
  for (const c of room.closed) shade('closed', c)
  for (const b of room.blackouts) shade('blackout', b, b.reason)
  for (const meeting of meetings) {
    const change = meeting.pending_change
    const to = change?.room_ids.includes(room.id) && stretch(change, axis)
    if (to) asked.push({ ...to, meeting })
    if (!meeting.room_ids.includes(room.id)) continue
    const occupied = occupancy(meeting, room)
    if (occupied) {
      shade('buffer', { start: occupied.start, end: meeting.start })
      shade('buffer', { start: meeting.end, end: occupied.end })
    }
    const s = stretch(meeting, axis)
    if (!s) continue
    const before = minuteOf(meeting.start, axis) < 0
    const after = minuteOf(meeting.end, axis) > lengthOf(axis)
    placed.push({ ...s, meeting, before, after, lane: 0, of: 1 })
  }
  placed.sort((a, b) => a.from - b.from || a.to - b.to)
  const places = lanes(placed)
  for (const p of placed) Object.assign(p, places.get(p))
  return { placed, asked, shades, lanes: placed.reduce((most, p) => Math.max(most, p.of), 1) }
}

const known = new WeakMap<GridRoom, { meetings: GridMeeting[]; axis: DayAxis; layout: Layout }>()

/** Returns the layout of a row, cached for unchanged input. */
export function layoutOf(room: GridRoom, meetings: GridMeeting[], axis: DayAxis): Layout {
  const k = known.get(room)
  if (k?.meetings === meetings && k.axis === axis) return k.layout
  const made = layout(room, meetings, axis)
  known.set(room, { meetings, axis, layout: made })
  return made
}

/** Returns how many drawn minutes after a meeting are empty on its date, for its name; 0 beside others in its row. */
export function gapAfter(p: Placed, all: Placed[], axis: DayAxis): number {
  if (p.of > 1) return 0
  const next = Math.min(drawnDay(p.to, axis).to, ...all.filter((o) => o.from >= p.to).map((o) => o.from))
  return xOf(next, axis) - xOf(p.to, axis)
}

/** Returns the number of lanes of a row. The common case of one lane needs no layout. */
export function lanesOf(room: GridRoom, meetings: GridMeeting[], axis: DayAxis): number {
  let end = 0
  for (const m of meetings) {
    if (Date.parse(m.start) < end) return layoutOf(room, meetings, axis).lanes
    end = Math.max(end, Date.parse(m.end))
  }
  return 1
}

/** Returns the time that the meeting and its buffers take in the room, if the meeting has buffers. */
export function occupancy(m: GridMeeting, room: GridRoom): { start: string; end: string } | undefined {
  const known = m.occupied?.find((o) => o.room_id === room.id)
  if (known) return known
  const before = seconds(room.buffer_before)
  const after = seconds(room.buffer_after)
  if ((!before && !after) || m.status === 'ended') return undefined
  return {
    start: new Date(Date.parse(m.start) - before * 1000).toISOString(),
    end: new Date(Date.parse(m.end) + after * 1000).toISOString(),
  }
}

/** Returns the room's grid of starts and ends, in minutes; 15 if the room has none. */
export function stepOf(room: GridRoom): number {
  return Math.max(1, room.step ? seconds(room.step) / 60 : 15)
}

/**
 * Returns the multiple of `unit` near a minute of the axis. Units count from midnight by the room's own
 * clock, which may be ahead of the axis by less than a unit.
 */
export function snapped(minute: number, room: { timezone: string }, axis: DayAxis, unit: number, round = Math.round): number {
  const noon = instantAt(dayLength / 2, axis)
  const ahead = room.timezone === axis.zone ? 0 : offsetAt(noon, room.timezone) - offsetAt(noon, axis.zone)
  return round((minute + ahead) / unit) * unit - ahead
}

/** A stop of the keyboard: a meeting or a time. */
export interface Stop extends Stretch {
  meeting?: GridMeeting
}

/** Returns the stops of a row: its meetings, and between them times in steps of half an hour or the room's step. */
export function stops(room: GridRoom, placed: Placed[], axis: DayAxis): Stop[] {
  const unit = Math.max(30, stepOf(room))
  const all: Stop[] = []
  let at = 0
  const until = (end: number) => {
    while (at < end) {
      const to = Math.min(end, snapped(at, room, axis, unit, Math.floor) + unit)
      if (xOf(to, axis) > xOf(at, axis)) all.push({ from: at, to }) // not in a night that is not drawn
      at = to
    }
  }
  for (const { from, to, meeting } of placed) {
    until(from)
    all.push({ from, to, meeting })
    at = Math.max(at, to)
  }
  until(lengthOf(axis))
  return all
}

/** Returns the first minute at which any of the rooms is open; 7:00 if they are always open. */
export function opening(rooms: GridRoom[], axis: DayAxis): number {
  let first = dayLength
  for (const room of rooms) {
    const night = room.closed.map((c) => stretch(c, axis)).find((s) => s?.from === 0)
    if (!night) return 420
    if (night.to < dayLength) first = Math.min(first, night.to)
  }
  return first < dayLength ? first : 420
}
