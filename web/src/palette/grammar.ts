import { addDays } from '../lib/zone'
import { firstOf, weekdays, weekly, type Rule } from '../meeting/rule'
import { dateOf, dayAt, monthPattern, weekdayIndex, type Day, type DayPart } from './date'
import { number, valueOf } from './numbers'
import { clockAt, edge, minutesOf, phrase as at, rangeOf, type Clock } from './time'

// Understands a sentence such as "Turing tomorrow 10-11 weekly with grace" in English, German and
// Chinese, whatever the language of the page. It reads from left to right and takes the longest
// phrase that it knows; all other words are the title. date.ts and time.ts state the rules for what
// is ambiguous. Text in quotation marks is the title, as it is.

/** What the sentence is read with. */
export interface Context {
  rooms: { id: number; name: string }[]
  /** The features of the rooms. */
  features: string[]
  /** 3/4 is 4 March. */
  monthFirst: boolean
  /** The wall-clock time of a room, or of the user without a room: "2026-11-22T09:30:00". */
  now: (roomID: number | undefined) => string
}

/** What a sentence says; null or empty: nothing. */
export interface Understood {
  title: string
  room: number | null
  date: string | null
  /** "10:00" */
  start: string | null
  minutes: number | null
  rule: Rule | null
  /** Names or addresses, as typed. */
  people: string[]
  seats: number
  features: string[]
  /** It begins now. */
  now: boolean
}

type Piece =
  | { kind: 'room'; id: number }
  | { kind: 'day'; day: Day; part?: DayPart }
  | { kind: 'range'; start: number; minutes: number }
  | { kind: 'clock'; clock: Clock }
  | { kind: 'length'; minutes: number }
  | { kind: 'repeat'; freq: Rule['freq']; interval: number; days?: number[] }
  | { kind: 'until'; day: Day }
  | { kind: 'times'; count: number; weeks?: boolean }
  | { kind: 'seats'; seats: number }
  | { kind: 'feature'; name: string }
  | { kind: 'person'; name: string }
  | { kind: 'with' | 'and' | 'about' | 'now' | 'filler' }
  | { kind: 'title'; text: string }
  | { kind: 'word'; text: string }

type Placed = Piece & { from: number; to: number }

