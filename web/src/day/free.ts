import type { GridMeeting, GridRoom } from '../lib/api/client'
import { seconds } from '../lib/duration'
import { dayLength, type Stretch } from './dayAxis'
import type { Layout } from './layout'
import { onStep } from './plan'

const shortest = 15

/** What a room does at a minute of the day. */
export interface RoomState {
  kind: 'free' | 'busy' | 'closed' | 'blackout'
  /** The minute at which that ends; the length of the day if it does not end before. */
  until: number
  meeting?: GridMeeting
}

/** Returns the times of the day that nothing takes, sorted. */
export function freeTimes({ placed, shades }: Layout): Stretch[] {
  const taken = [...placed, ...shades].sort((a, b) => a.from - b.from)
  const free: Stretch[] = []
  let at = 0
  for (const { from, to } of [...taken, { from: dayLength, to: dayLength }]) {
    if (from > at) free.push({ from: at, to: from })
    at = Math.max(at, to)
  }
  return free
}

/** Returns the free times from a minute on that are long enough to book, by the room's steps. */
export function bookable(room: GridRoom, rows: Layout, now: number): Stretch[] {
  const least = Math.max(shortest, seconds(room.min_duration) / 60)
  return freeTimes(rows)
    .map(({ from, to }) => ({ from: onStep(room, Math.max(from, now), Math.ceil), to }))
    .filter(({ from, to }) => to - from >= least)
}

/** Returns what the room does at a minute. */
export function stateAt(rows: Layout, minute: number): RoomState {
  const within = (s: Stretch) => s.from <= minute && minute < s.to
  const free = freeTimes(rows).find(within)
  if (free) return { kind: 'free', until: free.to }
  // Meetings and buffers that follow each other keep the room busy until the next free time.
  const until = freeTimes(rows).find((f) => f.from > minute)?.from ?? dayLength
  const meeting = rows.placed.find(within)?.meeting
  const shade = rows.shades.find((s) => within(s) && s.kind !== 'buffer')
  const kind = meeting || !shade || shade.kind === 'buffer' ? 'busy' : shade.kind
  return { kind, until, meeting }
}
