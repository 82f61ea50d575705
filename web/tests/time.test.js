import assert from 'node:assert/strict'
import { test } from 'vitest'
import { addDays, addMinutes, instantOf, minutesBetween, wallOf } from '../src/lib/zone'
import { seconds, toMinutes } from '../src/lib/duration'
import { closedHours } from '../src/day/closed'

test('a wall time becomes the instant at which clocks there show it', () => {
  for (const [wall, zone, instant] of [
    ['2027-01-15T09:00:00', 'Europe/Berlin', '2027-01-15T08:00:00.000Z'],
    ['2027-07-15T09:00', 'Europe/Berlin', '2027-07-15T07:00:00.000Z'],
    // Clocks go from 02:00 to 03:00: what does not exist moves behind the gap.
    ['2027-03-28T01:59:00', 'Europe/Berlin', '2027-03-28T00:59:00.000Z'],
    ['2027-03-28T02:30:00', 'Europe/Berlin', '2027-03-28T01:30:00.000Z'],
    ['2027-03-28T03:00:00', 'Europe/Berlin', '2027-03-28T01:00:00.000Z'],
    ['2027-03-14T02:30:00', 'America/New_York', '2027-03-14T07:30:00.000Z'],
    // And from 03:00 back to 02:00: what exists twice is its first pass.
    ['2027-10-31T02:30:00', 'Europe/Berlin', '2027-10-31T00:30:00.000Z'],
    ['2027-10-31T03:00:00', 'Europe/Berlin', '2027-10-31T02:00:00.000Z'],
    ['2027-11-07T01:30:00', 'America/New_York', '2027-11-07T05:30:00.000Z'],
    ['2027-04-04T01:45:00', 'Australia/Lord_Howe', '2027-04-03T14:45:00.000Z'], // by half an hour
    ['2027-06-01T00:00:00', 'Etc/GMT-14', '2027-05-31T10:00:00.000Z'],
  ]) {
    assert.equal(instantOf(wall, zone).toISOString(), instant, `${wall} ${zone}`)
  }
})

test('an instant becomes what clocks there show', () => {
  for (const [instant, zone, wall] of [
    ['2027-01-01T00:00:00Z', 'Asia/Kolkata', '2027-01-01T05:30:00'],
    ['2027-03-28T00:59:59.9Z', 'Europe/Berlin', '2027-03-28T01:59:59'],
    ['2027-03-28T01:00:00Z', 'Europe/Berlin', '2027-03-28T03:00:00'],
    ['2027-10-31T01:30:00Z', 'Europe/Berlin', '2027-10-31T02:30:00'],
    ['1969-12-31T23:59:59.5Z', 'UTC', '1969-12-31T23:59:59'],
  ]) {
    assert.equal(wallOf(instant, zone), wall, `${instant} ${zone}`)
  }
})

test('wall clocks count without a zone', () => {
  assert.equal(addDays('2027-02-28', 1), '2027-03-01')
  assert.equal(addMinutes('2027-12-31T23:30:00', 45), '2028-01-01T00:15:00')
  assert.equal(minutesBetween('2027-02-28T23:30:00', '2027-03-01T00:15:00'), 45)
})

test('durations of the API', () => {
  assert.equal(seconds('1h30m'), 5400)
  assert.equal(seconds('90s'), 90)
  assert.ok(Number.isNaN(seconds('soon')))
  assert.equal(toMinutes('24h'), 1440)
  assert.equal(toMinutes('0s'), null)
  assert.equal(toMinutes(null), null)
})

test('closed hours are what opening hours leave', () => {
  const week = { days: ['MO', 'TU', 'WE', 'TH', 'FR'], from: '08:00', to: '20:00' }
  assert.deepEqual(closedHours([], '2027-02-10'), [])
  assert.deepEqual(closedHours([week], '2027-02-10'), [[0, 480], [1200, 1440]])
  assert.deepEqual(closedHours([week], '2027-02-13'), [[0, 1440]])
  assert.deepEqual(closedHours([{ ...week, to: '24:00' }], '2027-02-10'), [[0, 480]])
  assert.deepEqual(
    closedHours([{ ...week, to: '12:00' }, { ...week, from: '13:00' }], '2027-02-10'),
    [[0, 480], [720, 780], [1200, 1440]],
  )
  // Friday's night reaches into Saturday.
  const night = { days: ['FR'], from: '22:00', to: '02:00' }
  assert.deepEqual(closedHours([night], '2027-02-12'), [[0, 1320]])
  assert.deepEqual(closedHours([night], '2027-02-13'), [[120, 1440]])
})
