// Recurrence rules as the form builds them: a subset of RFC 5545. Dates are "2027-02-10".

export const weekdays = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const
export type Weekday = (typeof weekdays)[number]

export interface Rule {
  freq: 'DAILY' | 'WEEKLY' | 'MONTHLY' | 'YEARLY'
  interval: number
  /** Of a weekly rule; in weekday order. */
  days: Weekday[]
  /** Of a monthly rule: the day of the start, or its weekday as the n-th or the last. */
  by: 'date' | 'lastDay' | 'weekday' | 'lastWeekday'
  /** "never" ends at the booking horizon of the rooms. */
  ends: 'count' | 'until' | 'never'
  count: number
  until: string
}

const at = (date: string) => new Date(date + 'T00:00:00Z')
const dateOf = (t: Date) => t.toISOString().slice(0, 10)

/** Returns the weekday of a date. */
export function weekdayOf(date: string): Weekday {
  return weekdays[(at(date).getUTCDay() + 6) % 7]!
}

/** Returns the ordinal of a date among its weekdays in the month, from 1. */
export function nthOf(date: string): number {
  return Math.ceil(Number(date.slice(8, 10)) / 7)
}

export function isLastDay(date: string): boolean {
  return new Date(at(date).getTime() + 86_400_000).getUTCDate() === 1
}

export function isLastWeekday(date: string): boolean {
  return new Date(at(date).getTime() + 7 * 86_400_000).getUTCMonth() !== at(date).getUTCMonth()
}

/** Returns a rule for the date's weekday, weekly, ten times. */
export function weekly(date: string): Rule {
  return { freq: 'WEEKLY', interval: 1, days: [weekdayOf(date)], by: 'date', ends: 'count', count: 10, until: '' }
}

/** Returns the rule in API format; the start is one of its dates. An endless rule contains no end. */
export function textOf(rule: Rule, date: string): string {
  const parts = [`FREQ=${rule.freq}`]
  if (rule.interval > 1) parts.push(`INTERVAL=${rule.interval}`)
  if (rule.freq === 'WEEKLY') parts.push(`BYDAY=${weekdays.filter((d) => rule.days.includes(d)).join()}`)
  if (rule.freq === 'MONTHLY') parts.push(monthly(rule.by, date))
  if (rule.ends === 'count') parts.push(`COUNT=${rule.count}`)
  if (rule.ends === 'until' && rule.until) parts.push(`UNTIL=${rule.until.replaceAll('-', '')}`)
  return parts.join(';')
}

function monthly(by: Rule['by'], date: string): string {
  switch (by) {
    case 'lastDay':
      return 'BYMONTHDAY=-1'
    case 'weekday':
      return `BYDAY=${nthOf(date)}${weekdayOf(date)}`
    case 'lastWeekday':
      return `BYDAY=-1${weekdayOf(date)}`
    default:
      return `BYMONTHDAY=${Number(date.slice(8, 10))}`
  }
}

/** Parses a rule for a series that begins on the date; null if the form cannot show it. */
export function ruleOf(text: string, date: string): Rule | null {
  const parts = new Map<string, string>()
  for (const part of text.toUpperCase().replace(/^RRULE:/, '').split(';')) {
    const [name, value] = part.split('=')
    if (!name || !value || parts.has(name)) return null
    parts.set(name, value)
  }
  const take = (name: string) => {
    const value = parts.get(name)
    parts.delete(name)
    return value
  }
  const rule = weekly(date)
  const freq = take('FREQ')
  if (freq !== 'DAILY' && freq !== 'WEEKLY' && freq !== 'MONTHLY' && freq !== 'YEARLY') return null
  rule.freq = freq
  rule.interval = Number(take('INTERVAL') ?? 1)
  const count = take('COUNT')
  const until = take('UNTIL')
  const date8 = /^(\d{4})(\d\d)(\d\d)/.exec(until ?? '')
  if (count) Object.assign(rule, { ends: 'count', count: Number(count) })
  else if (date8) Object.assign(rule, { ends: 'until', until: date8.slice(1, 4).join('-') })
  else rule.ends = 'never'
  take('WKST')
  if (freq === 'WEEKLY' && parts.has('BYDAY')) {
    const days = take('BYDAY')!.split(',')
    if (!days.every((d) => (weekdays as readonly string[]).includes(d))) return null
    rule.days = days as Weekday[]
  }
  if (freq === 'MONTHLY') {
    const byMonthDay = take('BYMONTHDAY')
    const byDay = take('BYDAY')
    const by = (['date', 'lastDay', 'weekday', 'lastWeekday'] as const).find((b) => monthly(b, date) === (byDay ? `BYDAY=${byDay}` : `BYMONTHDAY=${byMonthDay ?? Number(date.slice(8, 10))}`))
    if (!by || (byDay && byMonthDay)) return null
    rule.by = by
  }
  return parts.size || !(rule.interval >= 1) || !(rule.count >= 1) ? null : rule
}

/** Returns the rule for another first date, with its weekday or day of the month adjusted. */
export function moved(rule: Rule, from: string, to: string): Rule {
  const days = rule.days.length === 1 && rule.days[0] === weekdayOf(from) ? [weekdayOf(to)] : rule.days
  let by = rule.by
  if (by === 'lastDay' && !isLastDay(to)) by = 'date'
  if (by === 'lastWeekday' && !isLastWeekday(to)) by = 'weekday'
  if (by === 'weekday' && nthOf(to) === 5) by = 'lastWeekday'
  return { ...rule, days, by, until: rule.until && rule.until < to ? to : rule.until }
}

/** Returns the first date on or after the date that matches the rule's weekdays. */
export function firstOf(rule: Rule, date: string): string {
  if (rule.freq !== 'WEEKLY' || !rule.days.length) return date
  let t = at(date)
  while (!rule.days.includes(weekdayOf(dateOf(t)))) t = new Date(t.getTime() + 86_400_000)
  return dateOf(t)
}
