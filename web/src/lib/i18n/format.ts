import { i18n } from './index.svelte'
import { firstDayOf } from '../weekinfo'
import { addDays, offsetAt, today, wallOf } from '../zone'

const cache = new Map<string, Intl.DateTimeFormat>()

function format(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const id = i18n.tag + zone + JSON.stringify(options)
  let f = cache.get(id)
  if (!f) {
    f = new Intl.DateTimeFormat(i18n.tag, { ...options, timeZone: zone })
    cache.set(id, f)
  }
  return f
}

/** The format of hours: "9:30 AM" on 12-hour clocks, otherwise "09:30". */
function clock() {
  const { hour12 } = format('UTC', { hour: 'numeric' }).resolvedOptions()
  return { hour: hour12 ? 'numeric' : '2-digit', minute: '2-digit' } as const
}

/** "9:30 AM", "09:30" */
export function time(at: Date | string, zone: string): string {
  return format(zone, clock()).format(new Date(at))
}

/** "9:30 – 10:30 AM"; with dates if it crosses midnight. */
export function timeRange(from: Date | string, to: Date | string, zone: string): string {
  // An end at midnight still belongs to the same day.
  const last = new Date(new Date(to).getTime() - 1)
  const oneDay = wallOf(from, zone).slice(0, 10) === wallOf(last, zone).slice(0, 10)
  // Intl treats midnight as another day and would show both dates.
  if (oneDay && wallOf(to, zone).endsWith('T00:00:00')) return `${time(from, zone)} – ${time(to, zone)}`
  if (oneDay) return format(zone, clock()).formatRange(new Date(from), new Date(to))
  return `${dateTime(from, zone)} – ${dateTime(to, zone)}`
}

/** "+7h": how far another clock is ahead on a date; "" if it shows the same time. */
export function ahead(zone: string, of: string, date: string): string {
  const noon = new Date(date + 'T12:00:00Z')
  const minutes = offsetAt(noon, zone) - offsetAt(noon, of)
  if (!minutes) return ''
  return number(minutes / 60, { style: 'unit', unit: 'hour', unitDisplay: 'narrow', signDisplay: 'always', maximumFractionDigits: 2 })
}

/** "Sat, 21 Nov, 09:30" */
export function dateTime(at: Date | string, zone: string): string {
  return format(zone, { weekday: 'short', day: 'numeric', month: 'short', ...clock() }).format(new Date(at))
}

