import type { Room } from '../lib/api/client'

type OpeningHours = NonNullable<Room['policy']['opening_hours']>[number]

const weekdays = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'] as const

/**
 * Returns the parts of a date, in minutes after midnight, at which a room is closed. A room without
 * opening hours is never closed. Hours that end before they begin reach into the next day.
 */
export function closedHours(hours: OpeningHours[], date: string): [from: number, to: number][] {
  if (!hours.length) return []
  const weekday = new Date(date + 'T00:00:00Z').getUTCDay()
  const today = weekdays[weekday]!
  const yesterday = weekdays[(weekday + 6) % 7]!
  const open: [number, number][] = []
  for (const h of hours) {
    const [from, to] = [minutes(h.from), minutes(h.to)]
    if (h.days?.includes(today)) open.push([from, to > from ? to : 1440])
    if (h.days?.includes(yesterday) && to <= from) open.push([0, to])
  }
  open.sort((a, b) => a[0] - b[0])
  const closed: [number, number][] = []
  let at = 0
  for (const [from, to] of open) {
    if (from > at) closed.push([at, from])
    at = Math.max(at, to)
  }
  if (at < 1440) closed.push([at, 1440])
  return closed
}

function minutes(clock: string): number {
  const [h, m] = clock.split(':')
  return Number(h) * 60 + Number(m)
}
