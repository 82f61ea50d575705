import { all, api, ask, type Availability, type Meeting, type PersonRef, type Room, type SeriesResult, type Suggestion } from '../lib/api/client'
import { filters } from '../day/filters.svelte'
import { myRooms } from '../find/myRooms.svelte'
import { homeOf, ranked } from '../find/rank'
import { i18n } from '../lib/i18n/index.svelte'
import { rooms } from '../lib/rooms.svelte'
import { session } from '../lib/session.svelte'
import { addMinutes, instantOf, wallOf } from '../lib/zone'
import { textOf, type Rule } from '../meeting/rule'
import { understand, type Understood } from './grammar'
import { findPerson, type Found } from './people'

const moment = 200 // ms after the last key before a request

/** The booking that a sentence describes, with what it does not say filled in. */
export interface Wanted {
  title: string
  room: number | null
  zone: string
  /** Wall-clock times of the zone. */
  start: string
  end: string
  rule: Rule | null
  people: PersonRef[]
  /** Names of nobody. */
  unknown: string[]
  seats: number
  features: string[]
  /** What was filled in. */
  assumed: { date: boolean; time: boolean; length: boolean }
}

/** Reports whether the sentence describes a booking, not only a name to look for. */
export function isBooking(u: Understood): boolean {
  return Boolean(u.date || u.start || u.minutes || u.now || u.rule || u.seats || u.people.length || u.features.length)
}

/** Fills in what the sentence does not say: the next half hour or 9:00, and an hour, or half of one from now on. */
export function wantedOf(u: Understood, zone: string, now: string, people: Map<string, Found>, by: string): Wanted {
  const date = u.date ?? now.slice(0, 10)
  const next = addMinutes(now.slice(0, 14) + '00:00', Number(now.slice(14, 16)) < 30 ? 30 : 60)
  let start = `${date}T${u.start ?? '09:00'}:00`
  if (u.now) start = now.slice(0, 16) + ':00'
  else if (!u.start && date === now.slice(0, 10)) start = next
  const found = u.people.map((name) => people.get(name))
  const title = [u.title, ...found.map((f) => f?.rest)].filter(Boolean).join(' ')
  return {
    title: title || i18n.t.now.meeting(by),
    room: u.room,
    zone,
    start,
    end: addMinutes(start, u.minutes ?? (u.now ? 30 : 60)),
    rule: u.rule,
    people: found.flatMap((f) => (f?.person && f.person !== 'me' ? [f.person] : [])),
    unknown: u.people.filter((name) => people.get(name)?.person === null),
    seats: u.seats,
    features: u.features,
    assumed: { date: !u.date, time: !u.start && !u.now, length: !u.minutes },
  }
}

/** What can be done about the sentence: rooms and times to book, and meetings of that name. */
export class Plan {
  text = $state('')
  #people = $state.raw<Map<string, Found>>(new Map())
  /** Rooms at that time; null while they are looked up. */
  #rooms = $state.raw<Availability[] | null>(null)
  /** Other times in a room that is taken. */
  times = $state.raw<Suggestion[]>([])
  /** The dates of a series. */
  series = $state.raw<SeriesResult | null>(null)
  meetings = $state.raw<Meeting[]>([])
  error = $state.raw<unknown>(null)
  /** Whether everything about the present text is known. */
  settled = $state(false)
  /** The name of the user, in the title of a meeting without one. */
  by = $derived(session.user?.name ?? '')

