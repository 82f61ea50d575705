import type { Door, DoorClosure, DoorMeeting } from '../lib/api/client'

// What a door shows at an instant, computed from the latest server data. So it is correct to the second,
// and stays correct while the network is away. All times are milliseconds by the server's clock.

export type State = 'free' | 'soon' | 'pending' | 'check_in' | 'busy' | 'closed' | 'unknown'

export interface View {
  state: State
  /** The meeting of the state; undefined if there is none. */
  meeting?: DoorMeeting
  /** Why the room is closed. */
  closure?: DoorClosure
  /** When the state ends if nothing changes; undefined: not today. */
  until?: number
  /** The check-in deadline. */
  by?: number
  /** The next meeting today. */
  next?: DoorMeeting
}

/** How long before its start a meeting is announced. */
export const soon = 15 * 60_000

/** A day that has ended is shown a moment longer, until the next one is loaded. */
const over = 30_000

const ms = (at: string) => Date.parse(at)

/** Meetings that take the room now or later, sorted by start. */
function lively(door: Door): DoorMeeting[] {
  return door.today.filter((m) => ['confirmed', 'in_progress', 'pending'].includes(m.status) && !m.ended_at)
}

function holds(c: DoorClosure, at: number): boolean {
  return ms(c.start) <= at && (!c.end || at < ms(c.end))
}

/** Why the room is closed and until when; undefined: it is open. */
function closedAt(door: Door, at: number): { closure: DoorClosure; until?: number } | undefined {
  let closure: DoorClosure | undefined
  let until = at
  for (const c of door.closed) {
    if (!holds(c, until)) continue
    // A blackout is more informative than closed hours.
    if (!closure || (closure.kind === 'hours' && c.kind === 'blackout' && holds(c, at))) closure = c
    if (!c.end) return { closure }
    until = ms(c.end)
  }
  return closure && { closure, until }
}

/** Reports whether people may check in to it now. */
export function mayCheckIn(m: DoorMeeting, at: number): boolean {
  const open = m.status === 'confirmed' || m.status === 'in_progress'
  return open && !m.ended_at && !m.checked_in_at && ms(m.check_in_from) <= at && at < ms(m.end)
}

/** Reports whether check-in is required: without it the room is released. */
export function mustCheckIn(m: DoorMeeting, at: number): boolean {
  return mayCheckIn(m, at) && Boolean(m.check_in_by) && at < ms(m.check_in_by!)
}

export function viewAt(door: Door, at: number): View {
  if (at >= ms(door.day.end) + over) return { state: 'unknown' }
  const meetings = lively(door)
  const next = meetings.find((m) => ms(m.start) > at)
  const current = meetings.find((m) => m.status !== 'pending' && ms(m.start) <= at && at < ms(m.end))
  if (current) {
    const view: View = { state: 'busy', meeting: current, until: ms(current.end), next }
    return mustCheckIn(current, at) ? { ...view, state: 'check_in', by: ms(current.check_in_by!) } : view
  }
  const closed = closedAt(door, at)
  if (closed) return { state: 'closed', next, ...closed }
  if (next) {
    const view: View = { state: 'soon', meeting: next, until: ms(next.start), next: meetings[meetings.indexOf(next) + 1] }
    if (mustCheckIn(next, at)) return { ...view, state: 'check_in', by: ms(next.check_in_by!) }
    if (ms(next.start) - at <= soon) return next.status === 'pending' ? { ...view, state: 'pending' } : view
  }
  const closing = door.closed.map((c) => ms(c.start)).filter((t) => t > at && t < ms(door.day.end))
  const until = Math.min(...closing, next ? ms(next.start) : Infinity)
  return { state: 'free', next, until: until === Infinity ? undefined : until }
}

/** Returns the next instant at which the display may change. */
export function nextChange(door: Door, at: number): number {
  const instants = [ms(door.day.end)]
  for (const m of lively(door)) {
    instants.push(ms(m.start), ms(m.end), ms(m.check_in_from), ms(m.start) - soon)
    if (m.check_in_by) instants.push(ms(m.check_in_by))
  }
  for (const c of door.closed) {
    instants.push(ms(c.start))
    if (c.end) instants.push(ms(c.end))
  }
  return Math.min(...instants.filter((t) => t > at))
}

/** An entry of today's list. */
export interface Entry {
  kind: 'meeting' | 'free' | 'closed' | 'now'
  start: number
  end: number
  meeting?: DoorMeeting
  closure?: DoorClosure
}

/** Shorter gaps get no entry. */
const worthwhile = 10 * 60_000

/**
 * Today's past and coming entries: meetings and, from now on, when the room is free or closed. One entry
 * contains the present; if none does, the present gets an entry of its own.
 */
export function entriesAt(door: Door, at: number): Entry[] {
  const [begin, end] = [ms(door.day.start), ms(door.day.end)]
  const taken: Entry[] = door.today
    .filter((m) => !['rejected', 'cancelled', 'released'].includes(m.status))
    .map((meeting) => ({ kind: 'meeting', meeting, start: ms(meeting.start), end: ms(meeting.ended_at ?? meeting.end) }))
  const closed: Entry[] = door.closed.map((closure) => ({
    kind: 'closed',
    closure,
    start: Math.max(begin, ms(closure.start)),
    end: Math.min(end, closure.end ? ms(closure.end) : end),
  }))
  const entries = [...taken, ...closed.filter((c) => c.end > at && c.start < end)].sort((a, b) => a.start - b.start || a.end - b.end)
  const list: Entry[] = []
  let from = at
  for (const entry of entries) {
    if (entry.start - from >= worthwhile) list.push({ kind: 'free', start: from, end: entry.start })
    if (entry.end > at) from = Math.max(from, entry.end)
    list.push(entry)
  }
  if (end - from >= worthwhile) list.push({ kind: 'free', start: from, end })
  if (!list.some((e) => e.start <= at && at < e.end)) {
    const coming = list.findIndex((e) => e.start > at)
    list.splice(coming < 0 ? list.length : coming, 0, { kind: 'now', start: at, end: at + 1 })
  }
  return list
}
