import { Problem } from '../lib/api/client'
import { seconds } from '../lib/duration'
import { hoursInWords, hoursOf } from '../lib/hours'
import * as f from '../lib/i18n/format'
import { i18n } from '../lib/i18n/index.svelte'
import { describe, faultText } from '../lib/i18n/problem'
import { rooms } from '../lib/rooms.svelte'

/** Why a room is unavailable, or which rule is violated, with the figures of the API. */
export interface Reason {
  code?: string
  message: string
  room_id?: number
  limit?: unknown
  actual?: unknown
  used?: unknown
  per?: string
  start?: string
  end?: string
  reason?: string
  feature?: string
}

/** A reason in the reader's language, with times as clocks in the zone show them. */
export function reasonText(r: Reason, zone: string): string {
  const say = r.code ? i18n.t.reason[r.code] : undefined
  if (!say) return faultText(r)
  return say({
    room: r.room_id ? rooms.name(r.room_id) : '',
    limit: figure(r.limit, zone),
    actual: figure(r.actual, zone),
    used: figure(r.used, zone),
    per: r.per ? (i18n.t.periods[r.per] ?? r.per) : '',
    span: r.start && r.end ? f.timeRange(r.start, r.end, zone) : '',
    reason: r.reason ?? '',
    feature: r.feature ?? '',
    dated: typeof r.limit === 'string' && /^\d{4}-\d\d-\d\d$/.test(r.limit),
  })
}

/** Returns all reasons of a rejected request. */
export function explain(err: unknown, zone: string): string {
  return err instanceof Problem && err.faults.length ? err.faults.map((f) => reasonText(f, zone)).join(' ') : describe(err)
}

function figure(v: unknown, zone: string): string {
  if (typeof v === 'number') return f.number(v)
  if (typeof v !== 'string' || !v) return ''
  const s = seconds(v)
  if (!Number.isNaN(s)) return f.duration(s)
  if (/^\d{4}-\d\d-\d\dT/.test(v)) return f.dateTime(v, zone)
  if (/^\d{4}-\d\d-\d\d$/.test(v)) return f.fullDate(v)
  if (/^\d\d:\d\d$/.test(v)) return f.clockTime(v)
  const hours = hoursOf(v)
  return hours.length ? hoursInWords(hours).map((h) => `${h.days}, ${h.hours}`).join('; ') : v
}