/** Phrases by their meaning. Those of a time or a day are in time.ts and date.ts. */
const phrases: [RegExp, (m: RegExpExecArray) => Piece | null][] = [
  [at('["“”„«「『]([^"“”„«»「」『』]*)["“”»」』]?'), (m) => ({ kind: 'title', text: m[1]!.trim() })],
  [at('[^\\s@<>()[\\]",;:]+@[^\\s@<>()[\\]",;:]+'), (m) => ({ kind: 'person', name: m[0] })],

  [at('(?:right )?now|jetzt|sofort|现在|立即|马上'), () => ({ kind: 'now' })],
  [at(`(?:for )?half an hour|(?:für )?(?:eine )?halbe stunde|半(?:个)?(?:小时|钟头)`), () => ({ kind: 'length', minutes: 30 })],
  [at(`(?:for )?an hour and a half|(?:für )?(?:anderthalb|eineinhalb) stunden`), () => ({ kind: 'length', minutes: 90 })],
  [at(`(?:for |für )?(\\d+|[零一二两三四五六七八九十]+)\\s*(?:个)?半(?:小时|钟头)`), (m) => hours(valueOf(m[1]!) + 0.5)],
  [at(`(${number})\\s*个半(?:小时|钟头)`), (m) => hours(valueOf(m[1]!) + 0.5)],
  [at(`(?:for |für )?(\\d+)\\s*(?:h|hours?|hrs?|std\\.?|stunden?|小时)\\s*(?:and |und )?(\\d+)\\s*(?:m|mins?|minutes?|minuten?|分钟)?`), (m) => length(Number(m[1]) * 60 + Number(m[2]))],
  [at(`(?:for |für )?(\\d+[.,]\\d+|${number})\\s*(?:h|hours?|hrs?|std\\.?|stunden?|(?:个)?(?:小时|钟头))(?: lang)?`), (m) => hours(/[.,]/.test(m[1]!) ? Number(m[1]!.replace(',', '.')) : valueOf(m[1]!))],
  [at(`(?:for |für )?(${number})\\s*(?:m|mins?\\.?|minutes?|minuten?|分钟?)(?: lang)?`), (m) => length(valueOf(m[1]!))],

  [at('every ?day|daily|jeden tag|täglich|每(?:一)?[天日]'), () => repeat('DAILY')],
  [at('every (?:weekday|workday|working day)|(?:on )?weekdays|jeden (?:werk|arbeits)tag|werktags|werktäglich|每个?工作日'), () => repeat('WEEKLY', 1, [0, 1, 2, 3, 4])],
  [at('every week|weekly|jede woche|wöchentlich|每(?:一)?(?:个)?(?:周|星期|礼拜)(?![一二三四五六日天])'), () => repeat('WEEKLY')],
  [at('every (?:other|second) week|fortnightly|every fortnight|bi-?weekly|jede (?:zweite|2\\.) woche|zweiwöchentlich|14-tägig|隔(?:一)?周|每隔(?:一)?周'), () => repeat('WEEKLY', 2)],
  [at('every (?:other|second) day|jeden (?:zweiten|2\\.) tag|隔天|每隔(?:一)?天'), () => repeat('DAILY', 2)],
  [at('every (?:other|second) month|jeden (?:zweiten|2\\.) monat'), () => repeat('MONTHLY', 2)],
  [at(`(?:every|alle) (${number}) (?:weeks|wochen)`), (m) => repeat('WEEKLY', valueOf(m[1]!))],
  [at('alle 14 tage'), () => repeat('WEEKLY', 2)],
  [at(`(?:every|alle) (${number}) (?:days|tage)`), (m) => repeat('DAILY', valueOf(m[1]!))],
  [at(`(?:every|alle) (${number}) (?:months|monate)`), (m) => repeat('MONTHLY', valueOf(m[1]!))],
  [at(`每(${number})(?:个)?(?:周|星期)`), (m) => repeat('WEEKLY', valueOf(m[1]!))],
  [at(`每(${number})天`), (m) => repeat('DAILY', valueOf(m[1]!))],
  [at(`每(${number})个月`), (m) => repeat('MONTHLY', valueOf(m[1]!))],
  [at('every month|monthly|jeden monat|monatlich|每(?:个)?月'), () => repeat('MONTHLY')],
  [at('every year|yearly|annually|jedes jahr|jährlich|每年'), () => repeat('YEARLY')],
  [at('每(隔)?(?:周|星期)((?:[一二三四五六日天][、和,，]?)+)'), (m) => repeat('WEEKLY', m[1] ? 2 : 1, [...m[2]!].flatMap((c) => ('一二三四五六日'.includes(c === '天' ? '日' : c) ? ['一二三四五六日'.indexOf(c === '天' ? '日' : c)] : [])))],
  [at('(?:for )?(\\d+) (?:times|mal|occurrences|termine)|(\\d+)x|(?:共|一共)?\\s*(\\d+|[一二两三四五六七八九十]+)次'), (m) => ({ kind: 'times', count: valueOf((m[1] ?? m[2] ?? m[3])!) })],
  [at(`(?:for|für|während) (${number}) (?:weeks|wochen)|(?:共|持续)(${number})(?:个)?(?:周|星期)`), (m) => ({ kind: 'times', count: valueOf((m[1] ?? m[2])!), weeks: true })],

  [at(`(?:for |für |with |mit )?(${number}) (?:people|persons?|pax|attendees|seats|guests|personen?|leute|plätze|gäste)`), (m) => ({ kind: 'seats', seats: valueOf(m[1]!) })],
  [at('zu (zweit|dritt|viert|fünft|sechst|siebt|acht|zehnt)'), (m) => ({ kind: 'seats', seats: { zweit: 2, dritt: 3, viert: 4, fünft: 5, sechst: 6, siebt: 7, acht: 8, zehnt: 10 }[m[1]!.toLowerCase()]! })],
  [at(`(${number})\\s*(?:个)?人`), (m) => ({ kind: 'seats', seats: valueOf(m[1]!) })],
  [at('(?:for|für) (\\d{1,3})(?![\\d:.])(?!\\s*' + monthPattern + ')'), (m) => ({ kind: 'seats', seats: Number(m[1]) })],

  [at('with|w/|mit|和|跟|与|同'), () => ({ kind: 'with' })],
  [at('and|und|&|plus|、|和|,|，'), () => ({ kind: 'and' })],
  [at('about|regarding|re:|titled|called|title:?|über|wegen|betreff:?|titel:?|thema:?|关于|主题[:：]?|标题[:：]?'), () => ({ kind: 'about' })],
  [at('(?:please )?(?:book|reserve)(?: a room| a meeting)?|schedule|in room|in|at|on|for|buche|reserviere|im raum|im|um|am|für|预订|预定|订|在'), () => ({ kind: 'filler' })],
]

