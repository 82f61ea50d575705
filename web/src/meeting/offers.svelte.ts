import { myRooms } from '../find/myRooms.svelte'
import { preference } from '../find/rank'
import { all, api, ask, type Availability, type Suggestion } from '../lib/api/client'
import { live } from '../lib/live.svelte'
import { rooms } from '../lib/rooms.svelte'
import type { Form } from './form.svelte'
import type { Guests } from './guestTimes.svelte'

const moment = 250 // delay after the last change before a request

/** The rooms for the time of the form, and the alternatives if one is taken. */
export class Offers {
  #form: Form
  readonly guests: Guests
  /** The number of seats needed, beside one for each attendee. */
  seats = $state<number | null>(null)
  features = $state<string[]>([])
  site = $state(0)
  /** Rooms and their conflicts; null until loaded. */
  #found = $state.raw<Availability[] | null>(null)
  #asked = $state(0)
  error = $state.raw<unknown>(null)

  persons = $derived.by(() => Math.max(this.#form.f.attendees.length, this.seats ?? 0))
  byRoom = $derived.by(() => new Map((this.#found ?? []).map((a) => [a.room.id, a])))

  /** All rooms: free ones first, among those favorites, recent rooms, and the best fit; null until loaded. */
  list = $derived.by(() => {
    if (!this.#found) return null
    const place = new Map(rooms.list.map((r, i) => [r.id, i]))
    const rank = (a: Availability) => (a.free ? (a.needs_approval ? 1 : 0) : 2)
    const liked = (a: Availability) => (a.free ? preference(a.room.id, myRooms) : 0)
    const surplus = (a: Availability) => (!this.persons ? 0 : a.room.capacity ? a.room.capacity - this.persons : 1e9)
    return [...this.#found].sort(
      (a, b) => rank(a) - rank(b) || liked(a) - liked(b) || (a.free ? surplus(a) - surplus(b) : 0) || place.get(a.room.id)! - place.get(b.room.id)!,
    )
  })

  /** The chosen rooms that are unavailable. */
  blocked = $derived.by(() => this.#form.f.rooms.map((id) => this.byRoom.get(id)).filter((a) => a !== undefined && !a.free) as Availability[])

  /** Whether the form is being sent: events may then be about its own meeting. */
  sending = false

  constructor(form: Form, guests: Guests) {
    this.#form = form
    this.guests = guests
    void myRooms.ready()
    // The queries that use these are sent again shortly after a change.
    $effect(() => {
      void this.#asked
      const { slot } = form
      const query = {
        start: slot?.start.toISOString() ?? '',
        end: slot?.end.toISOString() ?? '',
        attendees: this.persons ? String(this.persons) : undefined,
        features: this.features.length ? this.features : undefined,
        site_id: this.site || undefined,
        organizer_id: (!form.meeting && form.f.organizer[0]?.user_id) || undefined,
      }
      if (!slot || form.series) { // the preview of a series covers its dates
        this.#found = null
        return
      }
      let stale = false
      const timer = setTimeout(async () => {
        try {
          const found = await all((cursor) => api.GET('/availability', { params: { query: { ...query, limit: 500, cursor } } }))
          if (stale) return
          this.#found = found.map((a) => this.#without(a))
          this.error = null
        } catch (err) {
          // Availability is only a help: the server decides when the form is sent.
          if (!stale) this.error = err
        }
      }, moment)
      return () => {
        stale = true
        clearTimeout(timer)
      }
    })
    $effect(() => live.follow({ load: () => this.again(), meeting: (m) => !this.sending && this.#concerns(m) && this.again() }))
  }

  /** Reloads: somebody else may have been faster. */
  again() {
    this.#asked++
  }

  #concerns(m: { start: string; end: string }): boolean {
    const { slot } = this.#form
    const day = 86_400_000 // buffers are shorter than this
    return slot !== null && Date.parse(m.start) < slot.end.getTime() + day && Date.parse(m.end) > slot.start.getTime() - day
  }

  /** The meeting's own time is no conflict. */
  #without(a: Availability): Availability {
    const { meeting } = this.#form
    if (!meeting?.room_ids.includes(a.room.id)) return a
    const own = (r: Availability['reasons'][number]) =>
      r.code === 'room_conflict' && r.start && r.end && Date.parse(r.start) <= Date.parse(meeting.start) && Date.parse(r.end) >= Date.parse(meeting.end)
    const reasons = a.reasons.filter((r) => !own(r))
    return reasons.length === a.reasons.length ? a : { ...a, reasons, free: reasons.length === 0 }
  }

  /** Other rooms at that time. */
  async otherRooms(): Promise<Suggestion[]> {
    const { slot, f } = this.#form
    if (!slot) return []
    const site = rooms.byID.get(f.rooms[0] ?? 0)?.site_id ?? undefined
    const query = { from: slot.start.toISOString(), to: slot.end.toISOString(), duration: this.#duration(), attendees: this.#persons(), limit: 6 }
    const near = await ask(api.GET('/suggestions', { params: { query: { ...query, site_id: site } } }))
    const fits = (list: Suggestion[]) => list.filter((s) => Date.parse(s.start) === slot.start.getTime() && !f.rooms.includes(s.room.id))
    const found = fits(near.items)
    if (found.length || !site) return found
    return fits((await ask(api.GET('/suggestions', { params: { query } }))).items)
  }

  /** Other times in the room: those that suit most guests first, then the closest to the requested time. */
  async otherTimes(room: number): Promise<Suggestion[]> {
    const { slot } = this.#form
    if (!slot) return []
    const before = Math.max(Date.now(), slot.start.getTime() - 4 * 3_600_000)
    const found = await Promise.all(
      [slot.start.getTime(), before].map((from) => {
        const query = { room_id: [room], from: new Date(Math.max(from, Date.now() + 1000)).toISOString(), duration: this.#duration(), attendees: this.#persons(), limit: 6 }
        return ask(api.GET('/suggestions', { params: { query } }))
      }),
    )
    const byStart = new Map(found.flatMap((a) => a.items).map((s) => [s.start, s]))
    const far = (s: Suggestion) => Math.abs(Date.parse(s.start) - slot.start.getTime())
    const busy = (s: Suggestion) => this.guests.busyAt(Date.parse(s.start), Date.parse(s.end))
    return [...byStart.values()].filter((s) => far(s) > 0).sort((a, b) => busy(a) - busy(b) || far(a) - far(b)).slice(0, 4)
  }

  #duration = () => `${this.#form.length}m`
  #persons = () => (this.persons ? String(this.persons) : undefined)
}
