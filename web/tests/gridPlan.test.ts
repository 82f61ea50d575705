// @vitest-environment happy-dom
import { beforeAll, expect, test } from 'vitest'
import { at, load, meeting, room } from './grid'
import { placeOf, walk, type Cursor } from '../src/day/cursor'
import { day } from '../src/day/day.svelte'
import { next } from '../src/day/gridKeys'
import { slotAt } from '../src/day/gridPointer'
import { i18n } from '../src/lib/i18n/index.svelte'
import { layout, opening, stepOf, stops } from '../src/day/layout'
import { drawn, idle, moved, obstacle, stretched, taken, timesOf, type Plan } from '../src/day/plan'

const aula = room(1, 'Aula', { step: '30m' })
const lab = room(2, 'Laboratory', {
  buffer_before: '15m',
  buffer_after: '30m',
  min_duration: '30m',
  max_duration: '2h',
  closed: [{ start: '2027-02-09T18:00:00Z', end: at('08:00') }, { start: at('18:00'), end: '2027-02-11T08:00:00Z' }],
  blackouts: [{ id: 1, start: at('13:00'), end: at('15:00'), reason: 'Painters' }],
})
const tokyo = room(3, 'Yukawa', { timezone: 'Asia/Tokyo' })
const talk = meeting(1, 1, '10:00', '11:00')
const titration = meeting(2, 2, '10:00', '11:00')
const now = new Date(at('07:00'))

beforeAll(() => load([aula, lab, tokyo], [talk, titration, meeting(3, 1, '14:00', '15:30')]))

const range = ({ from, to }: { from: number; to: number }) => [from / 60, to / 60]
const here = (r: { id: number }) => day.byID.get(r.id)!

test('a row shades what is closed, blocked and kept free', () => {
  const { shades, lanes } = layout(here(lab), day.of(lab), day.axis)
  expect(shades.map((s) => [s.kind, ...range(s), s.text]).sort()).toEqual([
    ['blackout', 13, 15, 'Painters'],
    ['buffer', 11, 11.5, ''],
    ['buffer', 9.75, 10, ''],
    ['closed', 0, 8, ''],
    ['closed', 18, 24, ''],
  ])
  expect(lanes).toBe(1)
})

test('meetings that overlap lie in lanes; those that reach beyond the day are cut', () => {
  const night = meeting(8, 1, '23:00', '23:30', { end: '2027-02-11T02:00:00Z' })
  const before = meeting(9, 1, '00:00', '01:00', { start: '2027-02-09T22:00:00Z' })
  const { placed, lanes } = layout(here(aula), [talk, meeting(4, 1, '10:30', '12:00'), night, before], day.axis)
  expect(placed.map((p) => [p.meeting.id, ...range(p), p.lane, p.of, p.before, p.after])).toEqual([
    [9, 0, 1, 0, 1, true, false],
    [1, 10, 11, 0, 2, false, false],
    [4, 10.5, 12, 1, 2, false, false],
    [8, 23, 24, 0, 1, false, true],
  ])
  expect(lanes).toBe(2)
})

test('a meeting that is to move is shown where it would be', () => {
  const moving = meeting(5, 1, '10:00', '11:00', { pending_change: { room_ids: [2], start: at('16:00'), end: at('17:00') } } as never)
  expect(layout(here(lab), [moving], day.axis).asked.map(range)).toEqual([[16, 17]])
  expect(layout(here(lab), [moving], day.axis).placed).toEqual([])
})

test('the day begins with the first opening hour, at seven where a room never closes', () => {
  expect(opening([lab], day.axis)).toBe(480)
  expect(opening([lab, aula], day.axis)).toBe(420)
})

test('the keyboard stops at meetings and at each half hour between them', () => {
  const all = stops(here(aula), layout(here(aula), day.of(aula), day.axis).placed, day.axis)
  expect(all.filter((s) => s.from >= 540 && s.to <= 720).map((s) => [...range(s), s.meeting?.id])).toEqual([
    [9, 9.5, undefined],
    [9.5, 10, undefined],
    [10, 11, 1],
    [11, 11.5, undefined],
    [11.5, 12, undefined],
  ])
  const hourly = room(9, 'Hourly', { step: '1h' })
  expect(stops(hourly, [], day.axis).length).toBe(24)
  expect(stepOf(room(9, 'Any'))).toBe(15)
})

