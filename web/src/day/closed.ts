import type { components } from '../lib/api/schema'

type OpeningHours = components['schemas']['OpeningHours']

const weekdays = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA']

/** The parts of a date, in minutes after midnight, at which a room is closed. */
export function closedHours(hours: OpeningHours[], date: string): [from: number, to: number][] {
  if (!hours.length) return []
  const weekday = weekdays[new Date(date + 'T00:00:00Z').getUTCDay()]!
  const open = hours
    .filter((h) => h.days?.includes(weekday))
    .map((h) => [minutes(h.from), minutes(h.to)] as const)
    .sort((a, b) => a[0] - b[0])
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
