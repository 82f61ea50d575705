import { api, ask, idempotencyKey, Problem, type GridMeeting, type Meeting } from '../lib/api/client'
import { timeRange } from '../lib/i18n/format'
import { i18n } from '../lib/i18n/index.svelte'
import { describe, faultText } from '../lib/i18n/problem'
import { toasts } from '../lib/toast.svelte'
import { booking } from '../meeting/booking.svelte'
import { day } from './day.svelte'

interface Target {
  room_ids: number[]
  start: string
  end: string
}

/** The way back from the last change, until it was gone. */
let last: (() => void) | undefined

/**
 * Changes time and rooms of a meeting. It stands there at once; if the server refuses, it is put
 * back, and told why. Else there is a way back.
 */
export async function change(m: GridMeeting, to: Target, zone: string): Promise<Meeting | undefined> {
  day.put({ ...m, ...to, occupied: undefined })
  try {
    const saved = m.status === 'in_progress' ? await extend(m, to.end) : await patch(m, to)
    tell(m, saved, zone)
    return saved
  } catch (err) {
    refuse(m, err)
    return undefined
  }
}

function tell(m: GridMeeting, saved: Meeting, zone: string) {
  const asked = saved.pending_change
  const when = timeRange(asked?.start ?? saved.start, asked?.end ?? saved.end, zone)
  last = () => back(m, saved)
  if (m.status === 'in_progress') {
    last = undefined // who goes earlier ends it
    toasts.show(`${i18n.t.grid.extended}: ${when}`)
  } else if (asked) {
    toasts.show(`${i18n.t.grid.requested}: ${when}`, 'good', { label: i18n.t.day.undo, run: undo })
  } else {
    toasts.show(`${i18n.t.day.moved}: ${when}`, 'good', { label: i18n.t.day.undo, run: undo })
  }
}

/** Takes the last change back. */
export function undo() {
  last?.()
  last = undefined
}

async function back(m: GridMeeting, saved: Meeting) {
  const to = { room_ids: m.room_ids, start: m.start, end: m.end }
  if (!saved.pending_change) day.put({ ...saved, ...to })
  try {
    await patch(saved, to)
    toasts.show(i18n.t.day.undone)
  } catch (err) {
    refuse(saved, err)
  }
}

/** Puts a meeting back where it was, says why, and looks what is true. */
function refuse(m: GridMeeting, err: unknown) {
  day.put(m)
  toasts.show(reason(err), 'bad')
  if (err instanceof Problem && err.status !== 0) day.load()
}

/** What the server found wrong, all of it. */
function reason(err: unknown): string {
  if (err instanceof Problem && err.faults.length) return err.faults.map(faultText).join(' ')
  return describe(err)
}

async function patch(m: GridMeeting, to: Target): Promise<Meeting> {
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
