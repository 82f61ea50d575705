// A blackout of a room or a site, as text and as form values.

import type { components } from '../../../lib/api/schema'
import { dateTime, fullDate } from '../../../lib/i18n/format'
import { rooms } from '../../../lib/rooms.svelte'
import { session } from '../../../lib/session.svelte'
import { addDays, today, wallOf } from '../../../lib/zone'

export type Blackout = components['schemas']['Blackout']

/** The room or the site; 0 and null: none. */
interface Place {
  room_id?: number | null
  site_id?: number | null
}

export function placeOf(p: Place): string {
  return p.room_id ? rooms.name(p.room_id) : (rooms.siteByID.get(p.site_id ?? 0)?.name ?? `#${p.site_id}`)
}

export function zoneOf(p: Place): string {
  return p.room_id ? rooms.zone(rooms.byID.get(p.room_id)) : (rooms.siteByID.get(p.site_id ?? 0)?.timezone ?? session.zone)
}

/** Returns the time of the blackout. Whole days have no times. */
export function span(b: Blackout): string {
  const zone = zoneOf(b)
  const { from, to, whole } = walls(b)
  if (!whole) return `${dateTime(b.start, zone)} – ${dateTime(b.end, zone)}`
  const last = addDays(to.slice(0, 10), -1)
  return from.slice(0, 10) === last ? fullDate(last) : `${fullDate(from.slice(0, 10))} – ${fullDate(last)}`
}

function walls(b: Blackout) {
  const [from, to] = [wallOf(b.start, zoneOf(b)), wallOf(b.end, zoneOf(b))]
  return { from, to, whole: from.endsWith('T00:00:00') && to.endsWith('T00:00:00') }
}

export type BlackoutForm = ReturnType<typeof formOf>

export function formOf(b: Blackout | null) {
  const day = addDays(today(session.zone), 1)
  if (!b) return { scope: 'room', room: 0, site: 0, whole: true, from: day, fromTime: '08:00', to: day, toTime: '18:00', reason: '' }
  const { from, to, whole } = walls(b)
  return {
    scope: b.room_id ? 'room' : 'site',
    room: b.room_id ?? 0,
    site: b.site_id ?? 0,
    whole,
    from: from.slice(0, 10),
    fromTime: from.slice(11, 16),
    to: whole ? addDays(to.slice(0, 10), -1) : to.slice(0, 10),
    toTime: to.slice(11, 16),
    reason: b.reason,
  }
}

/** Returns the request body, with local times of the room or site. */
export function bodyOf(f: BlackoutForm) {
  const local = (date: string, time: string) => (date ? `${date}T${time}` : '')
  return {
    start: f.whole ? local(f.from, '00:00') : local(f.from, f.fromTime),
    end: f.whole ? (f.to ? local(addDays(f.to, 1), '00:00') : '') : local(f.to, f.toTime),
    reason: f.reason.trim(),
  }
}
