import { all, api, ask, Problem, type Availability, type Meeting, type Room, type Suggestion } from '../lib/api/client'
import { LatestRequest } from '../lib/latest'
import { seconds } from '../lib/duration'
import { time } from '../lib/i18n/format'
import { i18n } from '../lib/i18n/index.svelte'
import { describe } from '../lib/i18n/problem'
import { rooms } from '../lib/rooms.svelte'
import { session } from '../lib/session.svelte'
import { filters } from '../day/filters.svelte'
import { book, takeBack } from '../meeting/book'
import { asksForFields } from '../meeting/faults'
import { report } from '../meeting/undo'
import { booking } from '../meeting/booking.svelte'
import { wallOf } from '../lib/zone'
import { myRooms } from '../find/myRooms.svelte'
import { homeOf, ranked, reasonsFor, type Why } from '../find/rank'

const minute = 60_000
export const lengths = [15, 30, 60] as const
const least = 15 // minutes that are worth a booking
const tries = 3 // somebody else may be faster

/** A room that can be booked now, or within minutes. */
export interface Offer {
  room: Room
  start: Date
  end: Date
  why: Why[]
}

/** Returns until when a room can be booked from the start on, at most to `end`; null: it cannot. */
export function freeUntil(a: Pick<Availability, 'free' | 'needs_approval' | 'reasons' | 'room'>, start: Date, end: Date): Date | null {
  if (a.needs_approval) return null
  if (a.free) return end
  if (!a.reasons.every((r) => r.code === 'room_conflict' && r.start)) return null
  const next = Math.min(...a.reasons.map((r) => Date.parse(r.start!))) - seconds(a.room.policy.buffer_after) * 1000
  const until = Math.floor(next / minute) * minute
  return until - start.getTime() >= least * minute ? new Date(Math.min(until, end.getTime())) : null
}

/** "A room now": finds the best free room and books it; length and room can be changed before and after. */
class RoomNow {
  /** The panel is open. */
  open = $state(false)
  minutes = $state<number>(30)
  /** The best room first; null while they are looked up. */
  offers = $state.raw<Offer[] | null>(null)
  /** What was booked here. */
  made = $state.raw<Meeting | null>(null)
  problem = $state('')
  busy = $state(false)
  #latest = new LatestRequest()

  /** Shows the free rooms. */
  async choose() {
    this.#reset()
    await this.look()
  }

  /** Books the best free room. */
  async take() {
    this.#reset()
    this.busy = true
    await this.look()
    this.busy = false
    if (this.offers?.[0] && this.offers[0].start.getTime() <= Date.now() + minute) await this.book(this.offers[0])
  }

  #reset() {
    this.open = true
    this.minutes = 30
    this.offers = this.made = null
    this.problem = ''
  }

  async look() {
    const current = this.#latest.begin()
    try {
      const found = await findNow(this.minutes)
      if (current()) this.offers = found
    } catch (err) {
      if (current()) [this.offers, this.problem] = [[], describe(err)]
    }
  }

  /** Books an offer, or one of the next if somebody else was faster. */
  async book(offer: Offer) {
    await this.#do(async () => {
      const others = (this.offers ?? []).filter((o) => o !== offer && o.start.getTime() === offer.start.getTime())
      for (const o of [offer, ...others].slice(0, tries)) {
        try {
          const before = this.made
          const made = await book({ title: i18n.t.now.meeting(session.user?.name ?? ''), room_ids: [o.room.id], start: o.start.toISOString(), end: o.end.toISOString() })
          if (before) await takeBack(before)
          this.#booked(made)
          return
        } catch (err) {
          if (asksForFields(err)) return this.#ask(o)
          if (!(err instanceof Problem) || (err.status !== 409 && err.status !== 422) || o === others.at(-1)) throw err
        }
      }
      await this.look()
    })
  }

  /** Opens the form, because only that asks for custom fields. */
  #ask(o: Offer) {
    const zone = rooms.zone(o.room)
    this.close()
    void booking.open({ roomID: o.room.id, start: wallOf(o.start, zone), end: wallOf(o.end, zone), fields: { title: i18n.t.now.meeting(session.user?.name ?? '') } })
  }

  /** Shows what was booked; after an undo, the meeting as it was before, or nothing. */
  #booked(made: Meeting, before?: Meeting) {
    this.made = made
    report(i18n.t.now.booked(rooms.name(made.room_ids[0]!), time(made.end, rooms.zoneOf(made))), [made], () => (before ? void this.#restored(before.id) : this.close()))
  }

  async #restored(id: number) {
    await this.#do(async () => {
      this.made = await ask(api.GET('/meetings/{id}', { params: { path: { id } } }))
      this.minutes = (Date.parse(this.made.end) - Date.parse(this.made.start)) / minute
    })
  }

  /** Sets the length: of the booking, or of what is offered. */
  async setLength(minutes: number) {
    this.minutes = minutes
    const { made } = this
    if (!made) {
      this.offers = null
      return this.look()
    }
    await this.#do(async () => {
      const end = new Date(Date.parse(made.start) + minutes * minute).toISOString()
      const saved = await ask(api.PATCH('/meetings/{id}', { params: { path: { id: made.id } }, body: { end } }))
      booking.changed(saved)
      this.#booked(saved, made)
    })
  }

  async undo() {
    const { made } = this
    if (!made) return
    await this.#do(() => takeBack(made))
    if (!this.problem) this.close()
  }

  async #do(act: () => Promise<void>) {
    if (this.busy) return
    this.busy = true
    this.problem = ''
    try {
      await act()
    } catch (err) {
      this.problem = describe(err)
    } finally {
      this.busy = false
    }
  }

  close() {
    this.open = false
  }
}

export const roomNow = new RoomNow()

/** Finds rooms that are free now; if there is none, those that are free soonest. */
async function findNow(minutes: number): Promise<Offer[]> {
  // The server allows a start one minute ago.
  const start = new Date(Math.floor((Date.now() + 15_000) / minute) * minute)
  const end = new Date(start.getTime() + minutes * minute)
  const span = { start: start.toISOString(), end: end.toISOString() }
  const [found] = await Promise.all([
    all((cursor) => api.GET('/availability', { params: { query: { ...span, limit: 500, cursor } } })),
    rooms.ready(),
    myRooms.ready(),
  ])
  const need = { persons: 0, features: filters.features }
  const home = homeOf(rooms.list, myRooms, filters.site)
  const offerOf = (room: Room, from: Date, to: Date): Offer => ({ room, start: from, end: to, why: reasonsFor(room, need, myRooms, home) })
  const inOrder = (offers: Offer[]) => ranked(offers, (o) => o.room, need, myRooms, home)

  const free = found.filter((a) => filters.pass(a.room)).flatMap((a) => {
    const until = freeUntil(a, start, end)
    return until ? [offerOf(a.room, start, until)] : []
  })
  const whole = free.filter((o) => o.end.getTime() === end.getTime())
  if (free.length) return [...inOrder(whole), ...inOrder(free.filter((o) => !whole.includes(o)))]

  const query = { duration: `${minutes}m`, to: new Date(start.getTime() + 12 * 60 * minute).toISOString(), site_id: home?.site ?? undefined, limit: 20 }
  const { items } = await ask(api.GET('/suggestions', { params: { query } }))
  const soonest = new Map<number, Suggestion>()
  for (const s of items) if (!s.needs_approval && !soonest.has(s.room.id)) soonest.set(s.room.id, s)
  return [...soonest.values()].map((s) => offerOf(s.room, new Date(s.start), new Date(s.end)))
}
