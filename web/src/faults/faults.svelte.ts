import { all, api, type FaultReport } from '../lib/api/client'
import { i18n } from '../lib/i18n/index.svelte'

export const categories = ['equipment', 'cleanliness', 'temperature', 'other'] as const
export type Category = (typeof categories)[number]

/** Returns what is broken in words. */
export function faultText(r: Pick<FaultReport, 'category' | 'text'>): string {
  return r.text || i18n.t.faults.categories[r.category]
}

/** The open reports of all rooms: there are few. */
class Faults {
  #open = $state.raw<Map<number, FaultReport[]>>(new Map())

  of(room: number): FaultReport[] {
    return this.#open.get(room) ?? []
  }

  async load() {
    const found = await all((cursor) => api.GET('/fault-reports', { params: { query: { state: 'open', limit: 500, cursor } } }))
    this.#open = Map.groupBy(found, (r) => r.room.id)
  }
}

export const faults = new Faults()
