// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from 'vitest'
import { load, meeting, room } from './grid'
import type { GridRoom, User } from '../src/lib/api/client'
import { clockChoice } from '../src/day/clockChoice.svelte'
import { day } from '../src/day/day.svelte'
import { filters } from '../src/day/filters.svelte'
import { minuteOf } from '../src/day/dayAxis'
import { rooms } from '../src/lib/rooms.svelte'
import { router } from '../src/lib/router.svelte'
import { session } from '../src/lib/session.svelte'

const berlin = (id: number) => room(id, `Berlin ${id}`, { timezone: 'Europe/Berlin' })
const shanghai = room(3, 'Shanghai', { timezone: 'Asia/Shanghai', capacity: 30 })

/** Shows the rooms to a user in a zone, before the list of all rooms is loaded. */
async function shows(list: GridRoom[], zone: string) {
  await load(list, [meeting(1, 1, '09:00', '10:00')])
  rooms.loaded = false
  session.user = { ...session.user, timezone: zone } as User
  await day.load()
  await day.load() // as the page does when the clock turns out to be another one
}

beforeEach(() => {
  localStorage.clear()
  clockChoice.choose(false)
  clockChoice.lastZone = ''
  vi.useFakeTimers({ now: new Date('2027-02-10T22:20:00-05:00'), toFake: ['Date'] })
  return () => void vi.useRealTimers()
})

test('views follow the clock of most rooms, or the user’s own', async () => {
  await shows([berlin(1), shanghai, berlin(2)], 'America/New_York')
  expect([filters.zone, filters.otherZone, day.foreign]).toEqual(['Europe/Berlin', 'America/New_York', true])
  expect(minuteOf(day.meetings[0]!.start, day.axis)).toBe(600)
  clockChoice.choose(true)
  expect([filters.zone, filters.otherZone, day.foreign]).toEqual(['America/New_York', 'Europe/Berlin', false])
  expect(localStorage.getItem('punctual.clock')).toBe('mine')
})

test('today is the date at the rooms', async () => {
  await shows([berlin(1)], 'America/New_York')
  router.go('/', { replace: true })
  expect(filters.date).toBe('2027-02-11')
  clockChoice.choose(true)
  expect(filters.date).toBe('2027-02-10')
})

test('a filter leaves the clock of the rooms that pass it', async () => {
  await shows([berlin(1), berlin(2), shanghai], 'Europe/Paris')
  expect([filters.zone, filters.otherZone]).toEqual(['Europe/Berlin', '']) // Paris shows the same time
  router.go('/?date=2027-02-10&capacity=20', { replace: true })
  expect([filters.zone, filters.otherZone]).toEqual(['Asia/Shanghai', 'Europe/Paris'])
})

test('a room with a third clock says how far it is ahead', async () => {
  await shows([berlin(1), berlin(2), shanghai], 'America/New_York')
  expect([day.away(berlin(1)), day.away(shanghai)]).toEqual(['', 'Shanghai +7h'])
})

test('the next visit begins with the clock of the last', async () => {
  await shows([berlin(1)], 'America/New_York')
  expect(localStorage.getItem('punctual.room-zone')).toBe('Europe/Berlin')
})
