import assert from 'node:assert/strict'
import { test } from 'vitest'
import { Axis } from '../src/lib/axis'
import { carried, stretched } from '../src/week/shift'
import { printedHours } from '../src/week/printedHours'

const slot = (start, end) => ({ start: new Date(start), end: new Date(end) })
const told = ({ start, end }) => [start.toISOString().slice(0, 16), end.toISOString().slice(0, 16)]

test('a slot is carried to the grid, keeps its length and stays in the week', () => {
  const axis = new Axis('2027-02-08', 7, 'Europe/Berlin')
  const nine = slot('2027-02-09T08:05Z', '2027-02-09T08:50Z')
  for (const [column, place, want] of [
    [0, 0, ['2027-02-09T08:05', '2027-02-09T08:50']], // what is not moved stays off the grid
    [0, 22, ['2027-02-09T08:30', '2027-02-09T09:15']],
    [2, -60, ['2027-02-11T07:00', '2027-02-11T07:45']],
    [-5, 0, ['2027-02-08T08:00', '2027-02-08T08:45']],
    [9, 0, ['2027-02-14T08:00', '2027-02-14T08:45']],
    [0, -2000, ['2027-02-08T23:00', '2027-02-08T23:45']],
    [0, 2000, ['2027-02-09T22:45', '2027-02-09T23:30']],
  ]) {
    assert.deepEqual(told(carried(nine, { column, place }, axis, 15)), want, `${column} ${place}`)
  }
})

test('a slot that began before the week goes by the clock', () => {
  const axis = new Axis('2027-02-08', 7, 'Europe/Berlin')
  const night = slot('2027-02-07T21:00Z', '2027-02-08T01:00Z')
  assert.deepEqual(told(carried(night, { column: 1, place: 28 }, axis, 15)), ['2027-02-08T21:30', '2027-02-09T01:30'])
})

test('carried over a change of clocks a slot keeps its time of day', () => {
  const axis = new Axis('2027-03-22', 7, 'Europe/Berlin') // clocks go forward on Sunday the 28th
  const saturday = slot('2027-03-27T09:00Z', '2027-03-27T10:00Z')
  assert.deepEqual(told(carried(saturday, { column: 1, place: 0 }, axis, 15)), ['2027-03-28T08:00', '2027-03-28T09:00'])
})

test('stretching leaves a quarter of an hour', () => {
  const hour = slot('2027-02-09T08:00Z', '2027-02-09T09:00Z')
  for (const [edge, to, want] of [
    ['end', '2027-02-09T10:30Z', ['2027-02-09T08:00', '2027-02-09T10:30']],
    ['end', '2027-02-09T07:00Z', ['2027-02-09T08:00', '2027-02-09T08:15']],
    ['start', '2027-02-09T06:30Z', ['2027-02-09T06:30', '2027-02-09T09:00']],
    ['start', '2027-02-09T11:00Z', ['2027-02-09T08:45', '2027-02-09T09:00']],
  ]) {
    assert.deepEqual(told(stretched(hour, edge, new Date(to))), want, `${edge} ${to}`)
  }
})

test('on paper are the hours that a room is open, and those of meetings outside of them', () => {
  const closed = (from, to) => ({ kind: 'closed', from, to, label: '' })
  const day = [closed(0, 480), closed(1080, 1440)]
  const whole = [closed(0, 1440)]
  assert.deepEqual(printedHours([[], []], [day, whole], 1440), { from: 460, length: 640 })
  assert.deepEqual(printedHours([[], [{ from: 300, to: 330 }]], [day, whole], 1440), { from: 280, length: 820 })
  assert.deepEqual(printedHours([[], []], [whole, whole], 1440), { from: 580, length: 400 }) // never less than ten to four
  assert.deepEqual(printedHours([[]], [[]], 1440), { from: 400, length: 820 }) // always open: seven to eight
})

test('another clock is ahead, unless that changes within the week', () => {
  const winter = new Axis('2027-02-08', 7, 'Europe/Berlin')
  assert.equal(winter.ahead('Europe/London'), -60)
  assert.equal(winter.ahead('Asia/Shanghai'), 420)
  assert.equal(winter.ahead('Europe/Berlin'), 0)
  const spring = new Axis('2027-03-22', 7, 'Europe/Berlin')
  assert.equal(spring.ahead('Asia/Shanghai'), 0)
  assert.equal(spring.ahead('Europe/London'), -60) // both change at the same instant
})
