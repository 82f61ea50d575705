import { api, ask, type Meeting } from '../lib/api/client'
import { live, patched } from '../lib/live.svelte'
import { LatestRequest } from '../lib/latest'
import { booking } from '../meeting/booking.svelte'

const shown = new Set<Meeting['status']>(['pending', 'confirmed', 'in_progress', 'ended'])

const page = 100

/** Meetings from an instant on, read page by page as the user scrolls. */
export class Agenda {
  #asked = { from: '', site: 0 }
  #all = $state.raw<Meeting[]>([])
  #cursor: string | undefined
  /** Sorted by start. */
  list = $derived(this.#all.filter((m) => shown.has(m.status)).sort((a, b) => Date.parse(a.start) - Date.parse(b.start) || a.id - b.id))
  /** Whether the latest request was answered. */
  fresh = $state(false)
  /** Whether the last meeting was read. */
  done = $state(false)
  loading = $state(false)
  error = $state.raw<unknown>(null)

  /** Starts over from an instant, at one site or (0) at all sites. */
  show(from: string, site: number) {
    this.#asked = { from, site }
    this.fresh = false
    return this.load()
  }

  /** Reloads as many meetings as were loaded. */
  load() {
    return this.#read(Math.max(1, Math.ceil(this.#all.length / page)), true)
  }

  /** Reads the next page. */
  more() {
    return this.done || this.loading ? undefined : this.#read(1, false)
  }

  #latest = new LatestRequest()
  #since: Meeting[] = []

  async #read(pages: number, anew: boolean) {
    const asked = this.#asked
    if (!asked.from) return
    const current = this.#latest.begin()
    this.loading = true
    this.#since = []
    try {
      await live.ready()
      let cursor = anew ? undefined : this.#cursor
      const found = anew ? [] : [...this.#all]
      for (let i = 0; i < pages; i++) {
        const query = { from: asked.from, limit: page, cursor, ...(asked.site ? { site_id: asked.site } : {}) }
        const answer = await ask(api.GET('/meetings', { params: { query } }))
        if (!current()) return
        const known = new Set(found.map((m) => m.id))
        found.push(...answer.items.filter((m) => !known.has(m.id)))
        cursor = answer.next_cursor ?? undefined
        if (!cursor) break
      }
      this.#cursor = cursor
      this.done = !cursor
      this.#all = found
      for (const m of this.#since) this.#place(m)
      this.fresh = true
      this.error = null
    } catch (err) {
      if (current()) this.error = err
    } finally {
      if (current()) this.loading = false
    }
  }

  /** Inserts or updates a meeting if it belongs to the loaded range. */
  #put(m: Meeting) {
    this.#since.push(m)
    this.#place(m)
  }

  #place(m: Meeting) {
    const last = this.#all.at(-1)
    const read = this.done || (last !== undefined && Date.parse(m.start) <= Date.parse(last.start))
    this.#all = patched(this.#all, m, read && Date.parse(m.end) > Date.parse(this.#asked.from))
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
