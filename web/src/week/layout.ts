import type { Blackout, Meeting, Room } from '../lib/api/client'
import { closedHours } from '../day/closed'
import type { Axis } from '../lib/axis'
import { seconds } from '../lib/duration'
import { lanes } from '../lib/lanes'

/** The part of a meeting that lies in one column. */
export interface Segment {
  meeting: Meeting
  from: number
  to: number
  /** It began before this day, or continues after it. */
  before: boolean
  after: boolean
  lane: number
  of: number
}

/** The meetings of each column, by start. */
export function segments(meetings: Meeting[], axis: Axis): Segment[][] {
  return axis.columns.map((c, i) => {
    const found = meetings
      .map((meeting) => ({ meeting, start: new Date(meeting.start), end: ended(meeting) }))
      .filter(({ start, end }) => start < c.end && end > c.start)
      .map(({ meeting, start, end }) => ({
        meeting,
        from: axis.place(i, start),
        to: Math.max(axis.place(i, end), axis.place(i, start) + 5),
        before: start < c.start,
        after: end > c.end,
      }))
    const placed = lanes(found)
    return found.map((s) => ({ ...s, ...placed.get(s)! }))
  })
}

/** Returns when the meeting ends, or when it ended early. */
export function ended(m: Meeting): Date {
  const end = new Date(m.end)
  const early = m.status === 'ended' && m.ended_at ? new Date(m.ended_at) : end
  return early < end ? early : end
}

/** A background of a column that shows why it cannot be booked. */
export interface Shade {
  kind: 'closed' | 'blackout' | 'buffer' | 'gap'
  from: number
  to: number
  label: string
}

export function shades(room: Room, meetings: Meeting[], blackouts: Blackout[], axis: Axis): Shade[][] {
  const before = (seconds(room.policy.buffer_before) || 0) * 1000
  const after = (seconds(room.policy.buffer_after) || 0) * 1000
  return axis.columns.map((c, i) => {
    const found: Shade[] = []
    const add = (kind: Shade['kind'], start: number, end: number, label = '') => {
      const [from, to] = [axis.place(i, new Date(start)), axis.place(i, new Date(end))]
      if (start < c.end.getTime() && end > c.start.getTime() && from < to) found.push({ kind, from, to, label })
    }
    for (const [from, to] of closedHours(room.policy.opening_hours ?? [], c.date)) {
      found.push({ kind: 'closed', from: axis.clock(from), to: to === 1440 ? axis.length : axis.clock(to), label: '' })
    }
    for (const [from, to] of c.gaps) found.push({ kind: 'gap', from, to, label: '' })
    for (const b of blackouts) add('blackout', Date.parse(b.start), Date.parse(b.end), b.reason)
    for (const m of meetings) {
      if (m.status === 'ended') continue
      if (before) add('buffer', Date.parse(m.start) - before, Date.parse(m.start))
      if (after) add('buffer', Date.parse(m.end), Date.parse(m.end) + after)
    }
    return found
  })
}

/** Returns the shade that a slot touches; of several, the most important. */
export function shadeAt(of: Shade[], from: number, to: number): Shade | undefined {
  const touched = of.filter((s) => s.from < to && s.to > from)
  return touched.find((s) => s.kind === 'blackout') ?? touched.find((s) => s.kind === 'closed') ?? touched[0]
}

/** Returns the minute of the day at which the room first opens in a week, at most 9:00. */
export function firstOpen(room: Room): number {
  const opens = (room.policy.opening_hours ?? []).map((h) => Number(h.from.slice(0, 2)) * 60 + Number(h.from.slice(3)))
  return Math.min(...opens, 540)
}
