import { addDays, today } from '../../../lib/zone'

interface Span {
  from: string
  to: string
}

const day = 86_400_000
const most = 366 * day // that a report may cover

/** The span with a day on either side, as far as a report may go: days of rooms east and west of here are whole in it. */
export function wholeDays({ from, to }: Span): Span {
  const [start, end] = [Date.parse(from), Date.parse(to)]
  const margin = Math.max(0, Math.min(day, (most - (end - start)) / 2))
  return { from: new Date(start - margin).toISOString(), to: new Date(end + margin).toISOString() }
}

/** The last date, at most the given one, that is over in all zones. */
export function lastWholeDay(last: string, zones: string[], now = new Date()): string {
  return zones.map((zone) => addDays(today(zone, now), -1)).reduce((a, b) => (a < b ? a : b), last)
}
