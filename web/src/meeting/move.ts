import { api, ask, idempotencyKey, Problem, type Meeting } from '../lib/api/client'
import { timeRange } from '../lib/i18n/format'
import { i18n } from '../lib/i18n/index.svelte'
import { describe, faultText } from '../lib/i18n/problem'
import { rooms } from '../lib/rooms.svelte'
import { toasts } from '../lib/toast.svelte'
import { booking } from './booking.svelte'

interface Times {
  start: string
  end: string
  room_ids?: number[]
}

/**
 * Moves a meeting to other times or rooms and offers the way back; one that goes on is extended,
 * which has none. Says what came of it; null if it stays as it was.
 */
export async function move(m: Meeting, to: Times): Promise<Meeting | null> {
  try {
    const extended = m.status === 'in_progress'
    const saved = extended ? await extend(m, to.end) : await change(m, to)
    const asked = saved.pending_change
    const when = timeRange(asked?.start ?? saved.start, asked?.end ?? saved.end, rooms.zoneOf(saved))
    const text = extended ? i18n.t.grid.extended : asked ? i18n.t.grid.requested : i18n.t.day.moved
    toasts.show(`${text}: ${when}`, 'good', extended ? undefined : { label: i18n.t.day.undo, run: () => back(m, saved) })
    return saved
  } catch (err) {
    toasts.show(reason(err), 'bad')
    return null
  }
}

async function back(before: Meeting, saved: Meeting) {
  try {
    await change(saved, { start: before.start, end: before.end, room_ids: before.room_ids })
    toasts.show(i18n.t.day.undone)
  } catch (err) {
    toasts.show(reason(err), 'bad')
  }
}

/** What the server found wrong, all of it. */
function reason(err: unknown): string {
  return err instanceof Problem && err.faults.length ? err.faults.map(faultText).join(' ') : describe(err)
}

async function change(m: Meeting, to: Times): Promise<Meeting> {
  const header = { 'If-Match': `"${m.version}"` }
  const saved = await ask(api.PATCH('/meetings/{id}', { params: { path: { id: m.id }, header }, body: to }))
  booking.changed(saved)
  return saved
}

async function extend(m: Meeting, end: string): Promise<Meeting> {
  const saved = await ask(
    api.POST('/meetings/{id}/extend', {
      params: { path: { id: m.id } },
      headers: { 'Idempotency-Key': idempotencyKey() },
      body: { end },
    }),
  )
  booking.changed(saved)
  return saved
}