  #context = $derived({
    rooms: rooms.list.filter((r) => r.active).map(({ id, name }) => ({ id, name })),
    features: [...new Set(rooms.list.flatMap((r) => r.features))],
    monthFirst: monthFirst(i18n.tag),
    now: (id: number | undefined) => wallOf(new Date(), this.#zone(id)),
  })
  understood = $derived(understand(this.text, this.#context))
  wanted = $derived.by(() => {
    const u = this.understood
    if (!isBooking(u)) return null
    const zone = this.#zone(u.room ?? undefined)
    return wantedOf(u, zone, wallOf(new Date(), zone), this.#people, this.by)
  })
  #home = $derived(homeOf(rooms.list, myRooms))

  /** Free rooms with the same clock, the best first. */
  free = $derived.by(() => {
    const { wanted } = this
    if (!wanted || !this.#rooms) return []
    const need = { persons: this.#persons(wanted), features: wanted.features }
    const free = this.#rooms.filter((a) => a.free && rooms.zone(a.room) === wanted.zone)
    return ranked(free, (a) => a.room, need, myRooms, this.#home)
  })
  /** The room to book: the one that was named, else the best free one. */
  room: Room | undefined = $derived.by(() => (this.wanted?.room ? rooms.byID.get(this.wanted.room) : this.free[0]?.room))
  /** The state of that room; undefined while unknown. */
  state = $derived(this.#rooms?.find((a) => a.room.id === this.room?.id))
  /** How many dates of the series are free, of how many. */
  dates = $derived(this.series && { free: this.series.meetings.length, all: this.series.meetings.length + this.series.skipped.length })

  constructor() {
    myRooms.ready()
    $effect(() => {
      const names = this.understood.people.filter((name) => !this.#people.has(name))
      return later(names.length > 0, async (current) => {
        const found = await Promise.all(names.map(async (name) => [name, await findPerson(name)] as const))
        if (current()) this.#people = new Map([...this.#people, ...found])
      })
    })
    $effect(() => {
      const { wanted } = this
      void this.text
      this.settled = false
      this.error = null
      this.series = null
      this.times = []
      if (!wanted) this.#rooms = null
      return later(true, async (current) => {
        try {
          if (wanted) await this.#look(wanted, current)
          const q = this.understood.title
          const named = (q.length > 1 || /\p{Ideographic}/u.test(q)) && !this.understood.date ? (await ask(api.GET('/meetings', { params: { query: { q, from: new Date().toISOString(), limit: 5 } } }))).items : []
          if (current()) this.meetings = named
        } catch (err) {
          if (current()) this.error = err
        }
        if (current()) this.settled = true
      })
    })
  }

  #zone(id: number | undefined): string {
    const room = rooms.byID.get(id ?? 0) ?? rooms.list.find((r) => r.active && this.#home && r.site_id === this.#home.site)
    return room ? rooms.zone(room) : filters.zone
  }

  #persons = (w: Wanted) => Math.max(w.seats, w.people.length)

  async #look(w: Wanted, current: () => boolean) {
    const persons = this.#persons(w)
    const start = instantOf(w.start, w.zone).toISOString()
    const end = instantOf(w.end, w.zone).toISOString()
    const query = { start, end, attendees: persons ? String(persons) : undefined, features: w.features.length ? w.features : undefined }
    const [found] = await Promise.all([all((cursor) => api.GET('/availability', { params: { query: { ...query, limit: 500, cursor } } })), myRooms.ready()])
    if (!current()) return
    this.#rooms = found
    const room = this.room
    if (!room) return
    if (w.rule) {
      const series = await ask(api.POST('/series/preview', { body: { ...orderOf(w, room.id), rrule: textOf(w.rule, w.start.slice(0, 10)), on_conflict: 'skip' } }))
      if (current()) this.series = series
    } else if (w.room && !found.find((a) => a.room.id === w.room)?.free) {
      const minutes = (Date.parse(end) - Date.parse(start)) / 60_000
      const from = Date.parse(start) > Date.now() ? start : undefined
      const { items } = await ask(api.GET('/suggestions', { params: { query: { room_id: [w.room], from, duration: `${minutes}m`, limit: 3 } } }))
      if (current()) this.times = items
    }
  }
}

/** A wanted booking as the API takes it, in a room. */
export function orderOf(w: Wanted, roomID: number) {
  return {
    title: w.title,
    room_ids: [roomID],
    start: w.start,
    end: w.end,
    timezone: w.zone,
    attendees: w.people.map((p) => ({ email: p.email, name: p.name || undefined })),
  }
}

/** Runs something a moment after the last change; returns a function that cancels it. */
function later(needed: boolean, run: (current: () => boolean) => Promise<void>): () => void {
  let stale = !needed
  const timer = needed ? setTimeout(() => run(() => !stale).catch(() => {}), moment) : undefined
  return () => {
    stale = true
    clearTimeout(timer)
  }
}

/** Reports whether the region writes 3/4 for 4 March. */
function monthFirst(tag: string): boolean {
  const parts = new Intl.DateTimeFormat(tag, { day: 'numeric', month: 'numeric' }).formatToParts()
  return parts.findIndex((p) => p.type === 'month') < parts.findIndex((p) => p.type === 'day')
}

