import type { Meeting } from '../lib/api/client'
import { addDays, wallOf } from '../lib/zone'

/** One of the user's meetings on one of its dates. */
export interface OwnMeeting {
  m: Meeting
  /** Its start by the clock of the view. */
  start: string
}

/** Returns meetings by the dates that they touch, by the clock of a zone. */
export function byDate(meetings: Meeting[], zone: string): Map<string, OwnMeeting[]> {
  const found = new Map<string, OwnMeeting[]>()
  for (const m of meetings) {
    const start = wallOf(m.start, zone)
    const last = wallOf(new Date(Date.parse(m.end) - 1), zone).slice(0, 10)
    for (let d = start.slice(0, 10); d <= last; d = addDays(d, 1)) {
      const list = found.get(d) ?? []
      list.push({ m, start })
      found.set(d, list)
    }
  }
  return found
}
