import { all, api, type Meeting, type Room } from '../lib/api/client'
import { live, patched, poll } from '../lib/live.svelte'
import { rooms } from '../lib/rooms.svelte'
import { instantOf } from '../lib/zone'
import { booking } from '../meeting/booking.svelte'
import { filters } from './filters.svelte'

const shown = new Set<Meeting['status']>(['pending', 'confirmed', 'in_progress', 'ended'])

/** A picture of the rooms that pass the filters, over the dates that the view shows. */
class Day {
  zone = $derived(filters.zone)
  date = $derived(filters.date)
  #span = $derived(`${filters.span.from} ${filters.span.to}`)

  /** Meetings that touch the dates in some room's zone, without those that did not take place. */
  #all = $state.raw<Meeting[]>([])
  #drawn = $state('')
  error = $state.raw<unknown>(null)
  /** Whether what is shown is of the dates that are asked for. */
  fresh = $derived(rooms.loaded && this.#drawn === this.#span)

  meetings = $derived(this.fresh ? this.#all.filter((m) => shown.has(m.status)) : [])

  /** Rooms that pass the filters; text also finds rooms by their meetings. */
  rooms = $derived.by(() => {
    const text = filters.text.trim().toLocaleLowerCase()
    const found = new Set(
      text ? this.meetings.filter((m) => m.title?.toLocaleLowerCase().includes(text)).flatMap((m) => m.room_ids) : [],
    )
    return rooms.list.filter((r) => r.active && filters.pass(r) && (!text || found.has(r.id) || filters.names(r)))
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

  #asked = 0
  /** What was heard since the last question: the answer may be older. */
  #since: Meeting[] = []

  async load() {
    const span = this.#span
    const asked = ++this.#asked
    this.#since = []
    try {
      await live.ready()
      const { from, to } = extent(span)
      const query = { from: from.toISOString(), to: to.toISOString(), limit: 500 }
      const [meetings] = await Promise.all([
        all((cursor) => api.GET('/meetings', { params: { query: { ...query, cursor } } })),
        rooms.ready(),
      ])
      if (asked !== this.#asked) return
      this.#all = this.#since.reduce((list, m) => patched(list, m, touches(m, span)), meetings)
      this.#drawn = span
      this.error = null
    } catch (err) {
      if (asked === this.#asked) this.error = err
    }
  }

  /** Puts a meeting in place as it is now. */
  put(m: Meeting) {
    this.#since.push(m)
    this.#all = patched(this.#all, m, touches(m, this.#drawn))
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

/** From when to when dates are, somewhere: they begin at UTC+14 and end at UTC-12. */
function extent(span: string): { from: Date; to: Date } {
  const [from, to] = span.split(' ')
  return { from: instantOf(from + 'T00:00:00', 'Etc/GMT-14'), to: instantOf(to + 'T00:00:00', 'Etc/GMT+12') }
}

function touches(m: Meeting, span: string): boolean {
  if (!span) return false
  const { from, to } = extent(span)
  return Date.parse(m.start) < to.getTime() && Date.parse(m.end) > from.getTime()
}

export const day = new Day()
