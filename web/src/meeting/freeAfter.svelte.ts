import { api, ask, type Meeting } from '../lib/api/client'
import { LatestRequest } from '../lib/latest'

const horizon = 4 * 3_600_000

/** How long the rooms of a meeting that goes on stay free behind its end. */
export class FreeAfter {
  #latest = new LatestRequest()
  /** When somebody comes next, at most four hours behind the end; null: it is not known. */
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
      // The server tells when somebody asks for more.
    }
    if (current()) this.until = until
  }

  /** Minutes that the meeting may go on behind its end; more than anybody asks for while that is not known. */
  minutes(m: Meeting): number {
    return this.until === null ? Infinity : (this.until - Date.parse(m.end)) / 60_000
  }

  /** Whether somebody comes within that time. */
  limited(m: Meeting): boolean {
    return this.minutes(m) < horizon / 60_000
  }
}
