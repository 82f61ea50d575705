import { expect, test } from 'vitest'
import type { Room } from '../src/lib/api/client'
import { bulkBody, changesAny, noChange } from '../src/pages/admin/room/bulk'

const room = {
  id: 3,
  name: 'Hopper',
  site_id: 1,
  capacity: 8,
  active: true,
  features: [],
  approval: { required: true, approver_ids: [2], timeout: '4h', escalate_to: [] },
  policy: { opening_hours: [{ days: ['MO'], from: '08:00', to: '18:00' }], min_duration: '15m', max_duration: '2h', min_notice: '0s', quota: { per: 'day', count: 3 } },
  check_in: { required: false, inherited: true, opens: '15m', grace: '10m' },
} as unknown as Room

test('nothing changes that was not chosen', () => {
  expect(changesAny(noChange())).toBe(false)
  expect(bulkBody(room, noChange())).toEqual({})
  expect(bulkBody(room, { ...noChange(), site: 'none', capacity: 12, active: 'no' })).toEqual({ site_id: null, capacity: 12, active: false })
  expect(bulkBody(room, { ...noChange(), capacity: 0 })).toEqual({ capacity: 0 })
})

test('rules that were not chosen stay as the room has them', () => {
  const { policy } = bulkBody(room, { ...noChange(), max: '8h' })
  expect(policy).toMatchObject({ max_duration: '8h', min_duration: '15m', opening_hours: [{ days: ['MO'], from: '08:00', to: '18:00' }], quota: { per: 'day', count: 3 } })
  expect(bulkBody(room, { ...noChange(), approval: 'yes' }).approval).toMatchObject({ required: true, approver_ids: [2], timeout: '4h' })
  expect(bulkBody(room, { ...noChange(), approval: 'yes', approvers: [5] }).approval).toMatchObject({ required: true, approver_ids: [5] })
  expect(bulkBody(room, { ...noChange(), approval: 'no' }).approval).toMatchObject({ required: false })
  expect(bulkBody(room, { ...noChange(), checkIn: 'yes' })).toEqual({ check_in: { required: true, opens: '15m', grace: '10m' } })
})

test('opening hours replace those of the room, and nothing else of its rules', () => {
  const open = (change: object) => bulkBody(room, { ...noChange(), ...change }).policy
  expect(open({ opening: 'always' })).toMatchObject({ opening_hours: [], max_duration: '2h', quota: { per: 'day', count: 3 } })
  expect(open({ opening: 'week' })).toMatchObject({ opening_hours: [{ days: ['MO', 'TU', 'WE', 'TH', 'FR'], from: '08:00', to: '20:00' }], max_duration: '2h' })
})
