import { all, api, type Meeting, type Room } from '../lib/api/client'
import { live, patched, poll } from '../lib/live.svelte'
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

  #byRoom = $derived.by(() => {
    const byRoom = new Map<number, Meeting[]>()
    for (const m of this.meetings) {
      for (const id of m.room_ids) {
        const list = byRoom.get(id)
        if (list) list.push(m)
        else byRoom.set(id, [m])
      }
    }
    return byRoom
  })

  /** The zones of the shown rooms. */
  zones = $derived([...new Set(this.rooms.map((r) => rooms.zone(r)))])

  of(room: Room): Meeting[] {
    return this.#byRoom.get(room.id) ?? []
  }

  go(date: string) {
    router.keep({ date: date === today(this.zone) ? '' : date })
  }

  #asked = 0
  /** What was heard since the last question: the answer may be older. */
  #since: Meeting[] = []

  async load() {
    const { date } = this
    const asked = ++this.#asked
    this.#since = []
    try {
      await live.ready()
      const { from, to } = extent(date)
      const query = { from: from.toISOString(), to: to.toISOString(), limit: 500 }
      const [meetings] = await Promise.all([
        all((cursor) => api.GET('/meetings', { params: { query: { ...query, cursor } } })),
        rooms.ready(),
      ])
      if (asked !== this.#asked) return
      this.#all = this.#since.reduce((list, m) => patched(list, m, touches(m, date)), meetings)
      this.#date = date
      this.error = null
    } catch (err) {
      if (asked === this.#asked) this.error = err
    }
  }

  /** Puts a meeting in place as it is now. */
  put(m: Meeting) {
    this.#since.push(m)
    this.#all = patched(this.#all, m, touches(m, this.#date))
  }

  /** Keeps the picture fresh; returns what stops it. */
  watch(): () => void {
    const off = booking.onSaved((m) => this.put(m))
    const unfollow = live.follow({ load: () => this.load(), meeting: (m) => this.put(m) })
    const slow = poll(() => rooms.load().catch(() => {}), 120_000)
    return () => {
      off()
      unfollow()
      slow()
    }
  }
}

/** From when to when a date is, somewhere: it begins at UTC+14 and ends at UTC-12. */
function extent(date: string): { from: Date; to: Date } {
  return { from: instantOf(date + 'T00:00:00', 'Etc/GMT-14'), to: instantOf(addDays(date, 1) + 'T00:00:00', 'Etc/GMT+12') }
}

function touches(m: Meeting, date: string): boolean {
  if (!date) return false
  const { from, to } = extent(date)
  return Date.parse(m.start) < to.getTime() && Date.parse(m.end) > from.getTime()
}

export const day = new Day()
