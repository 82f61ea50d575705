// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { problem, requests as sent, reset, route } from './server'
import type { Meeting, SeriesResult } from '../src/lib/api/client'
import { toasts } from '../src/lib/toast.svelte'
import { booking } from '../src/meeting/booking.svelte'
import { listen, report, undo } from '../src/meeting/undo'

const changed = '2027-02-10T09:00:00Z'
const meeting = (id: number, until?: string) => ({ id, updated_at: changed, undo_until: until, status: 'confirmed' }) as Meeting
const series = (id: number, previous?: number) =>
  ({ series: { id, updated_at: changed }, previous: previous && { id: previous }, meetings: [], undo_until: '2027-02-10T09:00:10Z' }) as unknown as SeriesResult

const offers = () => toasts.list.map((t) => [t.text, t.action?.label])
const posts = () => sent.filter((s) => s.startsWith('POST'))

let stop: () => void
beforeEach(() => {
  vi.useFakeTimers()
  reset()
  stop = listen()
})
afterEach(() => {
  stop()
  for (const t of toasts.list) toasts.dismiss(t.id)
  vi.useRealTimers()
})

function press(target: EventTarget = document.body, more: KeyboardEventInit = {}) {
  target.dispatchEvent(new KeyboardEvent('keydown', { key: 'z', ctrlKey: true, bubbles: true, cancelable: true, ...more }))
}

test('undo is offered as long as the server says, by its clock', () => {
  report('moved', [meeting(1, '2027-02-10T09:00:20Z')])
  vi.advanceTimersByTime(19_999)
  expect(offers()).toEqual([['moved', 'Undo']])
  toasts.hold(true)
  vi.advanceTimersByTime(1)
  expect(offers()).toEqual([['moved', undefined]])
  toasts.hold(false)
  press()
  expect(posts()).toEqual([])
})

test('a change that cannot be undone takes back the offer for the one before', () => {
  report('moved', [meeting(1, '2027-02-10T09:00:10Z')])
  report('ended', [meeting(2)])
  expect(offers()).toEqual([['moved', undefined], ['ended', undefined]])
})

test('Ctrl+Z undoes outside of text fields, once', async () => {
  route('POST /meetings/1/undo', () => meeting(1))
  const shown = vi.fn()
  const off = booking.onSaved(shown)
  const after = vi.fn()
  report('moved', [meeting(1, '2027-02-10T09:00:10Z')], after)
  const field = document.body.appendChild(document.createElement('input'))
  press(field)
  press(document.body, { shiftKey: true })
  expect(posts()).toEqual([])
  press()
  press()
  await vi.waitFor(() => expect(after).toHaveBeenCalled())
  expect(posts()).toEqual(['POST /meetings/1/undo'])
  expect(shown).toHaveBeenCalledWith(meeting(1))
  expect(offers().at(-1)).toEqual(['Change undone', undefined])
  off()
})

test('several decisions are undone together, a series that was split by its first part', async () => {
  route('POST /meetings/1/undo', () => meeting(1))
  route('POST /series/5/undo', () => ({ ...series(5), meetings: [meeting(3)] }))
  report('approved', [meeting(1, '2027-02-10T09:00:10Z'), series(6, 5)])
  await undo()
  expect(posts()).toEqual(['POST /meetings/1/undo', 'POST /series/5/undo'])
})

test('a refusal is shown', async () => {
  route('POST /meetings/1/undo', () => problem(409, 'undo_expired'))
  report('moved', [meeting(1, '2027-02-10T09:00:10Z')])
  await undo()
  expect(offers().at(-1)).toEqual(['This change can no longer be undone.', undefined])
})
