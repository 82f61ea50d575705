import assert from 'node:assert/strict'
import { test } from 'vitest'
import { Axis } from '../src/lib/axis'
import { lanes } from '../src/lib/lanes'

const places = (axis, column, instants) => instants.map((t) => axis.place(column, new Date(t)))

test('on an ordinary week a place is a time of day', () => {
  const axis = new Axis('2027-02-08', 7, 'Europe/Berlin')
  assert.equal(axis.length, 1440)
  assert.deepEqual(places(axis, 0, ['2027-02-08T08:00Z', '2027-02-07T12:00Z', '2027-02-09T12:00Z']), [540, 0, 1440])
  assert.equal(axis.instant(2, 600).toISOString(), '2027-02-10T09:00:00.000Z')
  assert.equal(axis.instant(2, 1440).toISOString(), '2027-02-10T23:00:00.000Z')
  assert.equal(axis.column(new Date('2027-02-09T23:30Z')), 2)
  assert.equal(axis.column(new Date('2027-02-15T00:00Z')), -1)
  assert.equal(axis.ticks.length, 24)
})

test('the hour that clocks skip is a gap', () => {
  const axis = new Axis('2027-03-22', 7, 'Europe/Berlin') // Sunday the 28th has 23 hours
  assert.equal(axis.length, 1440)
  assert.deepEqual(axis.columns.map((c) => c.gaps), [[], [], [], [], [], [], [[120, 180]]])
  assert.deepEqual(places(axis, 6, ['2027-03-28T00:30Z', '2027-03-28T01:00Z', '2027-03-28T10:00Z']), [90, 180, 720])
  assert.equal(axis.instant(6, 150).toISOString(), '2027-03-28T01:00:00.000Z')
  assert.equal(axis.instant(6, 180).toISOString(), '2027-03-28T01:00:00.000Z')
  assert.equal(axis.instant(6, 720).toISOString(), '2027-03-28T10:00:00.000Z')
})

test('the hour that comes twice has two places, and other days a gap', () => {
  const axis = new Axis('2027-10-25', 7, 'Europe/Berlin') // Sunday the 31st has 25 hours
  assert.equal(axis.length, 1500)
  assert.deepEqual(axis.columns.map((c) => c.gaps), [...Array(6).fill([[180, 240]]), []])
  assert.deepEqual(axis.ticks.slice(1, 6), [
    { at: 60, wall: '01:00', again: false },
    { at: 120, wall: '02:00', again: false },
    { at: 180, wall: '02:00', again: true },
    { at: 240, wall: '03:00', again: false },
    { at: 300, wall: '04:00', again: false },
  ])
  // Half past two, twice; three o'clock; and what is on any other day.
  assert.deepEqual(places(axis, 6, ['2027-10-31T00:30Z', '2027-10-31T01:30Z', '2027-10-31T02:00Z', '2027-10-31T11:00Z']), [150, 210, 240, 780])
  assert.deepEqual(places(axis, 0, ['2027-10-25T00:30Z', '2027-10-25T01:00Z', '2027-10-25T10:00Z']), [150, 240, 780])
  for (const [column, place, instant] of [
    [6, 150, '2027-10-31T00:30:00.000Z'],
    [6, 210, '2027-10-31T01:30:00.000Z'],
    [6, 780, '2027-10-31T11:00:00.000Z'],
    [6, 1500, '2027-10-31T23:00:00.000Z'],
    [0, 210, '2027-10-25T01:00:00.000Z'],
    [0, 780, '2027-10-25T10:00:00.000Z'],
    [0, 1500, '2027-10-25T22:00:00.000Z'],
  ]) {
    assert.equal(axis.instant(column, place).toISOString(), instant, `${column} ${place}`)
  }
})

test('every place of every zone is where it says that it is', () => {
  for (const [from, zone] of [
    ['2027-02-08', 'Asia/Kolkata'],
    ['2027-10-31', 'America/New_York'],
    ['2027-03-14', 'America/New_York'],
    ['2027-04-04', 'Australia/Lord_Howe'], // by half an hour
    ['2027-10-03', 'Australia/Lord_Howe'],
    ['2027-03-23', 'Asia/Beirut'], // at midnight
    ['2027-10-26', 'Asia/Beirut'],
  ]) {
    const axis = new Axis(from, 7, zone)
    axis.columns.forEach((c, i) => {
      for (let t = c.start.getTime(); t < c.end.getTime(); t += 900_000) {
        const place = axis.place(i, new Date(t))
        assert.equal(axis.instant(i, place).getTime(), t, `${zone} ${new Date(t).toISOString()} at ${place}`)
      }
    })
  }
})

test('what overlaps is side by side', () => {
  const items = [
    { from: 0, to: 60 },
    { from: 30, to: 90 },
    { from: 60, to: 120 },
    { from: 120, to: 180 },
  ]
  const placed = lanes(items)
  assert.deepEqual(items.map((i) => placed.get(i)), [
    { lane: 0, of: 2 },
    { lane: 1, of: 2 },
    { lane: 0, of: 2 },
    { lane: 0, of: 1 },
  ])
})
