// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { hide, problem, requests, reset, route } from './server'
import type { Meeting } from '../src/lib/api/client'
import { clock, live, patched, poll } from '../src/lib/live.svelte'

/** The streams that were opened, the latest last. */
let streams: Stream[] = []

class Stream extends EventTarget {
  static readonly CLOSED = 2
  readyState = 1
  constructor(readonly url: string) {
    super()
    streams.push(this)
  }
  close() {
    this.readyState = Stream.CLOSED
  }
  send(type: string, lastEventId = '', data = '') {
    this.dispatchEvent(new MessageEvent(type, { data, lastEventId }))
  }
  /** Loses the connection: the browser tries again, or gives up. */
  fail(forGood = false) {
    this.readyState = forGood ? Stream.CLOSED : 0
    this.dispatchEvent(new Event('error'))
  }
}
vi.stubGlobal('EventSource', Stream)

const load = vi.fn()
const heard = vi.fn()
let stops: (() => void)[] = []
const latest = () => streams.at(-1)!

beforeEach(() => {
  vi.useFakeTimers()
  vi.spyOn(Math, 'random').mockReturnValue(0.5) // retries come exactly when they are due
  reset()
  streams = []
  load.mockReset()
  heard.mockReset()
  stops = [live.follow({ load, meeting: heard }), live.start()]
})
afterEach(() => {
  for (const stop of stops.reverse()) stop()
  hide(false)
  vi.useRealTimers()
})

test('followers hear of each meeting that changes', () => {
  latest().send('ready', '1')
  latest().send('meeting.changed', '2', JSON.stringify({ meeting: { id: 5 } }))
  expect(heard).toHaveBeenCalledWith({ id: 5 })
  expect([live.on, load.mock.calls.length]).toEqual([true, 0])
})

test('what is read once the stream is ready lacks nothing', async () => {
  const done = vi.fn()
  live.ready().then(done)
  await vi.advanceTimersByTimeAsync(299)
  expect(done).not.toHaveBeenCalled()
  latest().send('ready', '1')
  await vi.advanceTimersByTimeAsync(0)
  expect(done).toHaveBeenCalled()
  expect(load).not.toHaveBeenCalled()
})

test('a slow stream is not waited for; once it is ready everything is read again', async () => {
  const done = vi.fn()
  live.ready().then(done)
  await vi.advanceTimersByTimeAsync(300)
  expect(done).toHaveBeenCalled()
  latest().send('ready', '1')
  expect(load).toHaveBeenCalledTimes(1)
})

test('a gap of less than 4 seconds does not count', async () => {
  latest().send('ready', '1')
  latest().fail()
  await vi.advanceTimersByTimeAsync(3900)
  latest().send('ready', '1')
  await vi.advanceTimersByTimeAsync(10_000)
  expect([live.on, load.mock.calls.length]).toEqual([true, 0])
})

test('without a stream followers load every 15 seconds, unless the page is hidden', async () => {
  latest().send('ready', '1')
  latest().fail()
  await vi.advanceTimersByTimeAsync(4000)
  expect([live.on, load.mock.calls.length]).toEqual([false, 1])
  await vi.advanceTimersByTimeAsync(30_000)
  expect(load).toHaveBeenCalledTimes(3)
  hide(true)
  await vi.advanceTimersByTimeAsync(20_000)
  expect(load).toHaveBeenCalledTimes(3)
  hide(false)
  latest().send('ready', '1') // it resumes where it was: nothing was missed
  expect([live.on, load.mock.calls.length]).toEqual([true, 3])
})