test('drawing covers whole steps in either direction and stays within the day', () => {
  expect(range(drawn(here(aula), 545, 595))).toEqual([9, 10])
  expect(range(drawn(here(aula), 595, 545))).toEqual([9, 10])
  expect(range(drawn(here(aula), 550, 550))).toEqual([9, 9.5])
  expect(range(drawn(here(aula), 1400, 3000))).toEqual([23, 24])
  expect(range(drawn(here(aula), 70, -300))).toEqual([0, 1.5])
})

test('a meeting that is moved keeps its length and goes by the steps of the room it is in', () => {
  const plan = taken('move', talk, here(aula))
  expect(range(moved(plan, here(aula), 50))).toEqual([11, 12])
  expect(range(moved(plan, here(tokyo), 50))).toEqual([10.75, 11.75])
  expect(range(moved(plan, here(aula), 5000))).toEqual([23.5, 24.5])
  expect(range(moved(plan, here(aula), -5000))).toEqual([0, 1])
  expect(idle(moved(plan, here(aula), 10))).toBe(true) // less than half a step: it is as it was
  expect(idle(moved(plan, here(lab), 0))).toBe(false)
})

test('all rows follow one clock: a room in another zone keeps the instant', () => {
  const plan = moved(taken('move', talk, here(aula)), here(tokyo), 0)
  expect(timesOf(plan)).toEqual({ start: '2027-02-10T10:00:00.000Z', end: '2027-02-10T11:00:00.000Z' })
})

test('steps count from midnight by the clock of the room', () => {
  const kathmandu = room(9, 'Everest', { timezone: 'Asia/Kathmandu', step: '1h' }) // 5:45 ahead of the axis
  expect(range(drawn(kathmandu, 600, 610))).toEqual([9.25, 10.25])
  expect(stops(kathmandu, [], day.axis).slice(0, 2).map(range)).toEqual([
    [0, 0.25],
    [0.25, 1.25],
  ])
})

test('an edge goes by steps and leaves one of them', () => {
  const [start, end] = [taken('start', talk, here(aula)), taken('end', talk, here(aula))]
  expect(range(stretched(end, 744))).toEqual([10, 12.5])
  expect(range(stretched(end, 0))).toEqual([10, 10.5])
  expect(range(stretched(end, 9000))).toEqual([10, 24])
  expect(range(stretched(start, 546))).toEqual([9, 11])
  expect(range(stretched(start, 900))).toEqual([10.5, 11])
  expect(range(stretched(start, -50))).toEqual([0, 11])
})

test('what is in the way of a plan', () => {
  const draw = (r: typeof aula, from: number, to: number): Plan => ({ kind: 'draw', room: here(r), from: from * 60, to: to * 60 })
  for (const [plan, why] of [
    [draw(aula, 9, 10), /^$/],
    [draw(aula, 10.5, 12), /Meeting 1/],
    [draw(aula, 6, 6.5), i18n.t.grid.inPast],
    [draw(lab, 11, 12), /Meeting 2/], // its buffer lasts until half past
    [draw(lab, 12, 12.25), /30/], // shorter than the room allows
    [draw(lab, 11.75, 14), /Painters/],
    [draw(lab, 15.5, 17.75), /2/], // longer than the room allows
    [draw(lab, 17.5, 18.5), i18n.t.grid.closedThen],
    [moved(taken('move', talk, here(aula)), here(aula), 30), /^$/], // a meeting is not in its own way
  ] as const) {
    expect(obstacle(plan, now), `${plan.room.name} ${range(plan)}`).toMatch(why)
  }
  expect(obstacle(stretched(taken('end', talk, here(aula)), 750), new Date(at('10:20'))), 'a meeting that takes place may end later').toBe('')
})

