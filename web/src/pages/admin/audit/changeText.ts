// Describes changes in words: the history contains column names and stored values.

import { seconds } from '../../../lib/duration'
import { dateTime, duration, list, number } from '../../../lib/i18n/format'
import { i18n, languages } from '../../../lib/i18n/index.svelte'
import { rooms } from '../../../lib/rooms.svelte'
import { session } from '../../../lib/session.svelte'
import { valueOf } from '../../../meeting/historyValue'
import { operations } from '../operations.svelte'
import { hoursInWords, inWords, weekOf } from '../room/room'
import { words } from '../words.svelte'

const word = (of: object, key: string) => (of as Record<string, string>)[key] ?? key

/** Returns the name of a field of a record; a setting's name is its key. */
export function fieldName(kind: string, field: string): string {
  if (kind === 'config') return field
  if (kind === 'meeting') return word(i18n.t.meeting.fields, field)
  return word(operations.t.audit.fields, field)
}

/** Returns the text of a field's value; "": none. person returns the name of a user. */
export function valueText(kind: string, field: string, v: unknown, person: (id: number) => string): string {
  if (field === 'check_in.inherits') return v ? operations.t.audit.yes : operations.t.audit.no // left out when it is not
  if (v == null || v === '' || (Array.isArray(v) && !v.length)) return ''
  if (kind === 'config') return typeof v === 'object' ? JSON.stringify(v) : String(v)
  if (kind === 'meeting') return valueOf(field, v, session.zone)
  const t = words.t.room
  switch (field) {
    case 'approver_ids':
    case 'second_approver_ids':
    case 'escalate_to':
      return list((v as number[]).map(person))
    case 'deputy_id':
    case 'user_id':
      return person(v as number)
    case 'room_id':
      return rooms.name(v as number)
    case 'site_id':
      return rooms.siteByID.get(v as number)?.name ?? `#${v}`
    case 'role':
      return word(i18n.t.admin.roles, String(v))
    case 'locale':
      return word(languages, String(v))
    case 'kind':
      return word(i18n.t.admin.kinds, String(v))
    case 'channel':
      return word(i18n.t.booking.channel, String(v))
    case 'approval_on_timeout':
      return word(t.outcomes, String(v))
    case 'policy.quota.per':
      return word(t.periods, String(v))
    case 'policy.opening_hours':
      return hoursInWords(weekOf(v as Parameters<typeof weekOf>[0]))
    case 'scopes':
      return list(typeof v === 'string' ? (JSON.parse(v) as string[]) : (v as string[]))
  }
  return plain(field, v)
}

/** Formats a value by its type alone. */
function plain(field: string, v: unknown): string {
  if (typeof v === 'boolean') return v ? operations.t.audit.yes : operations.t.audit.no
  if (typeof v === 'number') {
    // A length of zero means none, or the configured default.
    if (field.endsWith('_seconds')) return v ? duration(v) : ''
    return field.endsWith('_id') ? `#${v}` : number(v)
  }
  if (typeof v === 'string') {
    if (/^\d{4}-\d\d-\d\dT/.test(v)) return dateTime(v, session.zone)
    const length = seconds(v)
    return Number.isNaN(length) ? v : length ? inWords(v) : ''
  }
  return Array.isArray(v) && v.every((x) => typeof x !== 'object') ? list(v.map(String)) : JSON.stringify(v)
}
