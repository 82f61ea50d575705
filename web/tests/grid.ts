import { vi } from 'vitest'
import { route } from './server'
import type { GridMeeting, GridRoom, User } from '../src/lib/api/client'
import { live } from '../src/lib/live.svelte'
import { rooms } from '../src/lib/rooms.svelte'
import { router } from '../src/lib/router.svelte'
import { session } from '../src/lib/session.svelte'
import { day } from '../src/day/day.svelte'

// A day of rooms and meetings for tests of the grid.

export const date = '2027-02-10'
export const me = 7

/** An instant of the day, by the clock in UTC. */
export const at = (clock: string) => `${date}T${clock}:00Z`

export function room(id: number, name: string, more: Partial<GridRoom> = {}): GridRoom {
  return {
    id, name, bookable: true, timezone: 'UTC', step: null, buffer_before: '0s', buffer_after: '0s', min_duration: '0s', max_duration: null,
    blackouts: [], closed: [], capacity: 0, features: [], floor: '', needs_approval: false, site_id: null, version: 1, ...more,
  }
}

/** A meeting of the signed-in user. */
export function meeting(id: number, room_id: number, from: string, to: string, more: Partial<GridMeeting> = {}): GridMeeting {
  return { id, room_ids: [room_id], title: `Meeting ${id}`, start: at(from), end: at(to), organizer: { id: me, name: 'Ada' }, visibility: 'public', status: 'confirmed', version: 1, ...more }
}

/** Loads the day with these rooms and meetings. */
export async function load(list: GridRoom[], meetings: GridMeeting[]) {
  session.user = { id: me, role: 'member', timezone: 'UTC' } as User
  vi.spyOn(live, 'ready').mockResolvedValue()
  rooms.loaded = true
  route('GET /grid', () => structuredClone({ rooms: list, meetings, sites: [] }))
  router.go(`/?date=${date}`, { replace: true })
  await day.load()
  if (day.error) throw day.error
}
