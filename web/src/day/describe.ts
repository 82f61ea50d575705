import type { GridMeeting, GridRoom } from '../lib/api/client'
import { timeRange, weekday } from '../lib/i18n/format'
import { i18n } from '../lib/i18n/index.svelte'
import { clock } from '../lib/live.svelte'
import { wallOf, zoneName } from '../lib/zone'
import { day } from './day.svelte'

/** Reports whether check-in is still missing and possible. */
export function awaited(m: GridMeeting): boolean {
  const c = m.check_in
  if (!c?.required || m.checked_in_at || !c.opens_at || (m.status !== 'confirmed' && m.status !== 'in_progress')) return false
  return Date.parse(c.opens_at) <= clock.now.getTime() && clock.now.getTime() < Date.parse(c.until ?? m.end)
}

/** "9:30 – 10:30", with the weekday if several dates are shown. */
export function whenOf(start: string | Date, end: string | Date): string {
  const range = timeRange(start, end, day.zone)
  return day.axis.days ? `${weekday(wallOf(start, day.zone).slice(0, 10))}, ${range}` : range
}

/** Returns what there is to say about a meeting in a room besides its title: its time, place, status and organizer. */
export function detailsOf(m: GridMeeting, room: GridRoom): string[] {
  const when = whenOf(m.start, m.end)
  return [
    day.foreign ? `${when} ${zoneName(day.zone)}` : when,
    room.name,
    i18n.t.status[m.status],
    m.organizer.name,
    awaited(m) ? i18n.t.grid.checkInNow : m.checked_in_at ? i18n.t.grid.checkedIn : '',
    m.pending_change ? i18n.t.grid.asksToMove : '',
  ].filter(Boolean)
}
