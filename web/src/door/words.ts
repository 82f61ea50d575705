import type { DoorMeeting } from '../lib/api/client'
import { number } from '../lib/i18n/format'
import { i18n } from '../lib/i18n/index.svelte'

/** What the server calls a meeting that was booked here. */
const walkIn = 'Booked at the door'

/** The title as anybody at the door may read it. */
export function titleOf(m: DoorMeeting): string {
  if (m.private) return i18n.t.door.private
  return m.title === walkIn ? i18n.t.door.walkIn : m.title
}

/** Who booked it; the screen itself is nobody. */
export function organizerOf(m: DoorMeeting): string {
  return m.title === walkIn ? '' : m.organizer
}

/** "7:42": minutes and seconds that remain. */
export function countdown(ms: number): string {
  const s = Math.max(0, Math.ceil(ms / 1000))
  return `${number(Math.floor(s / 60))}:${number(s % 60, { minimumIntegerDigits: 2 })}`
}

/** "45 min", "2 hr 5 min": whole minutes, the last one is counted to its end. */
export function span(ms: number): string {
  const total = Math.max(1, Math.ceil(ms / 60_000))
  const unit = (n: number, unit: string) => number(n, { style: 'unit', unit, unitDisplay: 'short' })
  const [hours, minutes] = [Math.floor(total / 60), total % 60]
  return [hours ? unit(hours, 'hour') : '', minutes ? unit(minutes, 'minute') : ''].filter(Boolean).join(' ')
}

/** How wide a word is drawn, in times its size; rather too much than too little. */
export function width(word: string): number {
  return [...word].reduce((w, c) => w + (c > '\u2e7f' ? 1.02 : /[A-ZÄÖÜmw]/.test(c) ? 0.72 : /[ijlft.\s]/.test(c) ? 0.34 : 0.58), 0)
}
