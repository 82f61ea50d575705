// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { problem, requests, reset, route } from './server'
import type { Door } from '../src/lib/api/client'
import { viewAt } from '../src/door/state'

const events = vi.hoisted(() => ({ send: (_: string) => {}, end: () => {} }))
// The stream of events: the test sends what is heard, and ends it.
vi.mock('../src/door/stream', () => ({
  listen: (_path: string, _token: string, heard: (event: string) => void, stop: AbortSignal) =>
    new Promise<void>((done) => {
      events.send = heard
      events.end = done
      stop.addEventListener('abort', () => done())
    }),
}))

const at = (clock: string) => Date.parse(`2027-02-10T${clock}Z`)
const iso = (clock: string) => `2027-02-10T${clock}Z`
const running = { id: 1, start: iso('10:00:00'), end: iso('10:30:00'), status: 'confirmed', ended_at: null, check_in_by: null, check_in_from: iso('10:00:00') }

function door(today: object[] = [running]): Door {
  return { now: new Date().toISOString(), room: { id: 3, name: 'Aula', timezone: 'UTC' }, day: { start: iso('00:00:00'), end: '2027-02-11T00:00:00Z' }, today, closed: [], book: [] } as unknown as Door
}

let stop = () => {}

/** The device as the page finds it when it is loaded. */
async function start(kept = true) {
  vi.resetModules()
  if (kept) localStorage.setItem('punctual.door', JSON.stringify({ token: 'pq_1', room: { id: 3, name: 'Aula' } }))
  const { device } = await import('../src/door/device.svelte')
  stop = device.start(() => true)
  await vi.advanceTimersByTimeAsync(50)
  return device
}

beforeEach(() => {
  vi.useFakeTimers()
  vi.setSystemTime(at('10:29:00'))
  localStorage.clear()
  reset()
})
afterEach(() => {
  stop()
  vi.useRealTimers()
})

test('meetings start and end on the second while the server is away, also after a reload', async () => {
  route('GET /door', () => door([running, { ...running, id: 2, start: iso('10:45:00'), end: iso('11:00:00'), check_in_from: iso('10:45:00') }]))
  let device = await start()
  const state = () => viewAt(device.door!, device.now).state
  expect([state(), device.lost]).toEqual(['busy', false])
  reset()
  await vi.advanceTimersByTimeAsync(at('10:29:58') - Date.now())
  stop()
  device = await start()
  expect(state()).toBe('busy')
  await vi.advanceTimersByTimeAsync(at('10:30:00') + 20 - Date.now())
  expect(state()).toBe('soon')
  await vi.advanceTimersByTimeAsync(at('10:45:00') + 20 - Date.now())
  expect([state(), device.lost]).toEqual(['busy', true])
  expect(device.heard).toBe(at('10:29:00'))
})

test('a short outage is not shown; a longer one is, until the server answers', async () => {
  route('GET /door', () => door())
  const device = await start()
  reset()
  device.load()
  await vi.advanceTimersByTimeAsync(2400)
  expect(device.lost).toBe(false)
  await vi.advanceTimersByTimeAsync(1200)
  expect(device.lost).toBe(true)
  route('GET /door', () => door())
  await vi.advanceTimersByTimeAsync(10_000)
  expect(device.lost).toBe(false)
})

test('the clock is the one of the server', async () => {
  route('GET /door', () => ({ ...door(), now: iso('10:35:00') }))
  const device = await start()
  expect(Math.abs(device.now - at('10:35:00'))).toBeLessThan(1000)
  expect(viewAt(device.door!, device.now).state).toBe('free')
})

test('a change that the server reports is shown', async () => {
  let today = [running]
  route('GET /door', () => door(today))
  const device = await start()
  today = []
  events.send('changed')
  await vi.advanceTimersByTimeAsync(10)
  expect(device.door!.today).toEqual([])
})

test('a device that was removed keeps nothing', async () => {
  route('GET /door', () => door())
  const device = await start()
  route('GET /door', () => problem(401, 'unauthorized'))
  await device.load()
  expect([device.ended, device.kept, device.door]).toEqual([true, null, null])
  expect(JSON.stringify({ ...localStorage })).not.toMatch(/pq_|running/)
})

test('what was seen of another room is not shown', async () => {
  localStorage.setItem('punctual.door.day', JSON.stringify({ door: { ...door(), room: { id: 9 } }, ahead: 0, heard: 1 }))
  const device = await start()
  expect(device.door).toBeNull()
})

test('a code pairs the device', async () => {
  const device = await start(false)
  expect(requests).toEqual([])
  route('POST /door/pair', async (request) => {
    expect(await request.json()).toEqual({ code: '123456', name: 'Tablet' })
    return { token: 'pq_2', room: { id: 4, name: 'Annex' } }
  })
  await device.pair('123456', 'Tablet')
  expect(device.kept).toEqual({ token: 'pq_2', room: { id: 4, name: 'Annex' } })
  expect(JSON.parse(localStorage.getItem('punctual.door')!).token).toBe('pq_2')
})

test('the answer to an action is shown at once, and one from before it is not', async () => {
  route('GET /door', () => door([]))
  const device = await start()
  const slow = Promise.withResolvers<unknown>()
  route('GET /door', () => slow.promise)
  const load = device.load()
  await vi.advanceTimersByTimeAsync(10)
  route('POST /door/book', () => door([running]))
  await device.act({ book: 30 })
  expect(device.door!.today).toHaveLength(1)
  route('GET /door', () => door([running]))
  slow.resolve(door([]))
  await load
  await vi.advanceTimersByTimeAsync(10)
  expect(device.door!.today).toHaveLength(1)
})

test('a failed action is reported, and the door is read again', async () => {
  route('GET /door', () => door([]))
  const device = await start()
  requests.length = 0
  route('POST /door/meetings/1/end', () => problem(409, 'not_running'))
  await expect(device.act({ end: 1 })).rejects.toMatchObject({ code: 'not_running' })
  await vi.advanceTimersByTimeAsync(10)
  expect(requests).toEqual(['POST /door/meetings/1/end', 'GET /door'])
})
