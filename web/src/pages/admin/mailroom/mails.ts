import type { components } from '../../../lib/api/schema'
import { dateTime, fullDate } from '../../../lib/i18n/format'

export type Mail = components['schemas']['Mail']
export type Outcome = components['schemas']['MailOutcome']

/** The states of a mail. */
export const states = ['new', 'done', 'outdated', 'refused', 'quarantined', 'dead'] as const satisfies Mail['state'][]

/** How the tag of a state looks. */
export const tone: Record<Mail['state'], string> = { new: 'warn', done: 'good', outdated: '', refused: '', quarantined: 'warn', dead: 'bad' }

/** How the tag of an answer looks. */
export const answerTone = { ACCEPTED: 'good', TENTATIVE: 'warn', DECLINED: 'bad' }

/**
 * The date of a series that an answer is about, such as 20261210T070000Z, for people. Days and times without a zone are
 * shown as they are.
 */
export function dateOf(key: string, zone: string): string {
  const [, year, month, day, hour, minute, utc] = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?$/.exec(key) ?? []
  const date = `${year}-${month}-${day}`
  if (!year) return key
  return hour ? dateTime(`${date}T${hour}:${minute}:00Z`, utc ? zone : 'UTC') : fullDate(date)
}
