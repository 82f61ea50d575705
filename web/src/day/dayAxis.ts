import type { GridRoom } from '../lib/api/client'
import { addMinutes, instantOf, minutesBetween, wallOf } from '../lib/zone'

// Times of the grid are minutes after midnight of its first date, by one clock for all rooms. A grid of
// several dates draws only some hours of each, so that their nights take no space.

export const dayLength = 1440

export interface Stretch {
  from: number
  to: number
}

/** The dates and the clock that the hours of all rows follow. */
export interface DayAxis {
  /** The first date. */
  date: string
  zone: string
  /** The number of dates side by side; absent: one. */
  days?: number
  /** The drawn minutes of each date; absent: all. */
  hours?: Stretch
}

const wholeDay: Stretch = { from: 0, to: dayLength }
/** The drawn hours where no room ever closes, and no meeting is earlier or later. */
const usual: Stretch = { from: 420, to: 1200 }

/** An instant as a minute of the axis; it can lie outside of the dates. */
export function minuteOf(instant: string | Date, axis: DayAxis): number {
  return minutesBetween(axis.date + 'T00:00:00', wallOf(instant, axis.zone))
}

/** Returns the instant at a minute of the axis. */
export function instantAt(minute: number, axis: DayAxis): Date {
  return instantOf(addMinutes(axis.date + 'T00:00:00', minute), axis.zone)
}

/** Returns the number of minutes of all dates. */
export function lengthOf(axis: DayAxis): number {
  return dayLength * (axis.days ?? 1)
}

/** Returns the number of drawn minutes of all dates. */
export function widthOf(axis: DayAxis): number {
  const { from, to } = axis.hours ?? wholeDay
  return (to - from) * (axis.days ?? 1)
}

/** Returns where a minute is drawn, in drawn minutes from the left. What is not drawn is between its neighbors. */
export function xOf(minute: number, axis: DayAxis): number {
  const { from, to } = axis.hours ?? wholeDay
  const date = Math.floor(minute / dayLength)
  const within = Math.min(to, Math.max(from, minute - date * dayLength))
  return date * (to - from) + within - from
}

/** Returns the minute that is drawn at a position; beyond the ends, as if the first or last date continued. */
export function minuteAtX(x: number, axis: DayAxis): number {
  const { from, to } = axis.hours ?? wholeDay
  const date = Math.min((axis.days ?? 1) - 1, Math.max(0, Math.floor(x / (to - from))))
  return date * dayLength + from + x - date * (to - from)
}

/** Returns the drawn minutes of the date that a minute belongs to. */
export function drawnDay(minute: number, axis: DayAxis): Stretch {
  const { from, to } = axis.hours ?? wholeDay
  const midnight = Math.min((axis.days ?? 1) - 1, Math.max(0, Math.floor(minute / dayLength))) * dayLength
  return { from: midnight + from, to: midnight + to }
}

/** Returns the part of an interval that lies in the dates, if any. */
export function stretch(of: { start: string; end: string }, axis: DayAxis): Stretch | undefined {
  const from = Math.max(0, minuteOf(of.start, axis))
  const to = Math.min(lengthOf(axis), minuteOf(of.end, axis))
  return from < to ? { from, to } : undefined
}

/** Returns the full hours in which any of the rooms is open, or any meeting takes place, on any of the dates. */
export function commonHours(rooms: GridRoom[], meetings: { start: string; end: string }[], axis: DayAxis): Stretch {
  let [from, to] = [dayLength, 0]
  const add = (s: Stretch) => ([from, to] = [Math.min(from, s.from), Math.max(to, s.to)])
  for (const room of rooms) for (const open of openDays(room, axis)) add(open)
  if (from >= to) add(usual)
  for (const m of meetings) {
    const s = stretch(m, axis)
    const midnight = s && Math.floor(s.from / dayLength) * dayLength
    if (s && s.to <= midnight! + dayLength) add({ from: s.from - midnight!, to: s.to - midnight! })
  }
  return { from: Math.floor(from / 60) * 60, to: Math.ceil(to / 60) * 60 }
}

/** Returns the minutes from the first opening to the last closing of each date; a date without either has the usual ones. */
function openDays(room: GridRoom, axis: DayAxis): Stretch[] {
  const closed = room.closed.flatMap((c) => stretch(c, axis) ?? [])
  return Array.from({ length: axis.days ?? 1 }, (_, i) => i * dayLength).flatMap((midnight) => {
    const end = midnight + dayLength
    const opens = closed.find((c) => c.from <= midnight && c.to > midnight)?.to ?? midnight
    const closes = closed.find((c) => c.from < end && c.to >= end)?.from ?? end
    if (opens >= end) return []
    return opens === midnight && closes === end ? [usual] : [{ from: opens - midnight, to: closes - midnight }]
  })
}