/** "21 Nov 2026, 09:30:15": exact, for logs and history. */
export function stamp(at: Date | string, zone: string): string {
  return format(zone, { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(at))
}

/** A time of day, "HH:MM", as an hour: "9 AM" on 12-hour clocks, otherwise "09:00". */
export function clockTime(wall: string): string {
  const at = new Date(`2024-01-01T${wall}:00Z`)
  const { hour12 } = format('UTC', clock()).resolvedOptions()
  if (!hour12) return format('UTC', { hour: '2-digit', minute: '2-digit' }).format(at)
  return format('UTC', wall.endsWith(':00') ? { hour: 'numeric' } : clock()).format(at)
}

/** The short name of a date's weekday: "Mon" */
export function weekday(date: string): string {
  return format('UTC', { weekday: 'short' }).format(new Date(date + 'T12:00:00Z'))
}

/** The parts of a calendar date's heading: "Saturday", "21 November". */
export function heading(date: string): { weekday: string; day: string; year: string } {
  const at = new Date(date + 'T12:00:00Z')
  return {
    weekday: format('UTC', { weekday: 'long' }).format(at),
    day: format('UTC', { day: 'numeric', month: 'long' }).format(at),
    year: date.slice(0, 4),
  }
}

/** "Saturday, 21 November", with the year if it is not the current one. */
export function fullDate(date: string, zone = 'UTC'): string {
  const year = date.slice(0, 4) === today(zone).slice(0, 4) ? undefined : ('numeric' as const)
  return format('UTC', { weekday: 'long', day: 'numeric', month: 'long', year }).format(new Date(date + 'T12:00:00Z'))
}

/** The days from one date (included) to another (excluded): "16 – 22 November 2026". */
export function dates(from: string, to: string): string {
  const last = addDays(to, -1)
  const f = format('UTC', { day: 'numeric', month: 'long', year: 'numeric' })
  return f.formatRange(new Date(from + 'T12:00:00Z'), new Date(last + 'T12:00:00Z'))
}

/** "November 2026" */
export function month(date: string): string {
  return format('UTC', { month: 'long', year: 'numeric' }).format(new Date(date + 'T12:00:00Z'))
}

/** The first day of the week in this region: 1 for Monday to 7 for Sunday. */
export function firstWeekday(): number {
  return firstDayOf(i18n.tag)
}

/** "Tue 23 Feb", with the year if it is not the current one. */
export function shortDate(date: string, zone = 'UTC'): string {
  const year = date.slice(0, 4) === today(zone).slice(0, 4) ? undefined : ('numeric' as const)
  return format('UTC', { weekday: 'short', day: 'numeric', month: 'short', year }).format(new Date(date + 'T12:00:00Z'))
}

/** "23 February 2027" */
export function longDate(date: string): string {
  return format('UTC', { day: 'numeric', month: 'long', year: 'numeric' }).format(new Date(date + 'T12:00:00Z'))
}

/** "23 February" */
export function dayAndMonth(date: string): string {
  return format('UTC', { day: 'numeric', month: 'long' }).format(new Date(date + 'T12:00:00Z'))
}

/** The names of the weekdays, Monday first. */
export function weekdayNames(): string[] {
  const f = format('UTC', { weekday: 'long' })
  return Array.from({ length: 7 }, (_, i) => f.format(new Date(Date.UTC(2024, 0, 1 + i))))
}

/** The short names of the weekdays, Monday first. */
export function weekdays(): string[] {
  const f = format('UTC', { weekday: 'short' })
  return Array.from({ length: 7 }, (_, i) => f.format(new Date(Date.UTC(2024, 0, 1 + i))))
}

/** "in 5 minutes", "2 hours ago" */
export function relative(at: Date | string, now: Date): string {
  const f = new Intl.RelativeTimeFormat(i18n.tag, { numeric: 'auto' })
  const minutes = Math.round((new Date(at).getTime() - now.getTime()) / 60_000)
  if (Math.abs(minutes) < 60) return f.format(minutes, 'minute')
  if (Math.abs(minutes) < 48 * 60) return f.format(Math.round(minutes / 60), 'hour')
  return f.format(Math.round(minutes / 1440), 'day')
}

const soon = 6 * 3_600_000

/** "in 2 hours", and in days if it is on another day in the zone and not soon: "tomorrow". */
export function relativeDay(at: Date | string, now: Date, zone: string): string {
  const days = Math.round((Date.parse(wallOf(at, zone).slice(0, 10)) - Date.parse(wallOf(now, zone).slice(0, 10))) / 86_400_000)
  if (!days || Math.abs(new Date(at).getTime() - now.getTime()) < soon) return relative(at, now)
  return new Intl.RelativeTimeFormat(i18n.tag, { numeric: 'auto' }).format(days, 'day')
}

const units = [
  ['day', 86400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

/** A duration in words, by its two largest units: "15 minutes", "90 minutes", "59 days, 13 hours". */
export function duration(totalSeconds: number): string {
  const words = (n: number, unit: string) => number(n, { style: 'unit', unit, unitDisplay: 'long' })
  if (totalSeconds < 7200 && totalSeconds % 60 === 0 && totalSeconds !== 3600) return words(totalSeconds / 60, 'minute')
  const first = units.findIndex(([, length]) => totalSeconds >= length)
  if (first < 0) return words(totalSeconds, 'second')
  const [unit, length] = units[first]!
  const rest = units[first + 1]
  const more = rest ? Math.floor((totalSeconds % length) / rest[1]) : 0
  const parts = [words(Math.floor(totalSeconds / length), unit), more && rest ? words(more, rest[0]) : '']
  return new Intl.ListFormat(i18n.tag, { type: 'unit', style: 'short' }).format(parts.filter(Boolean))
}

/** A number in the format of the language. */
export function number(n: number, options?: Intl.NumberFormatOptions): string {
  return new Intl.NumberFormat(i18n.tag, options).format(n)
}

/** "A, B and C" */
export function list(names: string[]): string {
  return new Intl.ListFormat(i18n.tag, { type: 'conjunction' }).format(names)
}
