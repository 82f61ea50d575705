// @vitest-environment happy-dom
import { beforeAll, expect, test } from 'vitest'
import { date, load, meeting, room } from './grid'
import { day } from '../src/day/day.svelte'
import { commonHours, drawnDay, minuteAtX, widthOf, xOf, type DayAxis } from '../src/day/dayAxis'
import { filters } from '../src/day/filters.svelte'
import { next } from '../src/day/gridKeys'
import { gapAfter, layout, stops } from '../src/day/layout'
import { drawn, moved, rangeOf, taken } from '../src/day/plan'
import { router } from '../src/lib/router.svelte'
import { selected, walk, weekNumber, weeksOf } from '../src/month/calendar'
import { byDate } from '../src/month/ownDays'
import type { Meeting } from '../src/lib/api/client'

const nights = ['09', '10', '11', '12'].map((d, i) => ({ start: `2027-02-${d}T18:00:00Z`, end: `2027-02-${['10', '11', '12', '13'][i]}T09:00:00Z` }))
const lab = room(1, 'Laboratory', { closed: nights })
const talk = meeting(1, 1, '10:00', '11:00')
const late = meeting(2, 1, '14:00', '19:30')

beforeAll(async () => {
  await load([lab], [talk, late])
  router.go(`/?date=${date}&days=3`, { replace: true })
  await day.load()
})

const axis: DayAxis = { date, zone: 'UTC', days: 3, hours: { from: 540, to: 1080 } }
const clock = (minute: number) => `${Math.floor(minute / 1440)} ${(minute % 1440) / 60}`

test('several days draw the hours in which a room is open or a meeting takes place', () => {
  expect(commonHours([lab], [], axis)).toEqual({ from: 540, to: 1080 })
  expect(commonHours([lab], [late], axis)).toEqual({ from: 540, to: 1200 })
  expect(commonHours([room(2, 'Hall')], [], axis)).toEqual({ from: 420, to: 1200 })
  expect(commonHours([], [meeting(3, 1, '23:00', '23:30', { end: '2027-02-11T02:00:00Z' })], axis)).toEqual({ from: 420, to: 1200 })
  expect(day.axis).toEqual({ date, zone: 'UTC', days: 3, hours: { from: 540, to: 1200 } })
})

test('nights take no space, and each drawn place is a time', () => {
  expect(widthOf(axis)).toBe(3 * 540)
  for (const [minute, x] of [[540, 0], [600, 60], [1080, 540], [1300, 540], [1440 + 300, 540], [1440 + 600, 600], [2 * 1440 + 540, 1080]] as const) {
    expect(xOf(minute, axis), clock(minute)).toBe(x)
  }
  for (const x of [0, 1, 539, 540, 1000, 1619]) expect(xOf(minuteAtX(x, axis), axis)).toBe(x)
  expect(minuteAtX(541, axis)).toBe(1440 + 541)
  expect(drawnDay(1440 + 700, axis)).toEqual({ from: 1440 + 540, to: 1440 + 1080 })
  const whole = { date, zone: 'UTC' }
  for (const minute of [-30, 0, 700, 1500]) expect([xOf(minute, whole), minuteAtX(minute, whole)]).toEqual([minute, minute])
})

test('what is drawn stays on its date, what is moved goes to others', () => {
  const r = day.byID.get(1)!
  expect(drawn(r, 960, 1440 + 600)).toMatchObject({ from: 960, to: 1200 })
  const plan = moved(taken('move', talk, r), r, 2 * 1440)
  expect([clock(plan.from), clock(plan.to)]).toEqual(['2 10', '2 11'])
  expect(rangeOf(plan)).toMatch(/^Fri, /)
})

test('keys move a meeting by quarters, past nights, and with Shift by days', () => {
  const r = day.byID.get(1)!
  const plan = taken('move', talk, r)
  expect(clock(next(plan, 'ArrowRight', true)!.from)).toBe('1 10')
  expect(clock(next(plan, 'ArrowRight')!.from)).toBe('0 10.25')
  const evening = moved(plan, r, 9.75 * 60)
  expect(clock(evening.from)).toBe('0 19.75')
  expect(clock(next(evening, 'ArrowRight')!.from)).toBe('1 9')
  expect(clock(next(next(evening, 'ArrowRight')!, 'ArrowLeft')!.from)).toBe('0 19.75')
})

