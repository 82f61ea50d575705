// @vitest-environment happy-dom
import { flushSync } from 'svelte'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Problem, type Door, type DoorMeeting } from '../src/lib/api/client'
import { i18n } from '../src/lib/i18n/index.svelte'
import type { Action } from '../src/door/device.svelte'
import { Panel } from '../src/door/panelState.svelte'
import { viewAt } from '../src/door/state'

const t = i18n.t.door
const iso = (clock: string) => `2027-02-10T${clock}:00Z`
const at = (clock: string) => Date.parse(iso(clock))

function meeting(id: number, from: string, to: string, more: Partial<DoorMeeting> = {}): DoorMeeting {
  return { id, start: iso(from), end: iso(to), status: 'confirmed', title: `Meeting ${id}`, organizer: 'Ada', private: false, checked_in_at: null, ended_at: null,
    check_in_from: iso(from), check_in_by: null, extend: [], ...more } as DoorMeeting
}

let device: { now: number; lost: boolean; act: (action: Action) => Promise<void> }
let acted: Action[]
let door: Door

/** The panel of a door with these meetings at a time of day. */
function shown(clock: string, today: DoorMeeting[], more: object = {}): Panel {
  device.now = at(clock)
  door = { room: { name: 'Aula', timezone: 'UTC' }, day: { start: iso('00:00'), end: '2027-02-11T00:00:00Z' }, today, closed: [], book: [], ...more } as unknown as Door
  return new Panel(() => ({ door, view: viewAt(door, device.now) }), device)
}

beforeEach(() => {
  vi.useFakeTimers()
  acted = []
  device = { now: 0, lost: false, act: async (action) => void acted.push(action) }
})
afterEach(() => vi.useRealTimers())

const book = [15, 30, 60].map((minutes) => ({ minutes, end: new Date(at('09:00') + minutes * 60_000).toISOString() }))
const running = meeting(1, '10:00', '11:00', { extend: [{ minutes: 15, end: iso('11:15') }] })
const arriving = meeting(2, '10:00', '11:00', { check_in_from: iso('09:50'), check_in_by: iso('10:10') })

test('a free room offers the times that the server does, until they have passed', () => {
  const panel = shown('09:00', [], { book })
  expect([panel.group, panel.lead, panel.choices.map((c) => c.minutes)]).toEqual(['book', t.restOfDay, [15, 30, 60]])
  expect(shown('09:20', [], { book }).choices.map((c) => c.minutes)).toEqual([30, 60])
  const late = shown('11:00', [], { book })
  expect([late.choices, late.group]).toEqual([[], 'unavailable'])
  device.lost = true
  expect(shown('11:00', [], { book }).group).toBeNull()
})

test('a meeting that takes place can be ended and extended', () => {
  const panel = shown('10:15', [running], { book })
  expect([panel.group, panel.mayCheckIn, panel.mayEnd, panel.extensions.length, panel.choices]).toEqual(['meeting', false, true, 1, []])
  expect([panel.progress, panel.lead]).toEqual([0.25, t.until(panel.clock(at('11:00')))])
})

test('before its start a meeting can be checked in, and not be ended', () => {
  const panel = shown('09:55', [arriving], { book })
  expect([panel.group, panel.mayCheckIn, panel.mustCheckIn, panel.mayEnd]).toEqual(['meeting', true, true, false])
  expect(panel.progress).toBe(0)
  const started = shown('10:05', [arriving])
  expect([started.mayCheckIn, started.mayEnd, started.extensions]).toEqual([true, true, []])
})

test('the reason why a room is closed', () => {
  const closed = (kind: string, reason = '') => shown('10:00', [], { closed: [{ kind, reason, start: iso('09:00'), end: iso('12:00') }] })
  expect(closed('hours').reason).toBe(t.closedHours)
  expect(closed('inactive').reason).toBe(t.closedInactive)
  expect(closed('blackout', 'Painters').reason).toBe('Painters')
  const panel = closed('blackout', 'Painters')
  expect([panel.group, panel.lead]).toEqual([null, t.until(panel.clock(at('12:00')))])
  const tomorrow = shown('10:00', [])
  device.now = Date.parse('2027-02-11T01:00:00Z')
  expect([tomorrow.reason, tomorrow.lead]).toEqual([t.unknownText, ''])
})

test('the next meeting is announced while the room is free, or if it starts soon after this one', () => {
  const lunch = meeting(3, '12:00', '13:00')
  expect(shown('09:00', [lunch]).next?.id).toBe(3)
  expect(shown('10:30', [running, lunch]).next).toBeUndefined()
  expect(shown('10:30', [running, meeting(4, '11:10', '12:00')]).next?.id).toBe(4)
  expect(shown('09:30', [lunch], { closed: [{ kind: 'hours', start: iso('09:00'), end: iso('10:00') }] }).next).toBeUndefined()
})

test('times on another day are shown with their date', () => {
  const panel = shown('10:00', [])
  const today = panel.clock(at('12:00'))
  expect(panel.clock(Date.parse('2027-02-11T12:00:00Z')).length).toBeGreaterThan(today.length)
})

test('ending a meeting is confirmed first, and can be left', async () => {
  const panel = shown('10:15', [running])
  panel.askToEnd()
  expect([panel.group, panel.ending]).toEqual(['confirm', 1])
  panel.keep()
  expect([panel.group, acted]).toEqual(['meeting', []])
  panel.askToEnd()
  await panel.act({ end: 1 }, 'Ended')
  expect([acted, panel.ending, panel.message]).toEqual([[{ end: 1 }], 0, { text: 'Ended', bad: false }])
})

test('the question is dropped once the meeting is no longer shown', () => {
  let now = $state(at('10:15'))
  const other = meeting(5, '11:00', '12:00')
  door = { room: { name: 'Aula', timezone: 'UTC' }, day: { start: iso('00:00'), end: '2027-02-11T00:00:00Z' }, today: [running, other], closed: [], book: [] } as unknown as Door
  const panel = new Panel(() => ({ door, view: viewAt(door, now) }), device)
  const stop = $effect.root(() => {
    $effect(() => panel.forgetEnded())
  })
  panel.askToEnd()
  flushSync()
  expect(panel.ending).toBe(1)
  now = at('11:00')
  flushSync()
  expect(panel.ending).toBe(0)
  stop()
})

test('one action at a time, and none without the server', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  device.act = (action) => (acted.push(action), promise)
  const panel = shown('09:00', [], { book })
  const first = panel.act({ book: 15 }, 'Booked')
  expect(panel.off).toBe(true)
  await panel.act({ book: 30 }, 'Booked')
  resolve()
  await first
  expect([acted, panel.off]).toEqual([[{ book: 15 }], false])
  device.lost = true
  const lost = shown('09:00', [], { book })
  await lost.act({ book: 30 }, 'Booked')
  expect([acted.length, lost.off]).toEqual([1, true])
})

test('the result is shown for 5 seconds, a failure for 9', async () => {
  const panel = shown('09:00', [], { book })
  await panel.act({ book: 15 }, 'Booked')
  vi.advanceTimersByTime(4999)
  expect(panel.message?.text).toBe('Booked')
  device.act = () => Promise.reject(new Problem(409, { code: 'room_conflict' }))
  await panel.act({ book: 15 }, 'Booked')
  expect([panel.message?.bad, panel.busy]).toEqual([true, false])
  vi.advanceTimersByTime(8999)
  expect(panel.message).not.toBeNull()
  vi.advanceTimersByTime(1)
  expect(panel.message).toBeNull()
})
