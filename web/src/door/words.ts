import type { DoorMeeting } from '../lib/api/client'
import { number } from '../lib/i18n/format'
import { i18n } from '../lib/i18n/index.svelte'

/** The server's title of a meeting that was booked at the door. */
const walkIn = 'Booked at the door'

/** Returns the title that may be shown at the door. */
export function titleOf(m: DoorMeeting): string {
  if (m.private) return i18n.t.door.private
  return m.title === walkIn ? i18n.t.door.walkIn : m.title
}

/** Returns the organizer's name; none for a booking at the screen itself. */
export function organizerOf(m: DoorMeeting): string {
  return m.title === walkIn ? '' : m.organizer
}

/** "7:42": remaining minutes and seconds. */
export function countdown(ms: number): string {
  const s = Math.max(0, Math.ceil(ms / 1000))
  return `${number(Math.floor(s / 60))}:${number(s % 60, { minimumIntegerDigits: 2 })}`
}

/** "45 min", "2 hr 5 min": whole minutes, rounded up. */
export function span(ms: number): string {
  const total = Math.max(1, Math.ceil(ms / 60_000))
  const unit = (n: number, unit: string) => number(n, { style: 'unit', unit, unitDisplay: 'short' })
  const [hours, minutes] = [Math.floor(total / 60), total % 60]
  return [hours ? unit(hours, 'hour') : '', minutes ? unit(minutes, 'minute') : ''].filter(Boolean).join(' ')
}

/** Estimates the width of a word in ems; rather too wide than too narrow. */
export function width(word: string): number {
  return [...word].reduce((w, c) => w + (c > '\u2e7f' ? 1.02 : /[A-ZÄÖÜmw]/.test(c) ? 0.72 : /[ijlft.\s]/.test(c) ? 0.34 : 0.58), 0)
}