test('a stream that was refused is opened again, later each time, from the last event on', async () => {
  latest().send('ready', '41')
  latest().send('meeting.ended', '42', '{"meeting":{"id":1}}')
  route('GET /me', () => problem(503))
  for (const wait of [1000, 2000, 4000, 8000, 15_000, 15_000]) {
    const before = streams.length
    latest().fail(true)
    await vi.advanceTimersByTimeAsync(wait - 1)
    expect(streams).toHaveLength(before)
    await vi.advanceTimersByTimeAsync(1)
    expect(streams).toHaveLength(before + 1)
    expect(latest().url).toBe('/api/v1/events?after=42')
  }
  expect(requests.filter((r) => r === 'GET /me')).toHaveLength(6) // a 401 would sign out
})

test('after a reset by the server everything is read anew', () => {
  latest().send('ready', '1')
  latest().send('reset', '9')
  expect(load).toHaveBeenCalledTimes(1)
})

test('a hidden page gives its connection back after half a minute', async () => {
  latest().send('ready', '1')
  hide(true)
  await vi.advanceTimersByTimeAsync(29_000)
  expect(latest().readyState).toBe(1)
  await vi.advanceTimersByTimeAsync(1000)
  expect(latest().readyState).toBe(Stream.CLOSED)
  hide(false)
  expect([streams.length, latest().url]).toEqual([2, '/api/v1/events?after=1'])
})

test('a stream that says nothing for six minutes is replaced', async () => {
  latest().send('ready', '1')
  await vi.advanceTimersByTimeAsync(6 * 60_000)
  expect(streams).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(15_000)
  expect(streams).toHaveLength(2)
  expect(streams[0]!.readyState).toBe(Stream.CLOSED)
})

test('the network and a page that is shown again open the stream', () => {
  latest().send('ready', '1')
  dispatchEvent(new Event('online'))
  expect(streams).toHaveLength(2)
  dispatchEvent(new Event('pagehide'))
  expect(latest().readyState).toBe(Stream.CLOSED)
  dispatchEvent(new Event('pageshow'))
  expect(streams).toHaveLength(3)
})

test('once stopped nothing is opened or heard', async () => {
  latest().send('ready', '1')
  for (const stop of stops.reverse()) stop()
  stops = []
  latest().send('meeting.changed', '2', '{"meeting":{"id":1}}')
  dispatchEvent(new Event('online'))
  await vi.advanceTimersByTimeAsync(60_000)
  expect([streams.length, heard.mock.calls.length, load.mock.calls.length]).toEqual([1, 0, 0])
})

test('poll runs at intervals and when the page is used again, never while it is hidden', async () => {
  const fn = vi.fn()
  const stop = poll(fn, 1000)
  await vi.advanceTimersByTimeAsync(2000)
  expect(fn).toHaveBeenCalledTimes(2)
  hide(true)
  await vi.advanceTimersByTimeAsync(5000)
  dispatchEvent(new Event('focus'))
  expect(fn).toHaveBeenCalledTimes(2)
  hide(false)
  dispatchEvent(new Event('focus'))
  dispatchEvent(new Event('online'))
  expect(fn).toHaveBeenCalledTimes(5)
  stop()
  await vi.advanceTimersByTimeAsync(5000)
  dispatchEvent(new Event('focus'))
  expect(fn).toHaveBeenCalledTimes(5)
})

test('the clock is right at once when the page is shown again', () => {
  vi.setSystemTime(new Date('2027-02-10T09:00:00Z'))
  hide(true)
  hide(false)
  expect(clock.now.toISOString()).toBe('2027-02-10T09:00:00.000Z')
})

test('patched puts a meeting into a list, replaces it or takes it out', () => {
  const m = (id: number, version: number) => ({ id, version }) as Meeting
  const list = [m(1, 1), m(2, 5)]
  expect(patched(list, m(3, 1), true)).toEqual([m(1, 1), m(2, 5), m(3, 1)])
  expect(patched(list, m(3, 1), false)).toBe(list)
  expect(patched(list, m(1, 2), true)).toEqual([m(1, 2), m(2, 5)])
  expect(patched(list, m(1, 2), false)).toEqual([m(2, 5)])
  expect(patched(list, m(2, 4), true)).toBe(list) // the list has a newer one
})
