import { all, api, type Meeting } from '../lib/api/client'
import { live, patched } from '../lib/live.svelte'
import { session } from '../lib/session.svelte'
import { LatestRequest } from '../lib/latest'
import { booking } from '../meeting/booking.svelte'

const shown = new Set<Meeting['status']>(['pending', 'confirmed', 'in_progress', 'ended'])

/** Meetings that the user organizes or is invited to, within some days; kept live. */
export class MyMeetings {
  #span = { from: '', to: '' }
  #all = $state.raw<Meeting[]>([])
  /** Whether the first response arrived. */
  ready = $state(false)
  list = $derived(this.#all.filter((m) => shown.has(m.status)).sort((a, b) => Date.parse(a.start) - Date.parse(b.start)))

  /** Loads the time from one instant to another. */
  show(from: string, to: string) {
    this.#span = { from, to }
    return this.load()
  }

  #latest = new LatestRequest()
  #since: Meeting[] = []

  /** Errors leave meetings out: names are an extra. */
  async load() {
    const span = this.#span
    if (!span.from) return
    const current = this.#latest.begin()
    this.#since = []
    const ask = (whose: { organizer: string } | { attendee: string }) =>
      all((cursor) => api.GET('/meetings', { params: { query: { ...span, ...whose, limit: 500, cursor } } }))
    await live.ready()
    const [organized, invited] = await Promise.all([ask({ organizer: 'me' }), ask({ attendee: 'me' })]).catch(() => [[], []])
    if (!current()) return
    this.ready = true
    const found = new Map([...organized, ...invited].map((m) => [m.id, m]))
    this.#all = this.#since.reduce((list, m) => patched(list, m, this.#belongs(m)), [...found.values()])
  }

  #belongs(m: Meeting): boolean {
    const { user } = session
    const mine = m.organizer?.id === user?.id || (m.attendees ?? []).some((a) => a.email.toLowerCase() === user?.email.toLowerCase())
    return mine && Date.parse(m.start) < Date.parse(this.#span.to) && Date.parse(m.end) > Date.parse(this.#span.from)
  }

  #put(m: Meeting) {
    this.#since.push(m)
    this.#all = patched(this.#all, m, this.#belongs(m))
  }

  watch(): () => void {
    const off = booking.onSaved((m) => this.#put(m))
    const unfollow = live.follow({ load: () => this.load(), meeting: (m) => this.#put(m) })
    return () => {
      off()
      unfollow()
    }
  }
}
