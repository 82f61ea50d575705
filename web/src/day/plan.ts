import type { GridMeeting, GridRoom } from '../lib/api/client'
import { seconds } from '../lib/duration'
import { duration, timeRange } from '../lib/i18n/format'
import { i18n } from '../lib/i18n/index.svelte'
import { titleOf } from '../meeting/title'
import { day } from './day.svelte'
import { drawnDay, instantAt, lengthOf, minuteOf, type Stretch } from './dayAxis'
import { whenOf } from './describe'
import { occupancy, snapped, stepOf } from './layout'

/** What the user is about to do: draw a new time, move a meeting, or drag one of its edges. */
export interface Plan extends Stretch {
  kind: 'draw' | 'move' | 'start' | 'end'
  room: GridRoom
  /** For all kinds but "draw": the meeting, and the room in whose row it was grabbed. */
  meeting?: GridMeeting
  home?: GridRoom
}

const clamp = (n: number, least: number, most: number) => Math.min(most, Math.max(least, n))

/** Returns the minute near another at which a meeting in the room may start or end. */
export function onStep(room: GridRoom, minute: number, round = Math.round): number {
  return snapped(minute, room, day.axis, stepOf(room), round)
}

/** Returns a time between the start of the drawing and its current end, on the room's grid, both edges included, on one date. */
export function drawn(room: GridRoom, anchor: number, at: number): Plan {
  const step = stepOf(room)
  const date = drawnDay(anchor, day.axis)
  const from = clamp(onStep(room, Math.min(anchor, at), Math.floor), date.from, date.to - step)
  const to = clamp(onStep(room, Math.max(anchor, at), Math.ceil), from + step, date.to)
  return { kind: 'draw', room, from, to }
}

/** Returns the meeting as it is, ready to be changed. */
export function taken(kind: 'move' | 'start' | 'end', meeting: GridMeeting, home: GridRoom): Plan {
  return { kind, meeting, home, room: home, from: minuteOf(meeting.start, day.axis), to: minuteOf(meeting.end, day.axis) }
}

/** Returns the plan moved by some minutes and to a room. Back at its place it is unchanged. */
export function moved(plan: Plan, room: GridRoom, by: number): Plan {
  const was = taken('move', plan.meeting!, plan.home!)
  const step = stepOf(room)
  const still = room.id === was.room.id && Math.abs(by) < step / 2
  const from = still ? was.from : clamp(onStep(room, was.from + by), Math.min(0, was.from), lengthOf(day.axis) - step)
  return { ...was, room, from, to: from + was.to - was.from }
}

/** Returns the plan with one edge at a minute. */
export function stretched(plan: Plan, at: number): Plan {
  const { room } = plan
  const step = stepOf(room)
  const edge = onStep(room, at)
  return plan.kind === 'start'
    ? { ...plan, from: clamp(edge, 0, onStep(room, plan.to, Math.ceil) - step) }
    : { ...plan, to: clamp(edge, onStep(room, plan.from, Math.floor) + step, lengthOf(day.axis)) }
}

/** Reports whether the plan would change nothing. */
export function idle(plan: Plan): boolean {
  if (!plan.meeting) return false
  const was = taken('move', plan.meeting, plan.home!)
  return plan.room.id === was.room.id && plan.from === was.from && plan.to === was.to
}

/** Returns the time of the plan as instants. */
export function timesOf(plan: Plan): { start: string; end: string } {
  return {
    start: instantAt(plan.from, day.axis).toISOString(),
    end: instantAt(plan.to, day.axis).toISOString(),
  }
}

/** "9:30 – 10:30", with the weekday if several dates are shown. */
export function rangeOf(plan: Plan): string {
  const { start, end } = timesOf(plan)
  return whenOf(start, end)
}

/**
 * Returns why the plan will hardly be possible, as far as the page knows; "" if nothing conflicts.
 * The server has the last word.
 */
export function obstacle(plan: Plan, now: Date): string {
  const { room, meeting } = plan
  const { start, end } = timesOf(plan)
  const t = i18n.t.grid
  const overlaps = (o: { start: string; end: string }, from = start, to = end) => Date.parse(o.start) < Date.parse(to) && Date.parse(o.end) > Date.parse(from)
  if (plan.kind !== 'end' && Date.parse(start) < now.getTime() - 60_000) return t.inPast
  const wish = occupancy({ ...(meeting ?? blank), start, end, occupied: undefined, status: 'confirmed' }, room) ?? { start, end }
  for (const other of day.of(room)) {
    if (other.id === meeting?.id || !other.room_ids.includes(room.id) || other.status === 'ended') continue
    if (overlaps(occupancy(other, room) ?? other, wish.start, wish.end)) return t.taken(titleOf(other), timeRange(other.start, other.end, day.zone))
  }
  const blackout = room.blackouts.find((b) => overlaps(b))
  if (blackout) return blackout.reason ? t.blackoutOf(blackout.reason) : t.blackout
  if (room.closed.some((c) => overlaps(c))) return t.closedThen
  const length = (Date.parse(end) - Date.parse(start)) / 1000
  if (length < seconds(room.min_duration)) return t.tooShort(duration(seconds(room.min_duration)))
  if (room.max_duration && length > seconds(room.max_duration)) return t.tooLong(duration(seconds(room.max_duration)))
  return ''
}

const blank: GridMeeting = {
  id: 0,
  room_ids: [],
  title: '',
  start: '',
  end: '',
  organizer: { id: 0, name: '' },
  visibility: 'public',
  status: 'confirmed',
  version: 0,
}
