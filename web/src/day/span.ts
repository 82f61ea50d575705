import { addDays } from '../lib/zone'

/** Dates from `from` (included) to `to` (excluded). */
export interface Span {
  from: string
  to: string
}

/** Returns the span of some dates. */
export function daysOf(date: string, days: number): Span {
  return { from: date, to: addDays(date, days) }
}

/** Returns the week around a date; `first` is its first weekday, 1 for Monday to 7 for Sunday. */
export function weekOf(date: string, first: number): Span {
  const weekday = new Date(date + 'T00:00:00Z').getUTCDay() || 7
  const from = addDays(date, -((weekday - first + 7) % 7))
  return { from, to: addDays(from, 7) }
}

/** Returns the calendar month around a date. */
export function monthOf(date: string): Span {
  const from = date.slice(0, 8) + '01'
  return { from, to: addMonths(from, 1) }
}

/** Returns the same day of another month, or that month's last day if it is shorter. */
export function addMonths(date: string, months: number): string {
  const [year, month, day] = date.split('-').map(Number) as [number, number, number]
  const last = new Date(Date.UTC(year, month + months, 0)).getUTCDate()
  return new Date(Date.UTC(year, month - 1 + months, Math.min(day, last))).toISOString().slice(0, 10)
}
