import { inWords } from '../lib/customFields.svelte'
import { seconds } from '../lib/duration'
import * as f from '../lib/i18n/format'
import { i18n } from '../lib/i18n/index.svelte'
import { rooms } from '../lib/rooms.svelte'
import { types } from '../lib/types.svelte'
import { wallOf } from '../lib/zone'
import { reasonText, type Reason } from './reasons'
import { ruleSentence } from './ruleText'

const nothing = '–'
const word = (of: Record<string, string>, key: string) => of[key] ?? key

/** Returns the value of a field in the history, in words if possible, with times in the zone. `date` is that of the meeting, for its rule. */
export function valueOf(field: string, v: unknown, zone: string, date = ''): string {
  if (v == null || v === '' || (Array.isArray(v) && !v.length)) return nothing
  if (/^(organizer_)?fields\./.test(field)) return inWords(v)
  switch (field) {
    case 'status':
      return word(i18n.t.status, String(v))
    case 'visibility':
      return v === 'private' ? i18n.t.meeting.private : i18n.t.meeting.public
    case 'response':
      return word(i18n.t.meeting.responses, String(v))
    case 'room_ids':
      return f.list((v as number[]).map((id) => rooms.name(id)))
    case 'type_id':
      return types.name(Number(v)) || `#${v}`
    case 'rrule':
      return (date && ruleSentence(String(v), date)) || String(v)
    case 'override':
      return (v as Reason[]).map((r) => reasonText(r, zone)).join(' ')
    case 'reminders':
      return (v as string[]).map(reminder).join('; ')
    case 'pending_change': {
      const wanted = v as { start?: string; end?: string; room_ids?: number[] }
      const when = wanted.start && wanted.end ? f.timeRange(wanted.start, wanted.end, zone) : ''
      return [wanted.start && f.fullDate(wallOf(wanted.start, zone).slice(0, 10)), when, f.list((wanted.room_ids ?? []).map((id) => rooms.name(id)))].filter(Boolean).join(', ') || nothing
    }
  }
  if (typeof v === 'string' && /^\d{4}-\d\d-\d\dT/.test(v)) return f.dateTime(v, zone)
  if (Array.isArray(v)) return f.list(v.map(String))
  return String(v)
}

/** Parses "10m before start by email, sms", as the history writes it. */
function reminder(text: string): string {
  const found = /^(\S+) before (start|end) by (.*)$/.exec(text)
  if (!found) return text
  const [, offset, before, channels] = found as unknown as [string, string, 'start' | 'end', string]
  return i18n.t.meeting.reminder(f.duration(seconds(offset)), before, f.list(channels.split(', ').map((c) => word(i18n.t.booking.channel, c))))
}