const length = (minutes: number): Piece | null => (minutes > 0 && minutes <= 1440 ? { kind: 'length', minutes } : null)
const hours = (h: number) => length(Math.round(h * 60))
const repeat = (freq: Rule['freq'], interval = 1, days?: number[]): Piece | null => (interval >= 1 ? { kind: 'repeat', freq, interval, days } : null)

const beforeTime = at('(?:from|at|@|between|starting at|von|um|ab|gegen|zwischen|从|在)\\s*')
const between = at('\\s*(?:-|–|—|~|～|to|until|till|bis|到|至)\\s*')
const betweenAnd = at('\\s*(?:and|und|和)\\s*')
const untilWord = at('(?:until|till|through|bis(?: zum)?|直到|截至|截止|到)\\s*(?:the )?')
const everyWord = at('(?:(?:every|jede[nr]?)( other| second| zweite[nr]?| 2\\.)?)\\s+')
const anotherDay = at('\\s*(?:,|and|und|&)\\s*')
const article = at('(?:an?|the|eine?[nmr]?|der|die|das|dem|den)\\s+')
const afterUntil = at('\\s*为止')

/** A synonym of a feature names the one that the rooms have. */
const synonyms = [
  ['projector', 'beamer', 'projektor', '投影仪', '投影机', '投影'],
  ['whiteboard', 'white board', 'tafel', '白板'],
  ['video', 'video conference', 'videoconference', 'videokonferenz', 'camera', 'kamera', '视频会议', '视频', '摄像头'],
  ['screen', 'display', 'tv', 'bildschirm', 'monitor', '屏幕', '电视'],
  ['phone', 'telefon', 'conference phone', '电话'],
]

/** Returns the phrases that name the features of the rooms. */
function featureNames(features: string[]): [string, string][] {
  const named = features.map((f): [string, string] => [f.toLowerCase(), f])
  for (const group of synonyms) {
    const has = features.find((f) => group.includes(f.toLowerCase()))
    if (has) named.push(...group.map((name): [string, string] => [name, has]))
  }
  return named
}

/** Reads a sentence. */
export function understand(sentence: string, context: Context): Understood {
  return settle(read(sentence, context), context)
}

