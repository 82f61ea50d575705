import { all, api, type Meeting, type Status } from './api/client'
import { live } from './live.svelte'
import { rooms } from './rooms.svelte'
import { session } from './session.svelte'
import { LatestRequest } from './latest'

/** What somebody asked for at once: a meeting, a move of one, or that of many dates of a series. */
export interface Asked {
  key: string
  meetings: Meeting[]
}

/** Requests that the user may decide now, as themselves or for somebody who is away, soonest first. */
class Requests {
  list = $state.raw<Meeting[] | null>(null)
  error = $state.raw<unknown>(null)

  /** The dates of a series that were asked for at once are one request. */
  asked = $derived.by(() => {
    if (!this.list) return null
    const found = new Map<string, Asked>()
    for (const m of this.list) {
      const key = m.series_id ? `series-${m.series_id}` : `meeting-${m.id}`
      const known = found.get(key)
      if (known) known.meetings.push(m)
      else found.set(key, { key, meetings: [m] })
    }
    return [...found.values()]
  })
  count = $derived(this.asked?.length ?? 0)
  #latest = new LatestRequest()
  #later: ReturnType<typeof setTimeout> | undefined

  async load() {
    if (!session.decides) return
    const current = this.#latest.begin()
    try {
      await live.ready()
      const waiting = await all((cursor) => api.GET('/meetings', { params: { query: { awaiting: 'me', limit: 200, cursor } } }))
      await rooms.ready()
      if (!current()) return
      this.list = waiting.sort((a, b) => a.start.localeCompare(b.start))
      this.error = null
    } catch (err) {
      if (current()) this.error = err
    }
  }

  watch(): () => void {
    if (!session.decides) return () => {}
    this.load()
    const off = live.follow({
      load: () => this.load(),
      meeting: (m) => {
        // Who decides on what the server knows: levels, deputies, deadlines.
        const concerns = m.status === 'pending' || m.pending_change || this.list?.some((o) => o.id === m.id)
        if (!concerns) return
        clearTimeout(this.#later)
        this.#later = setTimeout(() => this.load(), 150)
      },
    })
    return () => {
      clearTimeout(this.#later)
      off()
    }
  }
}

export const requests = new Requests()

/** Whether the user may approve or reject what is asked for; the server has the last word. */
export function mayDecide(m: Meeting): boolean {
  if (m.status !== 'pending' && !m.pending_change) return false
  if (requests.list?.some((o) => o.id === m.id)) return true
  if (session.admin) return m.status === 'pending'
  const me = session.user?.id
  const asked = (m.pending_change ?? m.approval).approvers
  if (asked) return asked.some((a) => a.id === me)
  return (
    session.decides &&
    me !== undefined &&
    m.status === 'pending' &&
    m.room_ids.some((id) => rooms.byID.get(id)?.approval.approver_ids?.includes(me))
  )
}

/** Whether the user may change or cancel the meeting; the server has the last word. */
export function mayEdit(m: { status: Status; organizer: { id: number } }): boolean {
  return (m.status === 'pending' || m.status === 'confirmed') && (session.admin || m.organizer.id === session.user?.id)
}

/** Whether the user may see what was sent about a meeting: its organizer, the approvers of its rooms and admins. */
export function mayInspect(m: Meeting): boolean {
  if (session.admin || m.organizer.id === session.user?.id) return true
  const me = session.user?.id
  return session.decides && me !== undefined && m.room_ids.some((id) => rooms.byID.get(id)?.approval.approver_ids?.includes(me))
}

/** Whether the user may let a meeting that goes on end later; the server has the last word. */
export function mayExtend(m: { status: Status; organizer: { id: number } }): boolean {
  return m.status === 'in_progress' && (session.admin || m.organizer.id === session.user?.id)
}
