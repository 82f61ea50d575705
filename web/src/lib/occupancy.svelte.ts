import { all, api, type Meeting } from './api/client'
import { live } from './live.svelte'
import { booking } from '../meeting/booking.svelte'

/** The occupancy of a room on the requested days, one number per day. */
export interface Use {
  busy: number[]
  open: number[]
  meetings: number[]
}

const settle = 400 // ms after a change: several meetings often change together
const atMost = 2000 // minimum ms between two requests

/** The occupancy of rooms, per day of their own calendars, kept live. */
export class Occupancy {
  #asked = { from: '', to: '', room: 0 }
  #questions = 0
  #shown = 0 // the request whose response is shown
  /** By room. */
  rooms = $state.raw(new Map<number, Use>())
  /** The first day of the figures; '' before any are loaded. */
  from = $state('')
  error = $state.raw<unknown>(null)

  /** Loads the days from one date to another, for one room or (0) all rooms. */
  show(from: string, to: string, room = 0) {
    this.#asked = { from, to, room }
    return this.load()
  }

  async load() {
    const asked = this.#asked
    if (!asked.from) return
    const query = { from: asked.from, to: asked.to, limit: 500, ...(asked.room ? { room_id: asked.room } : {}) }
    this.#last = Date.now()
    const question = ++this.#questions
    try {
      await live.ready()
      const found = await all((cursor) => api.GET('/occupancy', { params: { query: { ...query, cursor } } }), 20_000)
      if (asked !== this.#asked || question < this.#shown) return // a later request was answered first
      this.#shown = question
      this.rooms = new Map(found.map((r) => [r.room_id, { busy: r.busy_minutes, open: r.open_minutes, meetings: r.meetings }]))
      this.from = asked.from
      this.error = null
    } catch (err) {
      if (asked === this.#asked) this.error = err
    }
  }

  #last = 0
  #soon: ReturnType<typeof setTimeout> | undefined

  #changed(m: Meeting) {
    const { from, to } = this.#asked
    // One day of margin for time zones.
    const near = Date.parse(m.start) < Date.parse(to) + 86_400_000 && Date.parse(m.end) > Date.parse(from) - 86_400_000
    // A meeting that moved elsewhere may have been here before.
    if (!near && m.version === 1) return
    if (this.#soon) return
    const wait = Math.max(settle, this.#last + atMost - Date.now())
    this.#soon = setTimeout(() => {
      this.#soon = undefined
      void this.load()
    }, wait)
  }

  /** Keeps the figures up to date; returns a function that stops it. */
  watch(): () => void {
    const off = booking.onSaved(() => void this.load())
    const unfollow = live.follow({ load: () => this.load(), meeting: (m) => this.#changed(m) })
    return () => {
      off()
      unfollow()
      clearTimeout(this.#soon)
      this.#soon = undefined
    }
  }
}
