import { number, valueOf } from './numbers'

// Times of day as people write them. The rules for what is ambiguous:
// - An hour from 1 to 6 without am, pm, a part of the day, or a leading zero is in the afternoon.
// - In a range, am or pm of the end also applies to the start, unless the start would then come after it.
// - An end that is not after the start is twelve hours later, or on the next day.

export interface Clock {
  hour: number
  minute: number
  /** Which half of the day the text names; undefined: none. */
  half?: 'am' | 'pm'
  /** The hour is as written, such as "03:00" or "noon". */
  exact?: boolean
}

const inWord = '[\\p{Script=Latin}\\p{N}]'

/** Returns a pattern that matches at one place, and not only the beginning of a word. */
export function phrase(pattern: string): RegExp {
  return new RegExp(`(?:${pattern})(?!(?<=${inWord})${inWord})`, 'iuy')
}

const across = new RegExp(`^${inWord}{2}$`, 'u')

/** Reports whether no word of letters or digits goes on across this place. */
export function edge(text: string, at: number): boolean {
  return !across.test(text.slice(Math.max(0, at - 1), at + 1))
}

interface Rule {
  pattern: RegExp
  read: (m: RegExpExecArray) => Clock | null
}

const rule = (pattern: string, read: Rule['read']): Rule => ({ pattern: phrase(pattern), read })

const meridiem = '(a\\.?m\\.?|p\\.?m\\.?)'
// In German, "10 am Montag" is not in the morning.
const notGerman = '(?!\\s+(?:\\d|mo|di|mi|do|fr|sa|so))'
const german = '(?:\\s*(morgens|früh|vormittags|mittags|nachmittags|abends))?'
const chinese = '(凌晨|早上|早晨|上午|中午|下午|午后|傍晚|晚上|今晚)?'

function halfOf(word: string | undefined): Clock['half'] {
  if (!word) return undefined
  if (/^(?:a\.?m|morgens|früh|vormittags|凌晨|早|上午)/i.test(word)) return 'am'
  return /^(?:中午)/.test(word) ? undefined : 'pm'
}

function at(hour: string | number, minute: string | number = 0, half?: Clock['half']): Clock | null {
  const exact = typeof hour === 'string' && /^0\d/.test(hour)
  const h = typeof hour === 'string' ? valueOf(hour) : hour
  const m = typeof minute === 'string' ? valueOf(minute) : minute
  if (!(h >= 0 && h <= 24) || !(m >= 0 && m < 60) || (h === 24 && m > 0)) return null
  const plain = h > 12 || h === 0 // on a 24-hour clock
  if (half === 'am' && h > 12) return null
  return { hour: h, minute: m, half: plain ? undefined : half, exact: exact || plain }
}

/** An hour with minutes before or after it: "quarter to eleven" is 11, -15. */
function around(hour: string, minutes: number): Clock | null {
  const h = valueOf(hour)
  if (!(h >= 1 && h <= 12)) return null
  return minutes < 0 ? at(h === 1 ? 12 : h - 1, 60 + minutes) : at(h, minutes)
}

const rules: Rule[] = [
  rule(`(\\d{1,2})[:.h](\\d\\d)(?!\\d|\\.\\d|\\.?\\s*\\p{L}{3,}ber)(?:\\s*${meridiem}${notGerman})?(?:\\s*(?:uhr|h)\\b)?${german}`, (m) => at(m[1]!, m[2]!, halfOf(m[3] ?? m[4]))),
  rule(`(\\d{1,2})\\s*${meridiem}${notGerman}`, (m) => at(m[1]!, 0, halfOf(m[2]))),
  rule(`(${number})\\s*uhr(?:\\s*(\\d\\d)(?![:.\\d]|\\s*min))?${german}`, (m) => at(m[1]!, m[2] ?? 0, halfOf(m[3]))),
  rule(`(${number})\\s*o['’]?clock(?:\\s*${meridiem})?`, (m) => at(m[1]!, 0, halfOf(m[2]))),
  rule('noon|midday|(?:12 uhr )?mittags?', () => ({ hour: 12, minute: 0, exact: true })),
  rule('midnight|mitternachts?|午夜|半夜', () => ({ hour: 0, minute: 0, exact: true })),
  rule(`half\\s+past\\s+(${number})`, (m) => around(m[1]!, 30)),
  rule(`(?:a\\s+)?quarter\\s+(past|after|to|before)\\s+(${number})`, (m) => around(m[2]!, /past|after/i.test(m[1]!) ? 15 : -15)),
  rule(`(${number})\\s+past\\s+(${number})`, (m) => (valueOf(m[1]!) % 5 ? null : around(m[2]!, valueOf(m[1]!)))),
  rule(`halb\\s+(${number})${german}`, (m) => around(m[1]!, -30)),
  rule(`viertel\\s+(nach|vor)\\s+(${number})`, (m) => around(m[2]!, /nach/i.test(m[1]!) ? 15 : -15)),
  rule(`dreiviertel\\s+(${number})`, (m) => around(m[1]!, -15)),
  rule(`(${number})\\s+(nach|vor)\\s+(halb\\s+)?(${number})`, (m) => (valueOf(m[1]!) % 5 ? null : around(m[4]!, (/nach/i.test(m[2]!) ? 1 : -1) * valueOf(m[1]!) - (m[3] ? 30 : 0)))),
  rule(`${chinese}\\s*(${number})\\s*[点點时](?!间)(?:(半)|(一刻)|(三刻)|(${number})分?|整|钟)?`, (m) => at(m[2]!, m[3] ? 30 : m[4] ? 15 : m[5] ? 45 : (m[6] ?? 0), halfOf(m[1]))),
  rule(`(凌晨|早上|早晨|上午|中午|下午|午后|傍晚|晚上|今晚)\\s*(\\d{1,2})[:：](\\d\\d)`, (m) => at(m[2]!, m[3]!, halfOf(m[1]))),
  rule('中午', () => ({ hour: 12, minute: 0, exact: true })),
]

/** A number alone is a time only after a word such as "at", or in a range. */
const bare = rule(`(${number})(?!\\s*(?:${meridiem}${notGerman}|uhr|[点點时]))`, (m) => (/^an?$/i.test(m[1]!) ? null : at(m[1]!)))

/** Reads a time at a place of the text, the longest that matches; null if there is none. */
export function clockAt(text: string, from: number, alone: boolean): { clock: Clock; to: number } | null {
  let best: { clock: Clock; to: number } | null = null
  for (const { pattern, read } of alone ? [...rules, bare] : rules) {
    pattern.lastIndex = from
    const m = pattern.exec(text)
    const clock = m && read(m)
    const to = from + (m?.[0].length ?? 0)
    if (clock && to > (best?.to ?? from)) best = { clock, to }
  }
  return best
}

/** Minutes since midnight. */
export function minutesOf(c: Clock): number {
  const h = c.half ? (c.hour % 12) + (c.half === 'pm' ? 12 : 0) : c.exact || c.hour > 6 ? c.hour : c.hour + 12
  return h * 60 + c.minute
}

/** Returns the start and the length in minutes of a range. */
export function rangeOf(from: Clock, to: Clock): { start: number; minutes: number } {
  let start = minutesOf(from)
  if (to.half && !from.half && !from.exact) {
    start = minutesOf({ ...from, half: to.half })
    if (start >= minutesOf(to)) start = minutesOf({ ...from, half: to.half === 'pm' ? 'am' : 'pm' })
  }
  let end = to.half || to.exact ? minutesOf(to) : to.hour * 60 + to.minute
  while (end <= start) end += to.half || to.exact ? 1440 : 720
  return { start, minutes: end - start }
}
