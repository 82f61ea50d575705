// @vitest-environment happy-dom
import { beforeAll, expect, test } from 'vitest'
import { at, load, meeting, room } from './grid'
import { day } from '../src/day/day.svelte'
import { bookable, stateAt } from '../src/day/free'
import { layout } from '../src/day/layout'

const lab = room(1, 'Laboratory', {
  step: '15m',
  min_duration: '30m',
  buffer_after: '15m',
  closed: [{ start: at('00:00'), end: at('08:00') }, { start: at('18:00'), end: '2027-02-11T00:00:00Z' }],
})
const aula = room(2, 'Aula')
beforeAll(() => load([lab, aula], [meeting(1, 1, '10:00', '11:00'), meeting(2, 1, '11:30', '12:00')]))

const rows = (r: typeof lab) => layout(day.byID.get(r.id)!, day.of(r), day.axis)
const hours = (list: { from: number; to: number }[]) => list.map(({ from, to }) => [from / 60, to / 60])

test('free times are long enough to book and begin on the room’s steps', () => {
  expect(hours(bookable(lab, rows(lab), -60))).toEqual([[8, 10], [12.25, 18]]) // the quarter at 11:15 is too short
  expect(hours(bookable(lab, rows(lab), 500))).toEqual([[8.5, 10], [12.25, 18]])
  expect(hours(bookable(aula, rows(aula), -60))).toEqual([[0, 24]])
  expect(bookable(aula, rows(aula), 1440)).toEqual([])
})

test('a room is free or busy until something else begins', () => {
  const state = (minute: number) => {
    const s = stateAt(rows(lab), minute)
    return [s.kind, s.until / 60, s.meeting?.id]
  }
  expect(state(540)).toEqual(['free', 10, undefined])
  expect(state(620)).toEqual(['busy', 11.25, 1])
  expect(state(670)).toEqual(['busy', 11.25, undefined]) // the buffer
  expect(state(60)).toEqual(['closed', 8, undefined])
  expect(state(1200)).toEqual(['closed', 24, undefined])
  expect(stateAt(rows(aula), 600)).toEqual({ kind: 'free', until: 1440 })
})
