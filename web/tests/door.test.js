import assert from 'node:assert/strict'
import { test } from 'vitest'
import { entriesAt, nextChange, viewAt } from '../src/door/state'

const at = (clock) => Date.parse(`2027-02-10T${clock}:00Z`)
const iso = (clock) => `2027-02-10T${clock}:00Z`

/** A meeting in a room where people check in if `by` is given. */
function meeting(id, from, to, more = {}) {
  const { by, ...rest } = more
  return {
    id,
    start: iso(from),
    end: iso(to),
    status: 'confirmed',
    checked_in_at: null,
    ended_at: null,
    check_in_from: new Date(at(from) - 10 * 60_000).toISOString(),
    check_in_by: by ? iso(by) : null,
    ...rest,
  }
}

function door(today, closed = []) {
  return { day: { start: iso('00:00'), end: '2027-02-11T00:00:00Z' }, today, closed }
}

test('the state of a door follows the clock', () => {
  const hours = [
    { kind: 'hours', start: iso('00:00'), end: iso('08:00') },
    { kind: 'hours', start: iso('18:00'), end: '2027-02-11T08:00:00Z' },
  ]
  const carpet = { kind: 'blackout', reason: 'New carpet', start: iso('17:00'), end: iso('19:00') }
  const one = meeting(1, '10:00', '11:00', { by: '10:05' })
  const came = meeting(1, '10:00', '11:00', { by: '10:05', checked_in_at: iso('09:55') })
  const two = meeting(2, '11:00', '12:00')
  for (const [name, d, clock, state, until, id] of [
    ['nothing today', door([]), '09:00', 'free'],
    ['until the next', door([one]), '09:00', 'free', '10:00'],
    ['until it closes', door([], hours), '09:00', 'free', '18:00'],
    ['until a blackout', door([], [carpet, ...hours].sort((a, b) => a.start.localeCompare(b.start))), '09:00', 'free', '17:00'],
    ['announced', door([two]), '10:45', 'soon', '11:00', 2],
    ['not yet', door([two]), '10:44', 'free', '11:00'],
    ['requested', door([meeting(3, '11:00', '12:00', { status: 'pending' })]), '10:50', 'pending', '11:00', 3],
    ['nobody decided', door([meeting(3, '11:00', '12:00', { status: 'pending' })]), '11:00', 'free'],
    ['one may check in', door([one]), '09:50', 'check_in', '10:00', 1],
    ['one did', door([came]), '09:56', 'soon', '10:00', 1],
    ['one must check in', door([one]), '10:04', 'check_in', '11:00', 1],
    ['too late', door([one]), '10:05', 'busy', '11:00', 1],
    ['it began', door([came]), '10:00', 'busy', '11:00', 1],
    ['one after the other', door([came, two]), '11:00', 'busy', '12:00', 2],
    ['ended early', door([{ ...came, status: 'ended', ended_at: iso('10:30') }]), '10:30', 'free'],
    ['called off', door([{ ...came, status: 'cancelled' }]), '10:30', 'free'],
    ['too early in the day', door([one], hours), '07:00', 'closed', '08:00'],
    ['a blackout into the night', door([], [carpet, ...hours].sort((a, b) => a.start.localeCompare(b.start))), '17:30', 'closed'],
    ['in use all the same', door([came], [{ ...carpet, start: iso('09:00') }]), '10:30', 'busy', '11:00', 1],
    ['takes no meetings', door([], [{ kind: 'inactive', start: iso('00:00'), end: null }]), '10:00', 'closed'],
  ]) {
    const view = viewAt(d, at(clock))
    assert.equal(view.state, state, name)
    assert.equal(view.meeting?.id, id, name)
    if (until) assert.equal(view.until, at(until), name)
  }
  assert.equal(viewAt(door([], [carpet, hours[1]]), at('17:30')).until, Date.parse('2027-02-11T08:00:00Z'), 'the night follows')
  assert.equal(viewAt(door([], [carpet, hours[1]]), at('17:30')).closure.reason, 'New carpet')
  assert.equal(viewAt(door([]), Date.parse('2027-02-11T00:00:31Z')).state, 'unknown', 'nothing is known of the next day')
})

test('every change of the state is awaited', () => {
  const d = door([meeting(1, '10:00', '11:00', { by: '10:05' }), meeting(2, '11:30', '12:00')], [{ kind: 'blackout', start: iso('14:00'), end: iso('15:00') }])
  const minute = 60_000
  let due = nextChange(d, at('00:00'))
  for (let t = at('00:00') + minute; t < at('23:59'); t += minute) {
    const changed = viewAt(d, t).state !== viewAt(d, t - minute).state
    if (changed) assert.equal(due, t, new Date(t).toISOString())
    if (t >= due) due = nextChange(d, t)
  }
})

test('the list of today always tells where now is', () => {
  const d = door([meeting(1, '10:00', '11:00'), meeting(2, '11:05', '12:00')])
  const seen = (clock) => entriesAt(d, at(clock)).map((e) => e.meeting?.id ?? e.kind)
  assert.deepEqual(seen('09:00'), ['free', 1, 2, 'free'])
  assert.deepEqual(seen('10:30'), [1, 2, 'free'])
  assert.deepEqual(seen('11:02'), [1, 'now', 2, 'free'])
  assert.deepEqual(seen('13:00'), [1, 2, 'free'])
})
