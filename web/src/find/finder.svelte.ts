import { tick } from 'svelte'
import { all, api, ask, type Room, type Suggestion } from '../lib/api/client'
import { rooms } from '../lib/rooms.svelte'
import { router } from '../lib/router.svelte'
import { session } from '../lib/session.svelte'
import { addDays, addMinutes, instantOf, wallOf } from '../lib/zone'
import { myRooms } from './myRooms.svelte'
import { homeOf, ranked, reasonsFor, type Why } from './rank'

const moment = 250 // ms after the last change before a request
const around = 4 * 3_600_000 // how far from a time the nearest ones are looked for
const shown = 12

/** A room at a time that can be booked, and why it is offered. */
export interface Found {
  key: string
  room: Room
  start: string
  end: string
  needsApproval: boolean
  why: Why[]
}

/** What a room is looked for for, as the address stores it, and the rooms found. */
export class Finder {
  persons = $derived(Math.max(0, Math.floor(Number(router.query.get('people')) || 0)))
  features = $derived((router.query.get('features') ?? '').split(',').filter(Boolean))
  site = $derived(Number(router.query.get('site')) || 0)
  minutes = $derived(Math.min(1440, Math.max(5, Math.floor(Number(router.query.get('length')) || 60))))
  #home = $derived(homeOf(rooms.list, myRooms, this.site))
  /** Times are those of the site's clock. */
  zone = $derived.by(() => {
    const room = rooms.list.find((r) => r.active && this.#home !== null && r.site_id === this.#home.site)
    return room ? rooms.zone(room) : session.zone
  })
  #next = $derived(nextHalfHour(this.zone))
  date = $derived.by(() => {
    const date = router.query.get('date') ?? ''
    return /^\d{4}-\d\d-\d\d$/.test(date) && !Number.isNaN(Date.parse(date)) ? date : this.#next.slice(0, 10)
  })
  /** "10:00", or "" for any time that day. */
  time = $derived.by(() => {
    const time = router.query.get('time') ?? ''
    if (time === 'any') return ''
    if (/^([01]\d|2[0-3]):[0-5]\d$/.test(time)) return time
    return this.date === this.#next.slice(0, 10) ? this.#next.slice(11, 16) : '09:00'
  })

  /** The best first; null while they are looked up. */
  found = $state.raw<Found[] | null>(null)
  /** Nothing is free at that time: these are the nearest ones. */
  near = $state(false)
  error = $state.raw<unknown>(null)
  #again = $state(0)

  constructor() {
    $effect(() => {
      void [this.persons, this.features, this.site, this.minutes, this.date, this.time, this.zone, this.#again]
      let stale = false
      const timer = setTimeout(() => this.#look(() => !stale), moment)
      return () => {
        stale = true
        clearTimeout(timer)
      }
    })
  }

  set(values: { people?: string; features?: string[]; site?: string; length?: string; date?: string; time?: string }) {
    const { features, ...rest } = values
    router.keep(features ? { ...rest, features: features.join(',') } : rest)
  }

  again() {
    this.#again++
  }

  async #look(current: () => boolean) {
    try {
      await Promise.all([rooms.ready(), myRooms.ready()])
      await tick()
      if (!current()) return // the zone was not known before
      const exact = this.time ? await this.#atTime() : []
      const found = exact.length ? exact : await this.#suggested()
      if (!current()) return
      this.found = found
      this.near = this.time !== '' && !exact.length && found.length > 0
      this.error = null
    } catch (err) {
      if (!current()) return
      this.found = []
      this.error = err
    }
  }

  #need = () => ({ persons: this.persons, features: this.features })
  #query = () => ({ attendees: this.persons ? String(this.persons) : undefined, features: this.features.length ? this.features : undefined, site_id: this.site || undefined })
  #offer = (room: Room, start: string, end: string, needsApproval: boolean): Found => ({
    key: `${room.id} ${start}`, room, start, end, needsApproval, why: reasonsFor(room, this.#need(), myRooms, this.#home),
  })

  /** Rooms that are free at the time. */
  async #atTime(): Promise<Found[]> {
    const start = instantOf(`${this.date}T${this.time}:00`, this.zone)
    const end = new Date(start.getTime() + this.minutes * 60_000)
    const query = { ...this.#query(), start: start.toISOString(), end: end.toISOString(), free: true }
    const free = await all((cursor) => api.GET('/availability', { params: { query: { ...query, limit: 500, cursor } } }))
    const sorted = ranked(free, (a) => a.room, this.#need(), myRooms, this.#home).sort((a, b) => Number(a.needs_approval) - Number(b.needs_approval))
    return sorted.slice(0, shown).map((a) => this.#offer(a.room, query.start, query.end, a.needs_approval))
  }

  /** Rooms and times on the date; those nearest to the time first. */
  async #suggested(): Promise<Found[]> {
    const midnight = instantOf(`${this.date}T00:00:00`, this.zone).getTime()
    const nextMidnight = instantOf(`${addDays(this.date, 1)}T00:00:00`, this.zone).getTime()
    const wanted = this.time ? instantOf(`${this.date}T${this.time}:00`, this.zone).getTime() : 0
    // Suggestions begin with the earliest: those before and those after the time are asked for separately.
    const spans = wanted ? [[wanted - around, wanted + this.minutes * 60_000], [wanted, wanted + 7 * 86_400_000]] : [[midnight, nextMidnight]]
    const lists = await Promise.all(
      spans.filter(([, to]) => to! > Date.now() + this.minutes * 60_000).map(([from, to]) => {
        const span = { from: new Date(Math.max(from!, Date.now() + 1000)).toISOString(), to: new Date(to!).toISOString() }
        return ask(api.GET('/suggestions', { params: { query: { ...this.#query(), ...span, duration: `${this.minutes}m`, limit: 30 } } }))
      }),
    )
    const unique = new Map(lists.flatMap((l) => l.items).map((s) => [`${s.room.id} ${s.start}`, s]))
    const far = (s: Suggestion) => (wanted ? Math.abs(Date.parse(s.start) - wanted) : Date.parse(s.start))
    const sorted = ranked([...unique.values()], (s) => s.room, this.#need(), myRooms, this.#home).sort((a, b) => far(a) - far(b))
    return sorted.slice(0, shown).map((s) => this.#offer(s.room, s.start, s.end, s.needs_approval))
  }
}

/** Returns the wall-clock time of the next half hour. */
function nextHalfHour(zone: string): string {
  const now = wallOf(new Date(), zone)
  return addMinutes(now.slice(0, 14) + '00:00', Number(now.slice(14, 16)) < 30 ? 30 : 60)
}
