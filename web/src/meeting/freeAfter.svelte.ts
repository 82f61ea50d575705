import { api, ask, type Meeting } from '../lib/api/client'
import { LatestRequest } from '../lib/latest'

const horizon = 4 * 3_600_000

/** How long the rooms of a running meeting stay free after its end. */
export class FreeAfter {
  #latest = new LatestRequest()
  /** The start of the next booking, at most four hours after the end; null: unknown. */
  until = $state.raw<number | null>(null)

  async look(m: Meeting) {
    const current = this.#latest.begin()
    const end = Date.parse(m.end)
    const query = { from: m.end, to: new Date(end + horizon).toISOString() }
    let until: number | null = null
    try {
      const lists = await Promise.all(m.room_ids.map((id) => ask(api.GET('/rooms/{id}/free-busy', { params: { path: { id }, query } }))))
      const others = lists.flatMap((l) => l.items).filter((b) => b.meeting_id !== m.id)
      until = Math.min(end + horizon, ...others.map((b) => Date.parse(b.start)))
    } catch {
      // The server rejects an extension that is not possible.
    }
    if (current()) this.until = until
  }

  /** Returns by how many minutes the meeting can be extended; Infinity while unknown. */
  minutes(m: Meeting): number {
    return this.until === null ? Infinity : (this.until - Date.parse(m.end)) / 60_000
  }

  /** Reports whether another booking starts within that time. */
  limited(m: Meeting): boolean {
    return this.minutes(m) < horizon / 60_000
  }
}
