import { api, ask, idempotencyKey, Problem, type GridMeeting, type Meeting } from '../lib/api/client'
import { timeRange } from '../lib/i18n/format'
import { i18n } from '../lib/i18n/index.svelte'
import { toasts } from '../lib/toast.svelte'
import { booking } from './booking.svelte'
import { explain } from './reasons'
import { remember, undo } from './undo'

interface Target {
  start: string
  end: string
  room_ids?: number[]
}

/** What shows meetings: a change stands there at once, and is looked at anew if the server refuses it. */
interface Picture {
  put: (m: GridMeeting) => void
  load: () => unknown
}

/**
 * Moves a meeting to other times or rooms, and says when by a clock in the zone; one that goes on
 * is extended. It stands in the picture at once; if the server refuses, it is put back, and told
 * why. Else there is a way back, but not from an extension: who goes earlier ends the meeting.
 */
export async function move(m: GridMeeting, to: Target, zone: string, picture?: Picture): Promise<Meeting | undefined> {
  const goesOn = m.status === 'in_progress'
  picture?.put({ ...m, ...to, occupied: undefined })
  try {
    const saved = goesOn ? await extend(m, to.end) : await change(m, to)
    const asked = saved.pending_change
    const when = timeRange(asked?.start ?? saved.start, asked?.end ?? saved.end, zone)
    const text = goesOn ? i18n.t.grid.extended : asked ? i18n.t.grid.requested : m.series_id ? i18n.t.day.movedDate : i18n.t.day.moved
    remember(goesOn ? undefined : () => back(m, saved, zone, picture))
    toasts.show(`${text}: ${when}`, 'good', goesOn ? undefined : { label: i18n.t.day.undo, run: undo })
    return saved
  } catch (err) {
    refuse(m, err, zone, picture)
    return undefined
  }
}

async function back(m: GridMeeting, saved: Meeting, zone: string, picture?: Picture) {
  const to = { room_ids: m.room_ids, start: m.start, end: m.end }
  if (!saved.pending_change) picture?.put({ ...saved, ...to })
  try {
    await change(saved, to)
    toasts.show(i18n.t.day.undone)
  } catch (err) {
    refuse(saved, err, zone, picture)
  }
}

/** Puts a meeting back where it was, says why, and looks what is true. */
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
