import { api, ask, idempotencyKey, type Meeting, type SeriesResult } from '../lib/api/client'
import { keepFocus } from '../lib/focus'
import { i18n } from '../lib/i18n/index.svelte'
import { describe } from '../lib/i18n/problem'
import { requests } from '../lib/requests.svelte'
import { toasts } from '../lib/toast.svelte'
import { booking } from './booking.svelte'

/** The answer to a change. */
export type Saved = Meeting | SeriesResult

interface Change {
  saved: Saved[]
  after?: () => unknown
}

/** The last change, while it can be undone. */
let last: Change | undefined
let timer: ReturnType<typeof setTimeout> | undefined

/**
 * Shows a message about a change. As long as the server can undo the change, the message offers that,
 * and Ctrl+Z does it. `after` runs once it is undone. Earlier changes can no longer be undone.
 */
export function report(text: string, saved: Saved[], after?: () => unknown) {
  forget()
  const left = Math.min(...saved.map(timeLeft))
  if (!saved.length || left <= 0) return toasts.show(text)
  last = { saved, after }
  timer = setTimeout(forget, left)
  toasts.show(text, 'good', { label: i18n.t.day.undo, run: undo }, left)
}

/** How many milliseconds a change can be undone, by the server's clock. */
function timeLeft(saved: Saved): number {
  const changed = 'series' in saved ? saved.series.updated_at : saved.updated_at
  return saved.undo_until ? Date.parse(saved.undo_until) - Date.parse(changed) : 0
}

function forget() {
  clearTimeout(timer)
  last = undefined
  const focused = document.activeElement?.closest('.toasts')
  toasts.withdraw(undo)
  if (focused) void keepFocus()
}

/** Undoes the last change. */
export async function undo() {
  const change = last
  if (!change) return
  forget()
  try {
    for (const saved of change.saved) for (const m of await undone(saved)) booking.changed(m)
    toasts.show(i18n.t.day.undone)
  } catch (err) {
    toasts.show(describe(err), 'bad')
  }
  void requests.load()
  change.after?.()
}

/** Undoes a change, and returns the meetings as they are then. */
async function undone(saved: Saved): Promise<Meeting[]> {
  const headers = { 'Idempotency-Key': idempotencyKey() }
  if (!('series' in saved)) return [await ask(api.POST('/meetings/{id}/undo', { params: { path: { id: saved.id } }, headers }))]
  const { id } = saved.previous ?? saved.series
  return (await ask(api.POST('/series/{id}/undo', { params: { path: { id } }, headers }))).meetings
}

const typing = 'input:not([type=checkbox], [type=radio], [type=button]), textarea, [contenteditable]'

/** Lets Ctrl+Z undo the last change outside of text fields; returns a function that stops it. */
export function listen(): () => void {
  const pressed = (e: KeyboardEvent) => {
    if (e.key.toLowerCase() !== 'z' || !(e.ctrlKey || e.metaKey) || e.shiftKey || e.altKey || e.defaultPrevented) return
    if (!last || (e.target as Element).closest?.(typing)) return
    e.preventDefault()
    void undo()
  }
  addEventListener('keydown', pressed)
  return () => removeEventListener('keydown', pressed)
}
