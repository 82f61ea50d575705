// Wall-clock times and instants. A wall time is written "2026-11-21T09:30" (or with seconds)
// and is ambiguous without an IANA zone; an instant is a Date or an RFC 3339 string. The
// server decides about times that do not exist or occur twice. Here, a time in a gap moves
// to after it, and an ambiguous time is its first occurrence.

const parts = new Map<string, Intl.DateTimeFormat>()

function partsOf(zone: string): Intl.DateTimeFormat {
  let f = parts.get(zone)
  if (!f) {
    f = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'iso8601',
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    })
    parts.set(zone, f)
  }
  return f
}

/** Reports whether this browser knows the zone. */
export function isZone(zone: string): boolean {
  try {
    partsOf(zone)
    return true
  } catch {
    return false
  }
}

/** The browser's own zone. */
export function localZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'
}

// Offsets change only on a quarter of an hour, and Intl calls are slow.
const quarter = 900_000
const offsets = new Map<string, number>()

/** Returns by how many minutes clocks in the zone are ahead of UTC at the instant. */
export function offsetAt(instant: Date, zone: string): number {
  const key = `${zone} ${Math.floor(instant.getTime() / quarter)}`
  let offset = offsets.get(key)
  if (offset === undefined) {
    if (offsets.size > 5000) offsets.clear()
    offset = askOffset(instant, zone)
    offsets.set(key, offset)
  }
  return offset
}

function askOffset(instant: Date, zone: string): number {
  const p: Record<string, number> = {}
  for (const { type, value } of partsOf(zone).formatToParts(instant)) p[type] = Number(value)
  const wall = Date.UTC(p.year!, p.month! - 1, p.day, p.hour, p.minute, p.second)
  return Math.round((wall - Math.floor(instant.getTime() / 1000) * 1000) / 60_000)
}

/** Returns what a clock in the zone shows at the instant: "2026-11-21T09:30:00". */
export function wallOf(instant: Date | string, zone: string): string {
  const t = new Date(instant)
  return new Date(t.getTime() + offsetAt(t, zone) * 60_000).toISOString().slice(0, 19)
}

/** Returns the instant at which a clock in the zone shows the wall time. */
export function instantOf(wall: string, zone: string): Date {
  const utc = Date.parse(wall + 'Z')
  // The offsets half a day before and after: around a clock change they differ.
  const before = offsetAt(new Date(utc - 43_200_000), zone)
  const after = offsetAt(new Date(utc + 43_200_000), zone)
  for (const offset of [before, after]) {
    const t = new Date(utc - offset * 60_000)
    if (offsetAt(t, zone) === offset) return t
  }
  return new Date(utc - before * 60_000)
}

/** Returns the wall time some minutes later, also across midnight. Clock changes are ignored. */
export function addMinutes(wall: string, minutes: number): string {
  return new Date(Date.parse(wall + 'Z') + minutes * 60_000).toISOString().slice(0, 19)
}

/** Returns the date some days later. */
export function addDays(date: string, days: number): string {
  return addMinutes(date + 'T00:00:00', days * 1440).slice(0, 10)
}

/** Returns the minutes from one wall time to another. */
export function minutesBetween(from: string, to: string): number {
  return (Date.parse(to + 'Z') - Date.parse(from + 'Z')) / 60_000
}

/** Returns today's date in the zone. */
export function today(zone: string, now = new Date()): string {
  return wallOf(now, zone).slice(0, 10)
}

/** Returns "Europe/Berlin" without its continent, as people say it. */
export function zoneName(zone: string): string {
  return zone.slice(zone.lastIndexOf('/') + 1).replaceAll('_', ' ')
}
