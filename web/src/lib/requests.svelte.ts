import { all, api, type Meeting, type Status } from './api/client'
import { live } from './live.svelte'
import { rooms } from './rooms.svelte'
import { session } from './session.svelte'
import { LatestRequest } from './latest'

/** What was requested together: a meeting, its move, or the move of many dates of a series. */
export interface Asked {
  key: string
  meetings: Meeting[]
}

/** Requests that the user may decide now, for themselves or for an absent approver, soonest first. */
class Requests {
  list = $state.raw<Meeting[] | null>(null)
  error = $state.raw<unknown>(null)

  /** Dates of a series that were requested together are one request. */
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
        // The server knows who decides: levels, deputies, deadlines.
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

/** Reports whether the user may approve or reject the request; the server has the last word. */
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

/** Reports whether the user may change or cancel the meeting; the server has the last word. */
export function mayEdit(m: { status: Status; visibility?: string; organizer: { id: number } }): boolean {
  return (m.status === 'pending' || m.status === 'confirmed') && (session.admin || session.organizes(m))
}

/** Reports whether the user may see the notifications of a meeting: its organizer and their delegates, the approvers of its rooms, and admins. */
export function mayInspect(m: Meeting): boolean {
  if (session.admin || session.organizes(m)) return true
  const me = session.user?.id
  return session.decides && me !== undefined && m.room_ids.some((id) => rooms.byID.get(id)?.approval.approver_ids?.includes(me))
}

/** Reports whether the user may extend a running meeting; the server has the last word. */
export function mayExtend(m: { status: Status; organizer: { id: number } }): boolean {
  return m.status === 'in_progress' && (session.admin || m.organizer.id === session.user?.id)
}
