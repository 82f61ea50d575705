// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from 'vitest'
import { requests, reset, route } from './server'
import { inOrder } from '../src/lib/rooms.svelte'

const room = (id: number, name: string, site_id: number | null = null, timezone = '') => ({ id, name, site_id, timezone })
const sites = [{ id: 1, name: 'Wien', timezone: 'Europe/Vienna' }, { id: 2, name: 'Berlin', timezone: '' }]

/** A store that has not loaded anything. */
async function fresh() {
  vi.resetModules()
  return (await import('../src/lib/rooms.svelte')).rooms
}

beforeEach(() => {
  reset()
  route('GET /sites', () => ({ items: structuredClone(sites) }))
  route('GET /rooms', (_, q) =>
    q.get('cursor') ? { items: [room(3, 'Room 2', 1)] } : { items: [room(1, 'Room 10', 1), room(2, 'Annex'), room(4, 'Aula', 2, 'Asia/Tokyo')], next_cursor: 'b' },
  )
})

test('rooms are read to the end, sorted by site and name as people count', async () => {
  const rooms = await fresh()
  await rooms.load()
  expect(rooms.list.map((r) => r.name)).toEqual(['Aula', 'Room 2', 'Room 10', 'Annex'])
  expect(rooms.sites.map((s) => s.name)).toEqual(['Berlin', 'Wien'])
  expect(rooms.name(3)).toBe('Room 2')
  expect(rooms.name(99)).toBe('#99')
})

test('a room shows its own zone, else the one of its site, else UTC', async () => {
  const rooms = await fresh()
  await rooms.load()
  expect([4, 1, 2].map((id) => rooms.zone(rooms.byID.get(id)))).toEqual(['Asia/Tokyo', 'Europe/Vienna', 'UTC'])
  expect(rooms.zoneOf({ room_ids: [1, 4], timezone: 'America/Lima' })).toBe('Europe/Vienna')
  expect(rooms.zoneOf({ room_ids: [99], timezone: 'America/Lima' })).toBe('America/Lima')
})

test('loads at the same time are one, and ready asks only once', async () => {
  const rooms = await fresh()
  await Promise.all([rooms.load(), rooms.load(), rooms.ready()])
  await rooms.ready()
  expect(requests.filter((r) => r === 'GET /sites')).toHaveLength(1)
})

test('a failed load can be tried again', async () => {
  const rooms = await fresh()
  const routes = () => route('GET /sites', () => ({ items: [] }))
  reset()
  await expect(rooms.ready()).rejects.toThrow()
  expect(rooms.loaded).toBe(false)
  routes()
  route('GET /rooms', () => ({ items: [room(1, 'Aula')] }))
  await rooms.ready()
  expect(rooms.list).toHaveLength(1)
})

test('a reload that changes nothing keeps the lists, so that nothing is drawn anew', async () => {
  const rooms = await fresh()
  await rooms.load()
  const { list, byID } = rooms
  await rooms.load()
  expect(rooms.list).toBe(list)
  expect(rooms.byID).toBe(byID)
})

test('rooms of unknown sites come last', () => {
  const list = [room(1, 'b'), room(2, 'a', 9), room(3, 'z', 1)]
  inOrder(list, [{ id: 1, name: 'x' }])
  expect(list.map((r) => r.name)).toEqual(['z', 'a', 'b'])
})
