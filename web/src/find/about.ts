import type { Room } from '../lib/api/client'
import { i18n } from '../lib/i18n/index.svelte'
import { rooms } from '../lib/rooms.svelte'

/** Where a room is and what it has: "Berlin · 3 · 8 seats · projector". */
export function aboutRoom(r: Room): string {
  const site = rooms.sites.length > 1 ? rooms.siteByID.get(r.site_id ?? 0)?.name : ''
  return [site, r.floor, r.capacity ? i18n.t.day.seats(r.capacity) : '', ...r.features].filter(Boolean).join(' · ')
}
