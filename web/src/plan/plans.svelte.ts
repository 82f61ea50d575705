import { all, api, type FloorPlan } from '../lib/api/client'
import { inOrder, rooms } from '../lib/rooms.svelte'

/** Returns the address of the picture of a plan, which the browser may keep. */
export const pictureOf = (p: FloorPlan) => `/api/v1/floor-plans/${p.id}/picture?v=${p.picture}`

/** Returns the name of a plan: its site, unless there is only one, and its floor. */
export function planName(p: FloorPlan, several = rooms.sites.length > 1): string {
  const site = rooms.siteByID.get(p.site_id ?? 0)?.name ?? ''
  return (several || !p.floor ? [site, p.floor].filter(Boolean).join(' · ') : p.floor) || `#${p.id}`
}

class Plans {
  list = $state.raw<FloorPlan[] | null>(null)
  /** Names of rooms that cannot be booked, which no other view shows. */
  inactive = $state.raw(new Map<number, string>())

  async load() {
    const [list] = await Promise.all([all(() => api.GET('/floor-plans')), rooms.ready()])
    const named = list.map((p) => ({ plan: p, name: planName(p, true), site_id: p.site_id }))
    inOrder(named, [...rooms.sites])
    const placed = list.flatMap((p) => p.rooms.map((r) => r.room_id))
    if (placed.some((id) => !rooms.byID.has(id))) {
      const found = await all((cursor) => api.GET('/rooms', { params: { query: { include_inactive: true, limit: 500, cursor } } }))
      this.inactive = new Map(found.filter((r) => !r.active).map((r) => [r.id, r.name]))
    }
    this.list = named.map(({ plan }) => plan)
  }
}

export const plans = new Plans()
