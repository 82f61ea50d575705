import { all, api, type Meeting } from './api/client'
import { live, patched } from './live.svelte'
import { rooms } from './rooms.svelte'
import { session } from './session.svelte'

/** Requests that the user may decide, soonest first. */
class Requests {
  #pending = $state.raw<Meeting[] | null>(null)
  list = $derived(this.#pending?.filter(mayDecide).sort((a, b) => a.start.localeCompare(b.start)) ?? null)
  error = $state.raw<unknown>(null)
  count = $derived(this.list?.length ?? 0)

  async load() {
    if (!session.decides) return
    try {
      await live.ready()
      const pending = await all((cursor) =>
        api.GET('/meetings', { params: { query: { status: ['pending'], limit: 200, cursor } } }),
      )
      await rooms.ready()
      this.#pending = pending
      this.error = null
    } catch (err) {
      this.error = err
    }
  }

  watch(): () => void {
    if (!session.decides) return () => {}
    this.load()
    return live.follow({
      load: () => this.load(),
      meeting: (m) => {
        if (this.#pending) this.#pending = patched(this.#pending, m, m.status === 'pending')
      },
    })
  }
}

export const requests = new Requests()

/** Whether the user may approve or reject the request; the server has the last word. */
export function mayDecide(m: Meeting): boolean {
  if (m.status !== 'pending') return false
  if (session.admin) return true
  const me = session.user?.id
  return (
    session.decides &&
    me !== undefined &&
    m.room_ids.some((id) => rooms.byID.get(id)?.approval.approver_ids?.includes(me))
  )
}

/** Whether the user may change or cancel the meeting; the server has the last word. */
export function mayEdit(m: Meeting): boolean {
  return (m.status === 'pending' || m.status === 'confirmed') && (session.admin || m.organizer.id === session.user?.id)
}
