import { api, ask, idempotencyKey, Problem, type GridMeeting, type Meeting } from '../lib/api/client'
import { timeRange, weekday } from '../lib/i18n/format'
import { i18n } from '../lib/i18n/index.svelte'
import { toasts } from '../lib/toast.svelte'
import { wallOf } from '../lib/zone'
import { booking } from './booking.svelte'
import { explain } from './reasons'
import { report } from './undo'

interface Target {
  start: string
  end: string
  room_ids?: number[]
}

/** A view of meetings. It shows a change immediately, and reloads if the server rejects the change. */
interface Picture {
  put: (m: GridMeeting) => void
  load: () => unknown
}

/**
 * Moves a meeting to other times or rooms, and shows its new time in the zone. A running meeting
 * is extended. The picture changes immediately. If the server rejects the change, the picture is restored and
 * a toast shows why.
 */
export async function move(m: GridMeeting, to: Target, zone: string, picture?: Picture): Promise<Meeting | undefined> {
  const goesOn = m.status === 'in_progress'
  picture?.put({ ...m, ...to, occupied: undefined })
  try {
    const saved = goesOn ? await extend(m, to.end) : await change(m, to)
    const asked = saved.pending_change
    const [start, end] = [asked?.start ?? saved.start, asked?.end ?? saved.end]
    const date = wallOf(start, zone).slice(0, 10)
    const range = timeRange(start, end, zone)
    const when = date === wallOf(m.start, zone).slice(0, 10) ? range : `${weekday(date)}, ${range}`
    const text = goesOn ? i18n.t.grid.extended : asked ? i18n.t.grid.requested : m.series_id ? i18n.t.day.movedDate : i18n.t.day.moved
    report(`${text}: ${when}`, [saved])
    return saved
  } catch (err) {
    refuse(m, err, zone, picture)
    return undefined
  }
}

/** Restores a meeting, shows why it was rejected, and reloads. */
function refuse(m: GridMeeting, err: unknown, zone: string, picture?: Picture) {
  picture?.put(m)
  toasts.show(explain(err, zone), 'bad')
  if (err instanceof Problem && err.status !== 0) picture?.load()
}

async function change(m: GridMeeting, to: Target): Promise<Meeting> {
  const header = { 'If-Match': `"${m.version}"` }
  const saved = await ask(api.PATCH('/meetings/{id}', { params: { path: { id: m.id }, header }, body: to }))
  booking.changed(saved)
  return saved
}

async function extend(m: GridMeeting, end: string): Promise<Meeting> {
  const headers = { 'Idempotency-Key': idempotencyKey() }
  const saved = await ask(api.POST('/meetings/{id}/extend', { params: { path: { id: m.id } }, headers, body: { end } }))
  booking.changed(saved)
  return saved
}
