// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest'
import { requests, reset, route } from './server'
import type { Availability, Room, User } from '../src/lib/api/client'
import { homeOf, ranked, reasonsFor } from '../src/find/rank'
import { myRooms } from '../src/find/myRooms.svelte'
import { rooms } from '../src/lib/rooms.svelte'
import { session } from '../src/lib/session.svelte'
import { freeUntil, roomNow } from '../src/now/roomNow.svelte'

const room = (id: number, more: object = {}) =>
  ({ id, name: `R${id}`, active: true, site_id: 1, floor: '1', capacity: 4 + id, features: [], timezone: 'UTC', policy: { buffer_after: '0s' }, ...more }) as unknown as Room
const none = { favorites: new Set<number>(), recent: new Map<number, string>() }
const need = { persons: 0, features: [] as string[] }
const ids = (list: Room[]) => list.map((r) => r.id)

test('rooms are ranked: the own site, favorites, recent ones, the best fit, the floor', () => {
  const list = [room(1, { site_id: 2 }), room(2), room(3), room(4), room(5, { capacity: 0 }), room(6, { capacity: 7, floor: '2' })]
  const habits = { favorites: new Set([5]), recent: new Map([[4, '2027-01-01T10:00:00Z']]) }
  const home = homeOf(list, habits)
  expect(home).toEqual({ site: 1, floor: '1' })
  expect(ids(ranked(list, (r) => r, need, habits, home))).toEqual([5, 4, 2, 3, 6, 1])
  expect(ids(ranked(list, (r) => r, need, none, null))).toEqual([1, 2, 3, 6, 4, 5])
  expect(homeOf(list, none, 2)).toEqual({ site: 2, floor: '' })
})

test('every offer says why', () => {
  const r = room(3, { capacity: 8, features: ['projector', 'video'] })
  const habits = { favorites: new Set([3]), recent: new Map([[3, '2027-01-01T10:00:00Z']]) }
  expect(reasonsFor(r, { persons: 6, features: ['projector'] }, habits, { site: 1, floor: '1' }).map((w) => w.code)).toEqual(['favorite', 'recent', 'fits', 'has', 'floor'])
  expect(reasonsFor(r, need, none, { site: 2, floor: '1' })).toEqual([])
})

test('a room is free until its next meeting, buffers included, but not for less than 15 minutes', () => {
  const start = new Date('2027-02-10T10:00:00Z')
  const end = new Date('2027-02-10T10:30:00Z')
  const taken = (from: string, more: object = {}) =>
    ({ room: room(1, { policy: { buffer_after: '5m' } }), free: false, needs_approval: false, reasons: [{ code: 'room_conflict', message: '', start: from }], ...more }) as unknown as Availability
  expect(freeUntil(taken('', { free: true, reasons: [] }), start, end)).toEqual(end)
  expect(freeUntil(taken('2027-02-10T10:25:00Z'), start, end)).toEqual(new Date('2027-02-10T10:20:00Z'))
  expect(freeUntil(taken('2027-02-10T10:19:00Z'), start, end)).toBeNull()
  expect(freeUntil(taken('2027-02-10T09:30:00Z'), start, end)).toBeNull()
  expect(freeUntil(taken('2027-02-10T10:25:00Z', { needs_approval: true }), start, end)).toBeNull()
  expect(freeUntil(taken('2027-02-10T10:25:00Z', { reasons: [{ code: 'closed', message: '' }] }), start, end)).toBeNull()
})

beforeEach(() => {
  reset()
  session.user = { id: 7, name: 'Ada' } as User
  rooms.list = [room(1), room(2)]
  rooms.loaded = true
  route('GET /me/rooms', () => ({ favorites: [2], recent: [] }))
})

const free = (id: number) => ({ room: room(id), free: true, needs_approval: false, reasons: [] })
const booked = (body: { room_ids: number[]; start: string; end: string }) => ({ id: 9, status: 'confirmed', timezone: 'UTC', ...body })

test('one click books the favorite for half an hour; if somebody was faster, the next room', async () => {
  await myRooms.load()
  route('GET /availability', () => ({ items: [free(1), free(2)] }))
  const tried: number[] = []
  route('POST /meetings', async (request) => {
    const body = await request.json()
    tried.push(body.room_ids[0])
    if (body.room_ids[0] === 2) return new Response('{"status":409,"code":"room_conflict"}', { status: 409 })
    expect(Date.parse(body.end) - Date.parse(body.start)).toBe(30 * 60_000)
    expect(Math.abs(Date.parse(body.start) - Date.now())).toBeLessThanOrEqual(60_000)
    return booked(body)
  })
  await roomNow.take()
  expect(tried).toEqual([2, 1])
  expect(roomNow.made?.room_ids).toEqual([1])
})

test('nothing is booked if no room is free now: the next ones are offered, each once', async () => {
  route('GET /availability', () => ({ items: [] }))
  const later = (id: number, minutes: number) => ({ room: room(id), needs_approval: false, start: new Date(Date.now() + minutes * 60_000), end: new Date(Date.now() + (minutes + 30) * 60_000) })
  route('GET /suggestions', () => ({ items: [later(1, 20), later(1, 50), later(2, 30)] }))
  await roomNow.take()
  expect(roomNow.made).toBeNull()
  expect(roomNow.offers!.map((o) => o.room.id)).toEqual([1, 2])
  expect(requests).not.toContain('POST /meetings')
})
