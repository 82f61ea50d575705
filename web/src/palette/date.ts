import { addDays } from '../lib/zone'
import { number, valueOf } from './numbers'
import { phrase } from './time'

// Days as people write them. The rules for what is ambiguous:
// - A weekday is its next date, today included if the time is still to come.
// - "this" weekday is in the current week, "next" weekday in the following week; weeks begin on Monday.
// - A date without a year is its next one. 3/4 follows the region of the browser.

/** A day as it was written; {@link dateOf} finds its date. */
export type Day =
  | { days: number }
  | { weekday: number; week?: 'this' | 'next' | 'second' }
  | { weeks: number } // the Monday of a later week, or the week of a weekday beside it
  | { year?: number; month?: number; day: number }

/** A part of the day: where the time is without one, and what the hours from 1 to 11 mean. */
export type DayPart = 'morning' | 'afternoon' | 'evening'

export interface DayFound {
  day: Day
  part?: DayPart
  to: number
}

interface Rule {
  pattern: RegExp
  read: (m: RegExpExecArray, monthFirst: boolean) => Omit<DayFound, 'to'> | null
}

const rule = (pattern: string, read: Rule['read']): Rule => ({ pattern: phrase(pattern), read })

// Monday is 0.
const weekdayNames = [
  'mondays?|mon|montags?|mo',
  'tuesdays?|tues?|dienstags?|di',
  'wednesdays?|wed|mittwochs?|mi',
  'thursdays?|thurs?|thu|donnerstags?|do',
  'fridays?|fri|freitags?|fr',
  'saturdays?|sat|samstags?|sonnabends?|sa',
  'sundays?|sun|sonntags?|so',
]
/** Abbreviations that are also words stand only before a dot, a comma or a number, or at the end. */
const careful = /^(?:di|do|fr|mi|mo|sa|so|sat|sun|wed|mon)$/i
const hanDays = '一二三四五六日'

const monthNames = [
  'january|jan|januar|jänner', 'february|feb|februar', 'march|mar|märz|mrz', 'april|apr', 'may|mai', 'june|jun|juni',
  'july|jul|juli', 'august|aug', 'september|sept|sep', 'october|oct|oktober|okt', 'november|nov', 'december|dec|dezember|dez',
]

const weekdayPattern = `(${weekdayNames.join('|')})`
export const monthPattern = `(${monthNames.join('|')})`
const indexIn = (names: string[], text: string) => names.findIndex((n) => new RegExp(`^(?:${n})$`, 'iu').test(text))
const partPattern = '(morning|afternoon|evening|früh|vormittags?|morgen|nachmittags?|abends?|上午|早上|下午|晚上)'

function partOf(word: string | undefined): DayPart | undefined {
  if (!word) return undefined
  if (/^(?:morning|früh|vormittag|morgen|上午|早上)/i.test(word)) return 'morning'
  return /^(?:afternoon|nachmittag|下午)/i.test(word) ? 'afternoon' : 'evening'
}

const said = (day: Day, part?: string) => ({ day, part: partOf(part) })
const withPart = `(?:\\s*${partPattern}(?!\\s*\\d{0,2}[:：点點时\\d]))?`

function calendar(day: string, month: string | number, year?: string): Omit<DayFound, 'to'> | null {
  const m = typeof month === 'number' ? month : /^\d+$/.test(month) ? Number(month) : indexIn(monthNames, month) + 1
  const d = Number(day)
  const y = year ? Number(year.length === 2 ? '20' + year : year) : undefined
  const exists = m >= 1 && m <= 12 && d >= 1 && d <= new Date(Date.UTC(y ?? 2024, m, 0)).getUTCDate()
  return exists ? { day: { year: y, month: m, day: d } } : null
}

