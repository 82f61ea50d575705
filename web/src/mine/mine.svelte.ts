import { all, api, ask, idempotencyKey, type Meeting, type Wait } from '../lib/api/client'
import { clock, live, patched, poll } from '../lib/live.svelte'
import { rooms } from '../lib/rooms.svelte'
import { session } from '../lib/session.svelte'
import { LatestRequest } from '../lib/latest'
import { booking } from '../meeting/booking.svelte'

export type Response = 'accepted' | 'declined' | 'tentative' | 'needs_action'

const over: Meeting['status'][] = ['cancelled', 'rejected', 'released', 'ended']

/** An invitation to answer: a meeting, or all future dates of a series. */
export interface Invitation {
  key: string
  meetings: Meeting[]
}

/** The user's unfinished meetings and waiting list entries, kept up to date. */
class Mine {
  #known = $state.raw<Meeting[] | null>(null)
  waits = $state.raw<Wait[]>([])
  error = $state.raw<unknown>(null)

  /** Meetings that are not over, soonest first. */
  meetings = $derived(
    this.#known
      ?.filter((m) => !over.includes(m.status) && Date.parse(m.end) > clock.now.getTime())
      .sort((a, b) => Date.parse(a.start) - Date.parse(b.start) || a.id - b.id) ?? null,
  )

  /** Meetings that the user did not decline. */
  agenda = $derived(this.meetings?.filter((m) => organizes(m) || responseOf(m) !== 'declined') ?? null)

  /** The user's meetings that wait for a decision, with their requested changes. */
  requests = $derived(this.meetings?.filter((m) => organizes(m) && (m.status === 'pending' || m.pending_change)) ?? [])

  /** Unanswered invitations; the dates of a series are one invitation. */
  invitations = $derived.by(() => {
    const found = new Map<string, Invitation>()
    for (const m of this.meetings ?? []) {
      if (organizes(m) || m.status === 'pending' || responseOf(m) !== 'needs_action') continue
      const key = m.series_id ? `series-${m.series_id}` : `meeting-${m.id}`
      const known = found.get(key)
      if (known) known.meetings.push(m)
      else found.set(key, { key, meetings: [m] })
    }
    return [...found.values()]
  })

  offers = $derived(this.waits.filter((w) => w.state === 'offered' && Date.parse(w.offer_until ?? '') > clock.now.getTime()))
  waiting = $derived(this.waits.filter((w) => w.state === 'waiting'))

  #latest = new LatestRequest()
  #latestWaits = new LatestRequest()
  /** Events received since the latest request: its response may be older. */
  #since: Meeting[] = []

  async load() {
    const current = this.#latest.begin()
    this.#since = []
    const from = new Date().toISOString()
    try {
      await Promise.all([live.ready(), rooms.ready()])
      const list = (who: { organizer?: string; attendee?: string }) =>
        all((cursor) => api.GET('/meetings', { params: { query: { from, ...who, limit: 200, cursor } } }))
      const [organized, invited] = await Promise.all([list({ organizer: 'me' }), list({ attendee: 'me' }), this.loadWaits()])
      if (!current()) return
      const known = new Map([...organized, ...invited].map((m) => [m.id, m]))
      this.#known = this.#since.reduce((list, m) => patched(list, m, belongs(m)), [...known.values()])
      this.error = null
    } catch (err) {
      if (current()) this.error = err
    }
  }

  async loadWaits() {
    const current = this.#latestWaits.begin()
    const state = ['waiting', 'offered']
    const waits = await all((cursor) =>
      api.GET('/waitlist', { params: { query: { state, user_id: session.user?.id, limit: 200, cursor } } }),
    )
    if (current()) this.waits = waits.sort((a, b) => a.meeting.start.localeCompare(b.meeting.start))
  }

  /** Inserts or updates a meeting. */
  put(m: Meeting) {
    this.#since.push(m)
    if (this.#known) this.#known = patched(this.#known, m, belongs(m))
  }

  /** Keeps everything up to date until the returned function is called. */
  watch(): () => void {
    this.load()
    let later: ReturnType<typeof setTimeout> | undefined
    const waits = () => this.loadWaits().catch(() => {})
    const offs = [
      live.follow({
        load: () => this.load(),
        meeting: (m) => {
          this.put(m)
          // A change of another user's meeting can free a slot that the user waits for.
          if (!this.waits.some((w) => w.meeting.room_ids.some((id) => m.room_ids.includes(id)))) return
          clearTimeout(later)
          later = setTimeout(waits, 400)
        },
      }),
      booking.onSaved((m) => this.put(m)),
      poll(() => this.waits.length && waits(), 15_000), // no event reports waiting list changes
    ]
    return () => {
      clearTimeout(later)
      for (const off of offs) off()
    }
  }

  /** Answers an invitation to a meeting, or to all dates of its series. */
  async respond(to: Meeting, response: Response, series: boolean) {
    const call = { body: { response }, headers: { 'Idempotency-Key': idempotencyKey() } }
    if (series && to.series_id) {
      const saved = await ask(api.POST('/series/{id}/respond', { params: { path: { id: to.series_id } }, ...call }))
      for (const m of saved.meetings ?? []) booking.changed(m)
    } else {
      booking.changed(await ask(api.POST('/meetings/{id}/respond', { params: { path: { id: to.id } }, ...call })))
    }
  }
}

export const mine = new Mine()

/** Reports whether the user organizes the meeting. */
export function organizes(m: Meeting): boolean {
  return m.organizer.id === session.user?.id
}

/** Reports whether the meeting is the user's and not over. */
function belongs(m: Meeting): boolean {
  return (organizes(m) || responseOf(m) !== undefined) && Date.parse(m.end) > Date.now()
}

/** Returns the user's answer to the invitation; undefined: not invited. */
export function responseOf(m: Meeting): Response | undefined {
  const { id, email } = session.user ?? {}
  return m.attendees.find((a) => (a.user_id != null && a.user_id === id) || a.email.toLowerCase() === email?.toLowerCase())?.response
}
