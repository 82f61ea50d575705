// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from 'vitest'
import { requests as sent, reset, route } from './server'
import type { Meeting, Room, User } from '../src/lib/api/client'
import { live, type Follower } from '../src/lib/live.svelte'
import { mayDecide, mayEdit, mayExtend, mayInspect, requests } from '../src/lib/requests.svelte'
import { rooms } from '../src/lib/rooms.svelte'
import { session } from '../src/lib/session.svelte'

const me = 7
const user = (role: User['role']) => ({ id: me, name: 'Ada', role }) as User
const meeting = (id: number, more: object = {}) =>
  ({ id, version: 1, status: 'pending', start: `2027-02-10T1${id}:00:00Z`, organizer: { id: 1, name: 'Bob' }, room_ids: [3], series_id: null, pending_change: null, approval: {}, ...more }) as unknown as Meeting

beforeEach(() => {
  reset()
  vi.spyOn(live, 'ready').mockResolvedValue()
  rooms.loaded = true
  rooms.list = [{ id: 3, name: 'Aula', approval: { approver_ids: [me] } }, { id: 4, name: 'Annex', approval: { approver_ids: [] } }] as unknown as Room[]
  session.user = user('manager')
  requests.list = null
})

test('requests are sorted by start; the dates of a series are one', async () => {
  route('GET /meetings', () => ({ items: [meeting(3), meeting(2, { series_id: 5 }), meeting(1), meeting(4, { series_id: 5 })] }))
  expect(requests.asked).toBeNull()
  await requests.load()
  expect(requests.asked!.map((a) => a.meetings.map((m) => m.id))).toEqual([[1], [2, 4], [3]])
  expect(requests.count).toBe(3)
})

test('a failure is kept until a load succeeds', async () => {
  await requests.load()
  expect(requests.error).toMatchObject({ code: 'offline' })
  route('GET /meetings', () => ({ items: [] }))
  await requests.load()
  expect([requests.error, requests.count]).toEqual([null, 0])
})

test('an answer to an earlier request is ignored', async () => {
  const first = Promise.withResolvers<unknown>()
  const answers: unknown[] = [first.promise, { items: [meeting(2)] }]
  route('GET /meetings', () => answers.shift())
  const slow = requests.load()
  await requests.load()
  first.resolve({ items: [meeting(1)] })
  await slow
  expect(requests.list!.map((m) => m.id)).toEqual([2])
})

test('members have nothing to decide, and nothing is asked for them', async () => {
  session.user = user('member')
  await requests.load()
  requests.watch()()
  expect(sent).toEqual([])
})

test('events that concern a decision reload the list, several at once only once', async () => {
  vi.useFakeTimers()
  let follower: Follower | undefined
  const off = vi.fn()
  vi.spyOn(live, 'follow').mockImplementation((f) => ((follower = f), off))
  route('GET /meetings', () => ({ items: [meeting(1)] }))
  const stop = requests.watch()
  await vi.advanceTimersByTimeAsync(0)
  expect(sent).toHaveLength(1)
  follower!.meeting!(meeting(9, { status: 'confirmed' }))
  await vi.advanceTimersByTimeAsync(1000)
  expect(sent).toHaveLength(1)
  follower!.meeting!(meeting(1, { status: 'confirmed' })) // it is in the list
  follower!.meeting!(meeting(9))
  follower!.meeting!(meeting(9, { status: 'confirmed', pending_change: {} }))
  await vi.advanceTimersByTimeAsync(150)
  expect(sent).toHaveLength(2)
  follower!.meeting!(meeting(9))
  stop()
  await vi.advanceTimersByTimeAsync(1000)
  expect([sent.length, off.mock.calls.length]).toEqual([2, 1])
  vi.useRealTimers()
})

test('who may approve or reject', () => {
  const by = (approvers: number[]) => ({ approvers: approvers.map((id) => ({ id, name: '' })) })
  for (const [name, role, m, may] of [
    ['an approver of the room', 'manager', meeting(1), true],
    ['an approver whose turn has not come', 'manager', meeting(1, { approval: by([8]) }), false],
    ['an approver of this level', 'manager', meeting(1, { room_ids: [4], approval: by([me]) }), true],
    ['a manager of other rooms', 'manager', meeting(1, { room_ids: [4] }), false],
    ['an admin', 'admin', meeting(1, { room_ids: [4] }), true],
    ['a member', 'member', meeting(1), false],
    ['nobody, once it is confirmed', 'admin', meeting(1, { status: 'confirmed' }), false],
    ['an approver of a requested move', 'manager', meeting(1, { status: 'confirmed', pending_change: by([me]) }), true],
    ['an admin, of a move, only as its approver', 'admin', meeting(1, { status: 'confirmed', pending_change: by([8]) }), false],
  ] as const) {
    session.user = user(role)
    expect(mayDecide(m), name).toBe(may)
  }
  session.user = user('manager')
  requests.list = [meeting(1)]
  expect(mayDecide(meeting(1, { room_ids: [4], approval: by([8]) })), 'a deputy: the server listed it').toBe(true)
})

test('who may change, extend and inspect a meeting', () => {
  const own = { organizer: { id: me, name: 'Ada' } }
  for (const [name, role, m, edit, extend, inspect] of [
    ['the organizer', 'member', meeting(1, own), true, false, true],
    ['the organizer, while it takes place', 'member', meeting(1, { ...own, status: 'in_progress' }), false, true, true],
    ['the organizer, afterwards', 'member', meeting(1, { ...own, status: 'ended' }), false, false, true],
    ['an admin', 'admin', meeting(1, { status: 'confirmed' }), true, false, true],
    ['an admin, while it takes place', 'admin', meeting(1, { status: 'in_progress' }), false, true, true],
    ['an approver of the room', 'manager', meeting(1), false, false, true],
    ['anybody else', 'member', meeting(1), false, false, false],
  ] as const) {
    session.user = user(role)
    expect([mayEdit(m), mayExtend(m), mayInspect(m)], name).toEqual([edit, extend, inspect])
  }
})
