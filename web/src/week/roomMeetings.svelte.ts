import { all, api, type Blackout, type Meeting } from '../lib/api/client'
import { live, patched } from '../lib/live.svelte'
import { LatestRequest } from '../lib/latest'
import { instantOf } from '../lib/zone'
import { booking } from '../meeting/booking.svelte'

const shown = new Set<Meeting['status']>(['pending', 'confirmed', 'in_progress', 'ended'])

interface Span {
  room: number
  from: Date
  to: Date
}

/** The meetings in one room within some days. */
export class RoomMeetings {
  #span: Span | undefined
  #all = $state.raw<Meeting[]>([])
  /** Without those that did not take place, by start. */
  meetings = $derived(this.#all.filter((m) => shown.has(m.status)).sort((a, b) => Date.parse(a.start) - Date.parse(b.start)))
  blackouts = $state.raw<Blackout[]>([])
  error = $state.raw<unknown>(null)
  /** The room whose meetings these are; 0 before the first answer. */
  room = $state(0)

  /** Loads dates of a room, by its own clock; the old data stays until the response arrives. */
  show(room: number, from: string, to: string, zone: string) {
    this.#span = { room, from: instantOf(from + 'T00:00:00', zone), to: instantOf(to + 'T00:00:00', zone) }
    return this.load()
  }

  #latest = new LatestRequest()
  /** Events received since the latest request: its response may be older. */
  #since: Meeting[] = []

  async load() {
    const span = this.#span
    if (!span) return
    const current = this.#latest.begin()
    this.#since = []
    const query = { room_id: span.room, from: span.from.toISOString(), to: span.to.toISOString(), limit: 500 }
    try {
      await live.ready()
      const [meetings, blackouts] = await Promise.all([
        all((cursor) => api.GET('/meetings', { params: { query: { ...query, cursor } } })),
        all((cursor) => api.GET('/blackouts', { params: { query: { ...query, cursor } } })),
      ])
      if (!current()) return
      this.#all = this.#since.reduce((list, m) => patched(list, m, touches(m, span)), meetings)
      this.blackouts = blackouts
      this.room = span.room
      this.error = null
    } catch (err) {
      if (current()) this.error = err
    }
  }

  /** Inserts or updates a meeting. */
  put(m: Meeting) {
    if (!this.#span) return
    this.#since.push(m)
    if (this.room === this.#span.room) this.#all = patched(this.#all, m, touches(m, this.#span))
  }

  /** Keeps the picture up to date; returns a function that stops it. */
  watch(): () => void {
    const off = booking.onSaved((m) => this.put(m))
    const unfollow = live.follow({ load: () => this.load(), meeting: (m) => this.put(m) })
    return () => {
      off()
      unfollow()
    }
  }
}

function touches(m: Meeting, span: Span): boolean {
  return m.room_ids.includes(span.room) && new Date(m.start) < span.to && new Date(m.end) > span.from
}
