import { addDays } from '../lib/zone'

/** Dates from `from` up to, without, `to`. */
export interface Span {
  from: string
  to: string
}

/** The date, alone. */
export function dayOf(date: string): Span {
  return { from: date, to: addDays(date, 1) }
}

/** The week around a date; `first` is the day it begins with, 1 for Monday to 7 for Sunday. */
export function weekOf(date: string, first: number): Span {
  const weekday = new Date(date + 'T00:00:00Z').getUTCDay() || 7
  const from = addDays(date, -((weekday - first + 7) % 7))
  return { from, to: addDays(from, 7) }
}

/** The calendar month around a date. */
export function monthOf(date: string): Span {
  const from = date.slice(0, 8) + '01'
  return { from, to: addMonths(from, 1) }
}

/** The same day of another month, or its last day where it is too short for that. */
export function addMonths(date: string, months: number): string {
  const [year, month, day] = date.split('-').map(Number) as [number, number, number]
  const last = new Date(Date.UTC(year, month + months, 0)).getUTCDate()
  return new Date(Date.UTC(year, month - 1 + months, Math.min(day, last))).toISOString().slice(0, 10)
}
