import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { toasts } from '../src/lib/toast.svelte'

const texts = () => toasts.list.map((t) => t.text)

beforeEach(() => vi.useFakeTimers())
afterEach(() => {
  for (const t of toasts.list) toasts.dismiss(t.id)
  vi.useRealTimers()
})

test('a message disappears after 5 seconds, a failure or an offer after 9', () => {
  toasts.show('saved')
  toasts.show('failed', 'bad')
  toasts.show('moved', 'good', { label: 'Undo', run: () => {} })
  vi.advanceTimersByTime(4999)
  expect(texts()).toEqual(['saved', 'failed', 'moved'])
  vi.advanceTimersByTime(1)
  expect(texts()).toEqual(['failed', 'moved'])
  vi.advanceTimersByTime(4000)
  expect(texts()).toEqual([])
})

test('at most three messages are shown, the latest ones', () => {
  for (const text of ['1', '2', '3', '4']) toasts.show(text)
  expect(texts()).toEqual(['2', '3', '4'])
  vi.advanceTimersByTime(5000)
  expect(texts()).toEqual([])
})

test('a message that is read stays, and has at least a second left afterwards', () => {
  toasts.show('read')
  vi.advanceTimersByTime(4900)
  toasts.hold(true)
  toasts.show('came meanwhile')
  vi.advanceTimersByTime(60_000)
  expect(texts()).toEqual(['read', 'came meanwhile'])
  toasts.hold(false)
  vi.advanceTimersByTime(999)
  expect(texts()).toEqual(['read', 'came meanwhile'])
  vi.advanceTimersByTime(1)
  expect(texts()).toEqual(['came meanwhile'])
})

test('the time goes on once the message that was held is dismissed', () => {
  toasts.show('one')
  toasts.hold(true)
  toasts.dismiss(toasts.list[0]!.id)
  toasts.show('two')
  vi.advanceTimersByTime(5000)
  expect(texts()).toEqual([])
})

test('an action is withdrawn from the messages that offer it, and from no others', () => {
  const [undo, other] = [() => {}, () => {}]
  toasts.show('a', 'good', { label: 'Undo', run: undo })
  toasts.show('b', 'good', { label: 'Open', run: other })
  toasts.withdraw(undo)
  expect(toasts.list.map((t) => t.action?.run)).toEqual([undefined, other])
})