test('the keyboard stops at no time of a night', () => {
  const at = stops(lab, layout(lab, [talk], axis).placed, axis).map((s) => clock(s.from))
  expect(at.slice(0, 4)).toEqual(['0 9', '0 9.5', '0 10', '0 11'])
  expect(at.filter((s) => s.startsWith('1')).at(0)).toBe('1 9')
  expect(at.at(-1)).toBe('2 17.5')
})

test('the name of a short meeting has the place until the next one, or its day ends', () => {
  const { placed } = layout(lab, [talk, late], axis)
  expect(placed.map((p) => gapAfter(p, placed, axis))).toEqual([180, 0])
  const twice = layout(lab, [talk, meeting(4, 1, '10:30', '12:00')], axis).placed
  expect(gapAfter(twice[0]!, twice, axis)).toBe(0)
})

test('the address says how many days are shown, and steps go as far', () => {
  expect([filters.days, filters.span]).toEqual([3, { from: date, to: '2027-02-13' }])
  filters.step(-1)
  expect(filters.span.from).toBe('2027-02-07')
  filters.step(1)
  expect(filters.href('day', date)).toBe(`/?date=${date}`)
  expect(filters.href('day', date, 2)).toBe(`/?date=${date}&days=2`)
  for (const [days, want] of [['99', 7], ['1', 1], ['0', 1], ['-3', 1], ['x', 1], ['2.9', 2]] as const) {
    router.go(`/?date=${date}&days=${days}`, { replace: true })
    expect(filters.days, days).toBe(want)
  }
  router.go(`/week?date=${date}`, { replace: true })
  expect(filters.days).toBe(7)
})

test('a calendar has full weeks, numbered as usual where they begin', () => {
  expect(weeksOf('2027-02-10', 1).map((w) => [w[0], w[6]])).toEqual([['2027-02-01', '2027-02-07'], ['2027-02-08', '2027-02-14'], ['2027-02-15', '2027-02-21'], ['2027-02-22', '2027-02-28']])
  expect(weeksOf('2027-02-10', 7)).toHaveLength(5)
  for (const [start, first, n] of [['2026-12-28', 1, 53], ['2027-01-04', 1, 1], ['2024-12-30', 1, 1], ['2026-12-27', 7, 1], ['2027-01-03', 7, 2], ['2026-11-22', 7, 48]] as const) {
    expect(weekNumber(start, first), `${start} ${first}`).toBe(n)
  }
})

test('keys lead through a calendar, and a selection has at most so many days', () => {
  for (const [key, want] of [['ArrowLeft', '2027-03-30'], ['ArrowDown', '2027-04-07'], ['PageUp', '2027-02-28'], ['PageDown', '2027-04-30'], ['Home', '2027-03-29'], ['End', '2027-04-04'], ['x', undefined]] as const) {
    expect(walk('2027-03-31', key, 1), key).toBe(want)
  }
  expect(selected('2027-02-10', '2027-02-12', 7)).toEqual({ from: '2027-02-10', days: 3 })
  expect(selected('2027-02-10', '2027-02-08', 7)).toEqual({ from: '2027-02-08', days: 3 })
  expect(selected('2027-02-10', '2027-03-20', 7)).toEqual({ from: '2027-02-10', days: 7 })
  expect(selected('2027-02-10', '2027-01-20', 7)).toEqual({ from: '2027-02-04', days: 7 })
})

test('a meeting is on each date that it touches, by the clock of the view', () => {
  const night = { ...talk, start: '2027-02-10T22:30:00Z', end: '2027-02-11T23:00:00Z' } as unknown as Meeting
  expect([...byDate([night], 'UTC').keys()]).toEqual(['2027-02-10', '2027-02-11'])
  expect([...byDate([night], 'Europe/Berlin').keys()]).toEqual(['2027-02-10', '2027-02-11'])
  expect([...byDate([night], 'Asia/Tokyo').keys()]).toEqual(['2027-02-11', '2027-02-12'])
  expect(byDate([night], 'Asia/Tokyo').get('2027-02-11')![0]!.start.slice(11, 16)).toBe('07:30')
})