function read(text: string, { rooms, features, monthFirst }: Context): Placed[] {
  const roomNames = rooms.map((r): [string, number] => [r.name.toLowerCase(), r.id])
  const featured = featureNames(features)
  const lower = text.toLowerCase()
  const pieces: Placed[] = []
  let pos = 0

  const eat = (re: RegExp, from: number) => {
    re.lastIndex = from
    const m = re.exec(text)
    return m ? from + m[0].length : null
  }
  const named = <T>(names: [string, T][], from: number) =>
    names.filter(([n]) => n && lower.startsWith(n, from) && edge(text, from + n.length)).sort((a, b) => b[0].length - a[0].length)[0]

  /** A time or a range, with the word before it. */
  function time(from: number): Placed | null {
    const word = eat(beforeTime, from)
    const start = word ?? from
    const alone = word !== null
    const first = clockAt(text, start, true)
    if (!first) return null
    const joined = eat(between, first.to) ?? (alone ? eat(betweenAnd, first.to) : null)
    const second = joined === null ? null : clockAt(text, joined, true)
    // After "bis", 20.12. is a day.
    if (second && (dayAt(text, joined!, monthFirst)?.to ?? 0) <= second.to) {
      return { kind: 'range', ...rangeOf(first.clock, second.clock), from, to: second.to }
    }
    const single = alone ? first : clockAt(text, start, false)
    return single && { kind: 'clock', clock: single.clock, from, to: single.to }
  }

  /** A day until which a series goes, or on which it repeats. */
  function untilOrEvery(from: number): Placed | null {
    const until = eat(untilWord, from)
    const last = until === null ? null : dayAt(text, until, monthFirst)
    if (last) return { kind: 'until', day: last.day, from, to: eat(afterUntil, last.to) ?? last.to }

    everyWord.lastIndex = from
    const every = everyWord.exec(text)
    let next = every ? dayAt(text, from + every[0].length, monthFirst) : null
    let plural = false
    if (!every) {
      next = dayAt(text, from, monthFirst)
      plural = next !== null && /days$|(?:tag|woch)s$/i.test(text.slice(from, next.to)) // "Mondays", "montags"
      if (!plural) return null
    }
    const days: number[] = []
    let to = from
    while (next && 'weekday' in next.day && !next.day.week) {
      days.push(next.day.weekday)
      to = next.to
      const more = eat(anotherDay, to)
      next = more === null ? null : dayAt(text, more, monthFirst)
    }
    return days.length ? { kind: 'repeat', freq: 'WEEKLY', interval: every?.[1] ? 2 : 1, days, from, to } : null
  }

  function phrase(from: number): Placed | null {
    let best: Placed | null = null
    const offer = (p: Placed | null) => {
      if (p && p.to > (best?.to ?? from)) best = p
    }
    const room = named(roomNames, from)
    if (room) offer({ kind: 'room', id: room[1], from, to: from + room[0].length })
    const noun = eat(article, from) ?? from
    const feature = named(featured, noun)
    if (feature) offer({ kind: 'feature', name: feature[1], from, to: noun + feature[0].length })
    offer(untilOrEvery(from))
    offer(time(from))
    const day = dayAt(text, from, monthFirst)
    if (day) offer({ kind: 'day', day: day.day, part: day.part, from, to: day.to })
    for (const [re, meaning] of phrases) {
      re.lastIndex = from
      const m = re.exec(text)
      const piece = m && meaning(m)
      if (piece) offer({ ...piece, from, to: from + m![0].length })
    }
    return best
  }

  while (pos < text.length) {
    if (/\s/.test(text[pos]!)) {
      pos++
      continue
    }
    const found = edge(text, pos) ? phrase(pos) : null
    if (found && meant(found, pieces, text)) {
      pieces.push(found)
      pos = found.to
      continue
    }
    // A word, or one Chinese character.
    const [word] = /^(?:[\p{Script=Latin}\p{N}][\p{Script=Latin}\p{N}'’.:/+#_-]*[\p{Script=Latin}\p{N}+#]|.)/u.exec(text.slice(pos))!
    const last = pieces.at(-1)
    const joins = last?.kind === 'word' && last.to === pos
    if (joins) Object.assign(last, { text: last.text + word, to: pos + word.length })
    else pieces.push({ kind: 'word', text: word, from: pos, to: pos + word.length })
    pos += word.length
  }
  return lonelyHour(pieces)
}

/** Reports whether a phrase means what it usually does: "和" in the middle of a word does not. */
function meant(p: Placed, before: Placed[], text: string): boolean {
  const last = before.at(-1)
  if (p.kind === 'with' && /[和跟与同]/.test(text.slice(p.from, p.to))) return !(last?.kind === 'word' && last.to === p.from) || !/\p{Script=Han}/u.test(last.text)
  return true
}

/** A number beside a day or a length is an hour: "tomorrow 10", "10 for 45 min". */
function lonelyHour(pieces: Placed[]): Placed[] {
  if (pieces.some((p) => p.kind === 'clock' || p.kind === 'range')) return pieces
  const beside = (p: Placed | undefined) => p?.kind === 'day' || p?.kind === 'length' || p?.kind === 'repeat'
  const i = pieces.findIndex((p, n) => p.kind === 'word' && /^\d{1,2}$/.test(p.text) && Number(p.text) < 24 && (beside(pieces[n - 1]) || beside(pieces[n + 1])))
  const p = pieces[i]
  if (p?.kind !== 'word') return pieces
  const clock = clockAt(p.text, 0, true)
  if (clock) pieces[i] = { kind: 'clock', clock: clock.clock, from: p.from, to: p.to }
  return pieces
}

function settle(pieces: Placed[], context: Context): Understood {
  const u: Understood = { title: '', room: null, date: null, start: null, minutes: null, rule: null, people: [], seats: 0, features: [], now: false }
  const of = <K extends Piece['kind']>(kind: K) => pieces.find((p) => p.kind === kind) as (Extract<Piece, { kind: K }> & Placed) | undefined

  u.room = of('room')?.id ?? null
  u.seats = of('seats')?.seats ?? 0
  u.features = [...new Set(pieces.flatMap((p) => (p.kind === 'feature' ? [p.name] : [])))]
  const now = context.now(u.room ?? undefined)
  const today = now.slice(0, 10)
  const minute = Number(now.slice(11, 13)) * 60 + Number(now.slice(14, 16))

  // The time.
  const range = of('range')
  const single = of('clock')
  const part = pieces.flatMap((p) => (p.kind === 'day' && p.part ? [p.part] : []))[0]
  const shift = (start: number, exact: boolean) => (part && part !== 'morning' && !exact && start < 720 ? start + 720 : start)
  let start: number | null = null
  if (range) {
    start = shift(range.start, false)
    u.minutes = range.minutes
  } else if (single) {
    const { clock } = single
    start = part === 'morning' && !clock.half && !clock.exact ? clock.hour * 60 + clock.minute : shift(minutesOf(clock), Boolean(clock.half || clock.exact))
  } else if (part) {
    start = { morning: 540, afternoon: 840, evening: 1080 }[part]
  }
  u.minutes ??= of('length')?.minutes ?? null
  if (of('now')) {
    u.now = true
    u.date = today
  }

  // The day.
  const days = pieces.flatMap((p) => (p.kind === 'day' ? [p.day] : []))
  const week = days.find((d) => 'weeks' in d)
  let day = days.find((d) => !('weeks' in d)) ?? week
  if (day && week && 'weekday' in day && 'weeks' in week) day = { weekday: day.weekday, week: week.weeks ? 'next' : 'this' }
  const late = start !== null && start <= minute
  if (day) u.date = dateOf(day, today, late)

  // The recurrence; its first date follows its weekdays.
  const every = of('repeat')
  if (every && !u.now) {
    const soonest = u.date ?? (late ? addDays(today, 1) : today)
    const rule: Rule = { ...weekly(soonest), freq: every.freq, interval: every.interval }
    if (every.days) rule.days = weekdays.filter((_, i) => every.days!.includes(i))
    u.date = firstOf(rule, soonest)
    if (!every.days) rule.days = [weekdays[weekdayIndex(u.date)]!]
    const times = of('times')
    const until = of('until')
    if (times && times.count >= 1) {
      rule.count = times.weeks && rule.freq === 'WEEKLY' ? Math.max(1, Math.ceil(times.count / rule.interval) * rule.days.length) : times.weeks ? times.count * 7 : times.count
    } else if (until) {
      Object.assign(rule, { ends: 'until', until: dateOf(until.day, u.date, false) })
    }
    u.rule = rule
  } else if (start !== null && !u.date) {
    u.date = late ? addDays(today, 1) : today
  }
  if (start !== null) {
    if (start >= 1440) [start, u.date] = [start - 1440, u.date && addDays(u.date, 1)]
    u.start = `${String(Math.floor(start / 60)).padStart(2, '0')}:${String(start % 60).padStart(2, '0')}`
  }

  words(pieces, u)
  return u
}

/** Sorts the remaining words into people and title. */
function words(pieces: Placed[], u: Understood) {
  const title: string[] = []
  let quoted = ''
  let names: string[] | null = null // after "with": the words of a name
  const close = () => {
    if (names?.length) u.people.push(names.join(' '))
    names = null
  }
  let last: Placed | undefined
  pieces.forEach((p, i) => {
    const next = pieces[i + 1]
    switch (p.kind) {
      case 'word':
        if (names) names.push(p.text)
        else title.push(/^[\p{P}\p{S}]+$/u.test(p.text) && !title.length ? '' : p.text)
        break
      case 'title':
        close()
        quoted = p.text
        break
      case 'person':
        u.people.push(p.name)
        break
      case 'with':
        close()
        names = []
        break
      case 'and':
        if (names?.length || last?.kind === 'person' || (last?.kind === 'feature' && next?.kind === 'word' && names)) {
          if (names?.length) u.people.push(names.join(' '))
          names = []
        } else if (title.length && next?.kind === 'word' && last?.kind === 'word') {
          title.push('&')
        }
        break
      case 'feature':
        if (names?.length) close()
        else if (names && next?.kind !== 'and') names = null
        break
      default:
        close()
        // A filler between words of the title belongs to it: "Lessons on Go".
    }
    last = p
  })
  close()
  u.people = [...new Set(u.people)]
  u.title = quoted || title.filter(Boolean).join(' ').replace(/\s+([,.!?])/g, '$1').trim()
}