const rules: Rule[] = [
  rule(`(?:today|heute|今天|今日)${withPart}`, (m) => said({ days: 0 }, m[1])),
  rule('tonight', () => said({ days: 0 }, 'evening')),
  rule('今晚(?!\\s*\\d)', () => said({ days: 0 }, '晚上')),
  rule(`(?:tomorrow|tmrw|tmw|morgen|明天|明日)${withPart}`, (m) => said({ days: 1 }, m[1])),
  rule('明早', () => said({ days: 1 }, '早上')),
  rule('明晚', () => said({ days: 1 }, '晚上')),
  rule(`(?:(?:the )?day after tomorrow|übermorgen|后天)${withPart}`, (m) => said({ days: 2 }, m[1])),
  rule('大后天', () => said({ days: 3 })),
  rule(`in (${number}) (?:days?|tag(?:en)?)`, (m) => said({ days: valueOf(m[1]!) })),
  rule(`in (${number}) (?:weeks?|wochen?)`, (m) => said({ days: 7 * valueOf(m[1]!) })),
  rule(`(${number})\\s*天(?:以)?后`, (m) => said({ days: valueOf(m[1]!) })),
  rule(`(${number})\\s*(?:个)?(?:周|星期)(?:以)?后`, (m) => said({ days: 7 * valueOf(m[1]!) })),
  rule('next week|nächste(?:r)? woche|kommende woche|下(?:个)?(?:周|星期|礼拜)(?![一二三四五六日天末])', () => said({ weeks: 1 })),
  rule('this week|diese(?:r)? woche|(?:本|这)(?:个)?(?:周|星期)(?![一二三四五六日天末])', () => said({ weeks: 0 })),
  rule(`(?:on |am |den )?(?:(next|nächste[nr]?|this|coming|diese[nr]?|kommende[nr]?) )?${weekdayPattern}\\.?,?${withPart}`, (m) => {
    const name = m[2]!
    if (careful.test(name) && !m[1] && !/^(?:on|am|den) /i.test(m[0]) && !/[.,]$/.test(m[0]) && !/^\s*(?:\d|$)/.test(m.input.slice(m.index + m[0].length))) return null
    const week = /^(?:next|nächste)/i.test(m[1] ?? '') ? 'next' : /^(?:this|diese)/i.test(m[1] ?? '') ? 'this' : undefined
    return said({ weekday: indexIn(weekdayNames, name), week }, m[3])
  }),
  rule(`(下下|下|本|这)?(?:个)?(?:周|星期|礼拜)([一二三四五六日天])${withPart}`, (m) => {
    const week = m[1] === '下下' ? 'second' : m[1] === '下' ? 'next' : m[1] ? 'this' : undefined
    return said({ weekday: hanDays.indexOf(m[2] === '天' ? '日' : m[2]!), week }, m[3])
  }),
  rule('(?:on |am )?(\\d{4})-(\\d\\d)-(\\d\\d)', (m) => calendar(m[3]!, m[2]!, m[1])),
  rule(`(?:on |am |den )?(?:the )?(\\d{1,2})(?:st|nd|rd|th|\\.)?(?: of)? ?${monthPattern}\\.?(?:,? (\\d{4}))?`, (m) => calendar(m[1]!, m[2]!, m[3])),
  rule(`(?:on )?${monthPattern}\\.? (?:the )?(\\d{1,2})(?:st|nd|rd|th)?(?![:.\\d])(?!\\s*(?:am|pm|-|–))(?:,? (\\d{4}))?`, (m) => calendar(m[2]!, m[1]!, m[3])),
  rule('(?:am |den )?(\\d{1,2})\\.\\s?(\\d{1,2})\\.(?:\\s?(\\d{4}|\\d\\d(?![\\d:.]))(?!\\s*(?:[-–:]|uhr|bis)))?', (m) => calendar(m[1]!, m[2]!, m[3])),
  rule('(?:am |den )(\\d{1,2})\\.(\\d{1,2})', (m) => calendar(m[1]!, m[2]!)),
  rule('(?:on )?(\\d{1,2})/(\\d{1,2})(?:/(\\d{4}|\\d\\d))?', (m, monthFirst) => (monthFirst ? calendar(m[2]!, m[1]!, m[3]) : calendar(m[1]!, m[2]!, m[3]))),
  rule('(?:(\\d{4})年)?(\\d{1,2}|[一二三四五六七八九十]+)月(\\d{1,2}|[一二三四五六七八九十]+)[日号號]?', (m) => calendar(String(valueOf(m[3]!)), valueOf(m[2]!), m[1])),
  rule('(\\d{1,2})[号號日](?![\\p{Script=Han}]*[会室楼])', (m) => said({ day: Number(m[1]) })),
  rule('(?:on )?the (\\d{1,2})(?:st|nd|rd|th)', (m) => said({ day: Number(m[1]) })),
  rule('(?:am|den) (\\d{1,2})\\.(?!\\d)', (m) => said({ day: Number(m[1]) })),
]

/** Reads a day at a place of the text, the longest that matches; null if there is none. */
export function dayAt(text: string, from: number, monthFirst: boolean): DayFound | null {
  let best: DayFound | null = null
  for (const { pattern, read } of rules) {
    pattern.lastIndex = from
    const m = pattern.exec(text)
    const to = from + (m?.[0].length ?? 0)
    if (!m || to <= (best?.to ?? from)) continue
    const found = read(m, monthFirst)
    if (found && (!('day' in found.day) || (found.day.day >= 1 && found.day.day <= 31))) best = { ...found, to }
  }
  return best
}

/** Returns the weekday of a date, Monday as 0. */
export function weekdayIndex(date: string): number {
  return (new Date(date + 'T00:00:00Z').getUTCDay() + 6) % 7
}

/** Returns the date of a day. `late` says that its time has passed today. */
export function dateOf(day: Day, today: string, late: boolean): string {
  const monday = addDays(today, -weekdayIndex(today))
  if ('days' in day) return addDays(today, day.days)
  if ('weeks' in day) return day.weeks ? addDays(monday, 7 * day.weeks) : today
  if ('weekday' in day) {
    const inWeek = addDays(monday, day.weekday)
    if (day.week === 'next') return addDays(inWeek, 7)
    if (day.week === 'second') return addDays(inWeek, 14)
    return inWeek < today || (inWeek === today && late) ? addDays(inWeek, 7) : inWeek
  }
  let year = day.year ?? Number(today.slice(0, 4))
  let month = day.month ?? Number(today.slice(5, 7))
  const write = () => `${year}-${String(month).padStart(2, '0')}-${String(day.day).padStart(2, '0')}`
  const passed = () => write() < today || (write() === today && late)
  const exists = () => day.day <= new Date(Date.UTC(year, month, 0)).getUTCDate()
  while (!exists() || (day.year === undefined && passed())) {
    if (day.month) year++
    else if (++month > 12) [year, month] = [year + 1, 1]
    if (day.year !== undefined || year > 9000) break
  }
  return write()
}
