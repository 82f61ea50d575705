import { api, ask } from '../lib/api/client'
import { describe } from '../lib/i18n/problem'
import { session } from '../lib/session.svelte'
import { toasts } from '../lib/toast.svelte'

/** The user's favorite rooms, and the rooms of the user's latest meetings. Loaded when first needed. */
class MyRooms {
  favorites = $state.raw<ReadonlySet<number>>(new Set())
  /** When each room was last used, the latest first. */
  recent = $state.raw<ReadonlyMap<number, string>>(new Map())
  #user = 0
  #loading: Promise<void> | undefined

  /** Loads them once. They only change the order of rooms: a failure changes nothing. */
  ready(): Promise<void> {
    if (this.#user === session.user?.id) return this.#loading ?? Promise.resolve()
    return this.load()
  }

  load(): Promise<void> {
    this.#user = session.user?.id ?? 0
    this.#loading = ask(api.GET('/me/rooms')).then(
      ({ favorites, recent }) => {
        this.favorites = new Set(favorites)
        this.recent = new Map(recent.map((r) => [r.room_id, r.used_at]))
      },
      () => {
        this.#user = 0
      },
    )
    return this.#loading
  }

  /** Marks a room as a favorite, or no longer. */
  async toggle(id: number) {
    const was = this.favorites
    const now = new Set(was)
    if (!now.delete(id)) now.add(id)
    this.favorites = now
    const call = { params: { path: { room_id: id } } }
    try {
      await ask(now.has(id) ? api.PUT('/me/favorites/{room_id}', call) : api.DELETE('/me/favorites/{room_id}', call))
    } catch (err) {
      this.favorites = was
      toasts.show(describe(err), 'bad')
    }
  }
}

export const myRooms = new MyRooms()
