import { api, ask, type GridMeeting, type GridRoom } from '../lib/api/client'
import { ahead } from '../lib/i18n/format'
import { live, patched, poll } from '../lib/live.svelte'
import { inOrder, rooms } from '../lib/rooms.svelte'
import { LatestRequest } from '../lib/latest'
import { instantOf, zoneName } from '../lib/zone'
import { booking } from '../meeting/booking.svelte'
import { clockChoice } from './clockChoice.svelte'
import { filters } from './filters.svelte'
import { commonHours, type DayAxis } from './dayAxis'
import { rememberRooms } from './lastRooms'

const shown = new Set<GridMeeting['status']>(['pending', 'confirmed', 'in_progress', 'ended'])
const margin = 14 * 3_600_000 // how far clocks are from UTC, at most
const slow = 120_000 // rooms rarely change, and no event reports it

/** The loaded picture: its first and last instant, and its site if only the rooms of one were requested. */
interface Drawn {
  span: string
  site: number
}

/** The rooms that pass the filters, and their meetings on the dates that the view shows. */
class Day {
  zone = $derived(filters.zone)
  date = $derived(filters.date)
  /** Whether the hours are not those of the user's own clock. */
  foreign = $derived(!clockChoice.mine && filters.otherZone !== '')
  /** The drawn hours of several dates, as a text: only other hours are another axis. */
  #hours = $derived.by(() => {
    if (filters.days === 1) return ''
    const { from, to } = commonHours(this.rooms, this.meetings, { date: filters.span.from, zone: this.zone, days: filters.days })
    return `${from} ${to}`
  })
  axis = $derived.by<DayAxis>(() => {
    if (!this.#hours) return { date: this.date, zone: this.zone }
    const [from, to] = this.#hours.split(' ').map(Number) as [number, number]
    return { date: filters.span.from, zone: this.zone, days: filters.days, hours: { from, to } }
  })

  #all = $state.raw<GridMeeting[]>([])
  #rooms = $state.raw<GridRoom[]>([])
  #sites = $state.raw<{ id: number; name: string; timezone?: string }[]>([])
  #drawn = $state.raw<Drawn | null>(null)
  error = $state.raw<unknown>(null)

  #span = $derived([filters.span.from, filters.span.to].map((date) => instantOf(date + 'T00:00:00', this.zone).toISOString()).join(' '))
  /** What to request: all rooms include those of a site. */
  wanted = $derived(`${this.#span} ${this.#drawn?.site === 0 ? 0 : filters.site}`)
  /** Whether there are rooms to show, possibly still without the meetings of these dates. */
  loaded = $derived(this.#drawn !== null)
  /** Whether the shown data is for the requested dates. */
  fresh = $derived(this.#drawn?.span === this.#span && (!this.#drawn.site || this.#drawn.site === filters.site))

  /** Meetings that touch the dates, except canceled, rejected, and missed ones. */
  meetings = $derived(this.fresh ? this.#all.filter((m) => shown.has(m.status)) : [])
  /** Whether there is any room to show. */
  empty = $derived(this.#drawn !== null && !this.#drawn.site && !this.#rooms.length)

  /** Rooms that pass the filters; text also finds rooms by their meetings. */
  rooms = $derived.by(() => {
    const text = filters.text.trim().toLocaleLowerCase()
    const found = new Set(
      text ? this.meetings.filter((m) => m.title.toLocaleLowerCase().includes(text)).flatMap((m) => m.room_ids) : [],
    )
    return this.#rooms.filter((r) => filters.pass(r) && (!text || found.has(r.id) || filters.names(r)))
  })
  byID = $derived(new Map(this.#rooms.map((r) => [r.id, r])))

  // A room with unchanged meetings keeps its list and is not redrawn.
  #lists = new Map<number, GridMeeting[]>()
  #byRoom = $derived.by(() => {
    const byRoom = new Map<number, GridMeeting[]>()
    for (const m of this.meetings) {
      for (const id of new Set([...m.room_ids, ...(m.pending_change?.room_ids ?? [])])) {
        const list = byRoom.get(id)
        if (list) list.push(m)
        else byRoom.set(id, [m])
      }
    }
    for (const [id, list] of byRoom) {
      const was = this.#lists.get(id)
      if (was?.length === list.length && was.every((m, i) => m === list[i])) byRoom.set(id, was)
    }
    return (this.#lists = byRoom)
  })

  /** Whether rooms of several sites are shown. */
  manySites = $derived(!filters.site && this.#sites.length > 1)

  /** The meetings in a room, and those that will move there once approved. */
  of(room: { id: number }): GridMeeting[] {
    return this.#byRoom.get(room.id) ?? none
  }

  /** How far the room's clock is ahead, if the hours show neither: "Shanghai +7h", or "+7h" beside a site of that name. */
  away(room: GridRoom): string {
    const hours = ahead(room.timezone, this.zone, this.date)
    if (!hours || (filters.otherZone && !ahead(room.timezone, filters.otherZone, this.date))) return ''
    const name = zoneName(room.timezone)
    return name === this.siteName(room.site_id) ? hours : `${name} ${hours}`
  }

  siteName(id: number | null): string {
    return this.#sites.find((s) => s.id === id)?.name ?? ''
  }

  /** What a first request has loaded already, beyond what it was for. */
  #ahead = ''
  /** The first request, while it is under way. */
  #asked: { from: string; to: string; site: number } | null = null
  #latest = new LatestRequest()
  /** Events received since the latest request: its response may be older. */
  #since: GridMeeting[] = []

  /** Loads what is requested now, unless the first request, for an unknown zone, has it. */
  follow() {
    const known = this.#ahead === this.wanted
    this.#ahead = ''
    const asked = this.#asked
    if (known || (asked && asked.site === filters.site && this.#covered(asked.from, asked.to))) return
    void this.load()
  }

  async load() {
    const { wanted } = this
    const span = this.#span
    const [from, to] = this.#requested(span)
    const padded = !span.startsWith(from)
    this.#asked = null
    const site = this.#drawn?.site === 0 ? 0 : filters.site
    const current = this.#latest.begin()
    this.#since = []
    if (padded) this.#asked = { from, to, site }
    try {
      await live.ready()
      const list: GridRoom[] = []
      const meetings = new Map<number, GridMeeting>()
      const sites = new Map<number, { id: number; name: string; timezone?: string }>()
      let cursor: string | undefined
      do {
        const page = await ask(api.GET('/grid', { params: { query: { from, to, site_id: site || undefined, limit: 1000, cursor } } }))
        list.push(...page.rooms)
        for (const m of page.meetings) meetings.set(m.id, m) // a meeting in rooms of two pages is on both
        for (const s of page.sites) sites.set(s.id, s)
        cursor = page.next_cursor ?? undefined
      } while (cursor)
      if (!current()) return
      inOrder(list, (this.#sites = [...sites.values()]))
      this.#rooms = same(this.#rooms, list)
      rooms.saw(list, this.#sites)
      clockChoice.remember(filters.roomZone)
      rememberRooms(list.length)
      this.#drawn = { span: padded && this.#covered(from, to) ? this.#span : span, site }
      if (this.fresh && this.wanted !== wanted) this.#ahead = this.wanted
      this.#all = this.#since.reduce((all, m) => patched(all, m, this.#touches(m)), same(this.#all, [...meetings.values()].filter((m) => !padded || this.#touches(m))))
      this.error = null
    } catch (err) {
      if (current()) this.error = err
    } finally {
      if (current()) this.#asked = null
      setTimeout(() => rooms.ready().catch(() => {}), 300) // for all that needs rooms; the picture comes first
    }
  }

  /**
   * What to request. On a first visit the rooms' zone is unknown, and so where their day begins: the
   * request covers the day of every zone, so that it need not be repeated.
   */
  #requested(span: string): [string, string] {
    const [from, to] = span.split(' ') as [string, string]
    if (this.#drawn || clockChoice.mine || clockChoice.lastZone) return [from, to]
    const moved = (at: string, by: number) => new Date(Date.parse(at) + by).toISOString()
    return [moved(from, -2 * margin), moved(to, 2 * margin)]
  }

  /** Whether a requested span contains what the view shows. */
  #covered(from: string, to: string): boolean {
    const [first, last] = this.#span.split(' ') as [string, string]
    return from <= first && last <= to
  }

  /** Whether the meeting is in the picture. */
  #touches(m: GridMeeting): boolean {
    const [from, to] = this.#drawn!.span.split(' ').map((at) => Date.parse(at)) as [number, number]
    const within = (ids: number[], start: string, end: string) => ids.some((id) => this.byID.has(id)) && Date.parse(start) < to && Date.parse(end) > from
    const change = m.pending_change
    return within(m.room_ids, m.start, m.end) || Boolean(change && within(change.room_ids, change.start, change.end))
  }

  /** Inserts or updates a meeting. */
  put(m: GridMeeting) {
    this.#since.push(m)
    if (this.#drawn) this.#all = patched(this.#all, m, this.#touches(m))
  }

  /** Keeps the picture up to date; returns a function that stops it. */
  watch(): () => void {
    const off = booking.onSaved((m) => this.put(m))
    const unfollow = live.follow({ load: () => this.load(), meeting: (m) => this.put(m) })
    const stop = poll(() => Promise.all([this.load(), rooms.load().catch(() => {})]), slow)
    return () => {
      off()
      unfollow()
      stop()
    }
  }
}

const none: GridMeeting[] = []

/** Returns the new list, but keeps the items that did not change. */
function same<T extends { id: number }>(was: T[], now: T[]): T[] {
  const known = new Map(was.map((x) => [x.id, x]))
  return now.map((x) => {
    const old = known.get(x.id)
    return old && JSON.stringify(old) === JSON.stringify(x) ? old : x
  })
}

export const day = new Day()
