import { all, api, type Room, type Site } from './api/client'

/** What views need to know of a room to filter it and to read its clock. */
export interface Located {
  name: string
  floor: string
  site_id: number | null
  capacity: number
  features: string[]
  timezone: string
}

/** All rooms and sites: there are few, and every page needs them. */
class Rooms {
  list = $state.raw<Room[]>([])
  sites = $state.raw<Site[]>([])
  byID = $derived(new Map(this.list.map((r) => [r.id, r])))
  siteByID = $derived(new Map(this.sites.map((s) => [s.id, s])))
  loaded = $state(false)
  #seen = $state.raw<Located[]>([])
  /** The active rooms as far as they are known: before they are loaded, those of the first picture. */
  known = $derived<Located[]>(this.loaded ? this.list.filter((r) => r.active) : this.#seen)
  #sitesSeen = $state.raw<{ id: number; name: string }[]>([])
  /** The sites as far as they are known. */
  knownSites = $derived<{ id: number; name: string }[]>(this.loaded ? this.sites : this.#sitesSeen)
  #loading: Promise<void> | undefined

  /** Waits until they were loaded once. */
  ready(): Promise<void> {
    return this.loaded ? Promise.resolve() : this.load()
  }

  load(): Promise<void> {
    this.#loading ??= this.#load().finally(() => (this.#loading = undefined))
    return this.#loading
  }

  async #load() {
    const [list, sites] = await Promise.all([
      all((cursor) => api.GET('/rooms', { params: { query: { limit: 500, cursor } } })),
      all((cursor) => api.GET('/sites', { params: { query: { limit: 500, cursor } } })),
    ])
    inOrder(list, sites)
    // Unchanged data keeps its identity, so nothing is redrawn.
    if (JSON.stringify(sites) !== JSON.stringify(this.sites)) this.sites = sites
    if (JSON.stringify(list) !== JSON.stringify(this.list)) this.list = list
    this.loaded = true
  }

  /** Notes rooms and their sites that a picture showed before all rooms are loaded. */
  saw(list: Located[], sites: { id: number; name: string }[]) {
    if (this.loaded) return
    this.#seen = list
    this.#sitesSeen = sites
  }

  name(id: number): string {
    return this.byID.get(id)?.name ?? `#${id}`
  }

  /** Returns the zone of a room's clock. */
  zone(room: { timezone: string; site_id: number | null } | undefined): string {
    return room?.timezone || this.siteByID.get(room?.site_id ?? 0)?.timezone || 'UTC'
  }

  /** Returns the zone of a meeting: that of its first room. */
  zoneOf(meeting: { room_ids: number[]; timezone: string }): string {
    const room = this.byID.get(meeting.room_ids[0] ?? 0)
    return room ? this.zone(room) : meeting.timezone
  }
}

const collator = new Intl.Collator(undefined, { numeric: true })

function byName(a: { name: string }, b: { name: string }): number {
  return collator.compare(a.name, b.name)
}

/** Sorts rooms by site and name, in natural order: Room 2 before Room 10. Sorts the sites by name. */
export function inOrder(list: { name: string; site_id: number | null }[], sites: { id: number; name: string }[]) {
  const order = new Map(sites.sort(byName).map((s, i) => [s.id, i]))
  const place = (r: { site_id: number | null }) => order.get(r.site_id ?? 0) ?? sites.length
  list.sort((a, b) => place(a) - place(b) || byName(a, b))
}

export const rooms = new Rooms()
