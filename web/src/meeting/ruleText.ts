import * as f from '../lib/i18n/format'
import { i18n } from '../lib/i18n/index.svelte'
import { nthOf, ruleOf, weekdayOf, weekdays, type Rule } from './rule'

const everyWorkday = 'MO,TU,WE,TH,FR'

/** A rule in words: "Every other Tuesday until 3 May 2027". */
export function sentence(rule: Rule, date: string): string {
  const t = i18n.t.repeat
  return t.joined(frequency(rule, date), rule.ends === 'count' ? t.times(rule.count) : rule.ends === 'until' && rule.until ? t.until(f.longDate(rule.until)) : '')
}

/** The rule of a series in words; null if the form cannot show it. */
export function ruleSentence(text: string, date: string): string | null {
  const rule = ruleOf(text, date)
  return rule && sentence(rule, date)
}

/** The frequency: "Every other Tuesday". */
export function frequency(rule: Rule, date: string): string {
  const t = i18n.t.repeat
  const name = (d: string) => f.weekdayNames()[weekdays.indexOf(d as Rule['days'][number])]!
  switch (rule.freq) {
    case 'DAILY':
      return t.daily(rule.interval)
    case 'WEEKLY': {
      const days = weekdays.filter((d) => rule.days.includes(d))
      if (days.join() === everyWorkday && rule.interval === 1) return t.workdays
      return t.weekly(rule.interval, f.list(days.map(name)), days.length)
    }
    case 'MONTHLY': {
      const nth = rule.by === 'lastWeekday' ? 0 : nthOf(date)
      if (rule.by === 'lastDay') return t.monthlyLastDay(rule.interval)
      if (rule.by === 'date') return t.monthlyDate(rule.interval, Number(date.slice(8, 10)))
      return t.monthlyWeekday(rule.interval, t.nth[nth] ?? '', name(weekdayOf(date)))
    }
    default:
      return t.yearly(rule.interval, f.dayAndMonth(date))
  }
}
