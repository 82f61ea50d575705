import type { components } from '../../lib/api/schema'
import { number } from '../../lib/i18n/format'

export type Lateness = components['schemas']['LatenessView']
export type RoomUse = components['schemas']['RoomUse']

/** A share in per cent: "41 %". */
export function percent(share: number | null | undefined, digits = share && Math.abs(share) < 0.095 ? 1 : 0): string {
  return share == null ? '–' : number(share, { style: 'percent', maximumFractionDigits: digits })
}

/** A short time in the unit that fits: "1.2 ms", "3 s", "2 min", "4 h". */
export function brief(seconds: number | null | undefined): string {
  if (seconds == null) return '–'
  const [n, unit] =
    seconds < 1
      ? [seconds * 1000, 'millisecond']
      : seconds < 120
        ? [seconds, 'second']
        : seconds < 7200
          ? [seconds / 60, 'minute']
          : seconds < 48 * 3600
            ? [seconds / 3600, 'hour']
            : [seconds / 86400, 'day']
  const digits = Number(n) < 10 ? 1 : 0
  return number(Number(n), { style: 'unit', unit: String(unit), unitDisplay: 'short', maximumFractionDigits: digits })
}

/** Hours of a number of seconds. */
export function hours(seconds: number): string {
  return number(seconds / 3600, { maximumFractionDigits: seconds < 36000 ? 1 : 0 })
}

/** The share of runs that began no later than a bound; null if there were none. */
export function within(l: Lateness, bound: number): number | null {
  if (!l.count) return null
  let n = 0
  for (const b of l.histogram) if (b.up_to_seconds != null && b.up_to_seconds <= bound + 1e-9) n += b.count
  return n / l.count
}