test('a click books an hour, or what there is between meetings', () => {
  expect(range(slotAt(here(aula), 9 * 60 + 12))).toEqual([9, 10])
  expect(range(slotAt(here(aula), 9 * 60 + 40))).toEqual([9.5, 10])
  expect(range(slotAt(here(aula), 11 * 60 + 5))).toEqual([11, 12])
  expect(range(slotAt(here(aula), 23 * 60 + 45))).toEqual([23.5, 24])
  expect(range(slotAt(room(9, 'Hourly', { step: '2h' }), 9 * 60))).toEqual([8, 10])
})

/** Where a key leads from a cursor, in words. */
function leads(c: Cursor, key: string, ctrlKey = false) {
  const to = walk({ key, ctrlKey } as KeyboardEvent, c, placeOf(c)!)
  if (!to) return undefined
  return `${day.rooms.find((r) => r.id === to.room)!.name} ${to.head ? 'name' : to.meeting ? `meeting ${to.meeting}` : to.at / 60}`
}

test('keys walk along a row and from room to room', () => {
  for (const [from, key, to] of [
    [{ room: 1, at: 570 }, 'ArrowRight', 'Aula meeting 1'],
    [{ room: 1, at: 600, meeting: 1 }, 'ArrowRight', 'Aula 11'],
    [{ room: 1, at: 600, meeting: 1 }, 'ArrowLeft', 'Aula 9.5'],
    [{ room: 1, at: 0 }, 'ArrowLeft', 'Aula name'],
    [{ room: 1, at: 540, head: true }, 'ArrowRight', 'Aula 0'],
    [{ room: 1, at: 540, head: true }, 'ArrowLeft', 'Aula name'],
    [{ room: 1, at: 1410 }, 'ArrowRight', 'Aula 23.5'],
    [{ room: 1, at: 630, meeting: 1 }, 'ArrowDown', 'Laboratory meeting 2'],
    [{ room: 1, at: 540 }, 'ArrowUp', 'Aula 9'],
    [{ room: 2, at: 540, head: true }, 'ArrowDown', 'Yukawa name'],
    [{ room: 1, at: 540 }, 'PageDown', 'Yukawa 9'],
    [{ room: 3, at: 540 }, 'PageUp', 'Aula 9'],
    [{ room: 1, at: 540 }, 'Home', 'Aula 0'],
    [{ room: 1, at: 540 }, 'End', 'Aula 23.5'],
    [{ room: 99, at: 540 }, 'ArrowRight', 'Aula 9.5'], // a room that is gone: the first one
    [{ room: 1, at: 540 }, 'x', undefined],
  ] as const) {
    expect(leads(from, key), `${JSON.stringify(from)} ${key}`).toBe(to)
  }
  expect(leads({ room: 3, at: 540 }, 'Home', true)).toBe('Aula 9')
  expect(leads({ room: 1, at: 540 }, 'End', true)).toBe('Yukawa 9')
})

test('keys change a plan step by step', () => {
  const apply = (plan: Plan, ...keys: string[]) => keys.reduce((p, key) => next(p, key) ?? p, plan)
  const move = taken('move', talk, here(aula))
  expect(range(apply(move, 'ArrowRight', 'ArrowRight', 'ArrowLeft'))).toEqual([10.5, 11.5])
  expect(apply(move, 'ArrowDown').room.name).toBe('Laboratory')
  expect(apply(move, 'ArrowUp').room.name).toBe('Aula')
  expect(apply(move, 'PageDown', 'PageDown').room.name).toBe('Yukawa')
  const end = taken('end', { ...talk, end: at('10:50') }, here(aula)) // off the steps of the room
  expect(range(apply(end, 'ArrowRight'))).toEqual([10, 11])
  expect(range(apply(taken('start', talk, here(aula)), 'ArrowLeft'))).toEqual([9.5, 11])
  expect(next(end, 'ArrowDown')).toBeUndefined() // an edge stays in its room
  expect(next(move, 'x')).toBeUndefined()
})
