import { all, api, type Meeting, type Room } from '../lib/api/client'
import { poll } from '../lib/live.svelte'
import { rooms } from '../lib/rooms.svelte'
import { router } from '../lib/router.svelte'
import { session } from '../lib/session.svelte'
import { addDays, instantOf, today } from '../lib/zone'
import { booking } from '../meeting/booking.svelte'

const shown = new Set<Meeting['status']>(['pending', 'confirmed', 'in_progress', 'ended'])

/** A day of rooms, as the address names it: date, site, capacity, text. */
class Day {
  site = $derived(Number(router.query.get('site')) || 0)
  capacity = $derived(Number(router.query.get('capacity')) || 0)
  text = $derived(router.query.get('q') ?? '')

  /** The zone whose calendar says what "today" is: the chosen site's, else the user's. */
  zone = $derived(rooms.siteByID.get(this.site)?.timezone || session.zone)
  date = $derived.by(() => {
    const date = router.query.get('date') ?? ''
    return /^\d{4}-\d\d-\d\d$/.test(date) && !Number.isNaN(Date.parse(date)) ? date : today(this.zone)
  })

  /** Meetings that touch the date in some room's zone, without those that did not take place. */
  #all = $state.raw<Meeting[]>([])
  #date = $state('')
  error = $state.raw<unknown>(null)
  /** Whether what is shown is of the date that is asked for. */
  fresh = $derived(rooms.loaded && this.#date === this.date)

  meetings = $derived(this.fresh ? this.#all.filter((m) => shown.has(m.status)) : [])

  /** Rooms that pass the filters; text also finds rooms by their meetings. */
  rooms = $derived.by(() => {
    const text = this.text.trim().toLocaleLowerCase()
    const found = new Set(
      text ? this.meetings.filter((m) => m.title?.toLocaleLowerCase().includes(text)).flatMap((m) => m.room_ids) : [],
    )
    return rooms.list.filter(
      (r) =>
        r.active &&
        (!this.site || r.site_id === this.site) &&
        (!this.capacity || (r.capacity ?? 0) >= this.capacity) &&
        (!text || found.has(r.id) || `${r.name} ${r.floor ?? ''} ${(r.features ?? []).join(' ')}`.toLocaleLowerCase().includes(text)),
    )
  })

  /** The zones of the shown rooms. */
  zones = $derived([...new Set(this.rooms.map((r) => rooms.zone(r)))])

  of(room: Room): Meeting[] {
    return this.meetings.filter((m) => m.room_ids.includes(room.id))
  }

  go(date: string) {
    router.keep({ date: date === today(this.zone) ? '' : date })
  }

  #asked = 0

  async load() {
    const { date } = this
    const asked = ++this.#asked
    try {
      await rooms.ready()
      // The date begins at UTC+14 and ends at UTC-12.
      const from = instantOf(date + 'T00:00:00', 'Etc/GMT-14').toISOString()
      const to = instantOf(addDays(date, 1) + 'T00:00:00', 'Etc/GMT+12').toISOString()
      const meetings = await all((cursor) =>
        api.GET('/meetings', { params: { query: { from, to, limit: 500, cursor } } }),
      )
      if (asked !== this.#asked) return
      this.#all = meetings
      this.#date = date
      this.error = null
    } catch (err) {
      if (asked === this.#asked) this.error = err
    }
  }

  /** Puts what the server just answered in place, ahead of the next poll. */
  put(m: Meeting) {
    this.#all = [...this.#all.filter((o) => o.id !== m.id), m]
    this.load()
  }

  /** Keeps the picture fresh; returns what stops it. */
  watch(): () => void {
    const off = booking.onSaved((m) => this.put(m))
    const stop = poll(() => this.load())
    const slow = poll(() => rooms.load().catch(() => {}), 120_000)
    return () => {
      off()
      stop()
      slow()
    }
  }
}

export const day = new Day()
