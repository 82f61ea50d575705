import { addMonths, monthOf, weekOf } from '../day/span'
import { addDays } from '../lib/zone'

// The dates of a small calendar. `first` is the first weekday, 1 for Monday to 7 for Sunday.

/** Returns the weeks of the month around a date, with the dates of its neighbors that fill them. */
export function weeksOf(date: string, first: number): string[][] {
  const { from, to } = monthOf(date)
  const weeks: string[][] = []
  for (let d = weekOf(from, first).from; d < to; d = addDays(d, 7)) weeks.push(Array.from({ length: 7 }, (_, i) => addDays(d, i)))
  return weeks
}

/** Returns the number of the week that begins on a date: ISO 8601 where weeks begin on Monday, else week 1 has 1 January. */
export function weekNumber(start: string, first: number): number {
  const most = addDays(start, first === 1 ? 3 : 6) // the year of this date is the week's
  const days = (Date.parse(most) - Date.parse(most.slice(0, 4) + '-01-01')) / 86_400_000
  return Math.floor(days / 7) + 1
}

/** Returns the date that a key leads to from another; undefined if it leads nowhere. */
export function walk(date: string, key: string, first: number): string | undefined {
  const days = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[key]
  if (days) return addDays(date, days)
  const months = { PageUp: -1, PageDown: 1 }[key]
  if (months) return addMonths(date, months)
  if (key === 'Home') return weekOf(date, first).from
  if (key === 'End') return addDays(weekOf(date, first).to, -1)
  return undefined
}

/** Returns the dates between two that were selected in any order, at most so many, counted from the first selected. */
export function selected(anchor: string, at: string, most: number): { from: string; days: number } {
  const [from, to] = anchor < at ? [anchor, at] : [at, anchor]
  const days = Math.min(most, (Date.parse(to) - Date.parse(from)) / 86_400_000 + 1)
  return { from: anchor < at ? anchor : addDays(anchor, 1 - days), days }
}
