import type { GridRoom } from '../lib/api/client'
import { bookable, stateAt } from '../day/free'
import { dayLength, type Stretch } from '../day/dayAxis'
import type { Layout } from '../day/layout'

/** What a room on a plan does at a minute; `soon`: free, but not for long; `off`: nobody can book it then. */
export type Kind = 'free' | 'soon' | 'busy' | 'pending' | 'closed' | 'off'

export const kinds: Kind[] = ['free', 'soon', 'busy', 'pending', 'closed', 'off']

export interface PlanState {
  kind: Kind
  /** The minute at which that ends; the length of the day if it does not end before. */
  until: number
  /** The first time from the minute on that can be booked, at most an hour long. */
  slot?: Stretch
}

const short = 30 // minutes; who needs a room longer looks for another one

/** Returns the state of a room at a minute of the day. `now` is the present minute, before 0 or after the day on other dates. */
export function planState(room: GridRoom, rows: Layout, minute: number, now: number): PlanState {
  const { kind, until, meeting } = stateAt(rows, minute)
  const next = bookable(room, rows, Math.max(minute, now))[0]
  const slot = next && { from: next.from, to: Math.min(next.to, next.from + 60) }
  if (kind === 'busy') return { kind: meeting?.status === 'pending' ? 'pending' : 'busy', until, slot }
  if (kind !== 'free') return { kind: 'closed', until, slot }
  if (minute >= now && (!next || next.from >= until)) return { kind: 'off', until, slot }
  return { kind: until < dayLength && until - minute <= short ? 'soon' : 'free', until, slot }
}
