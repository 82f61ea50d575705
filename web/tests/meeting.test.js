import assert from 'node:assert/strict'
import { test } from 'vitest'
import { addressesOf, isAddress, isPhone, keyOf } from '../src/meeting/addresses'
import { firstOf, isLastDay, isLastWeekday, moved, nthOf, ruleOf, textOf, weekly } from '../src/meeting/rule'

test('addresses that were pasted', () => {
  for (const [text, want] of [
    ['', []],
    ['a@x.org', [{ email: 'a@x.org' }]],
    ['A <a@x.org>; b@y.org', [{ email: 'a@x.org', name: 'A' }, { email: 'b@y.org' }]],
    ['"Byron, George" <g@y.org>, Ada Lovelace <ada@x.org>,', [{ email: 'g@y.org', name: 'Byron, George' }, { email: 'ada@x.org', name: 'Ada Lovelace' }]],
    ['a@x.org b@x.org\nc@x.org\t<d@x.org>', [{ email: 'a@x.org' }, { email: 'b@x.org' }, { email: 'c@x.org' }, { email: 'd@x.org' }]],
    ['王小明 <wang@x.org>；李 <li@x.org>', [{ email: 'wang@x.org', name: '王小明' }, { email: 'li@x.org', name: '李' }]],
    ['not an address', [{ email: 'not an address' }]],
    ['+49 170 123-4567; Carl <+49 (170) 1234568>', [{ email: '', phone: '+491701234567' }, { email: '', phone: '+491701234568', name: 'Carl' }]],
    ['nobody, a@x.org', [{ email: 'nobody' }, { email: 'a@x.org' }]],
  ]) {
    assert.deepEqual(addressesOf(text), want, text)
  }
  assert.ok(isAddress('jörg@müller.de'))
  for (const bad of ['', 'a', 'a@', '@b', 'a b@c.de', 'a@b@c', '<a@b.c>']) assert.ok(!isAddress(bad), bad)
  for (const bad of ['', '+', '+12', '0170 1234567', '+49 170 x', '+0123456']) assert.ok(!isPhone(bad), bad)
  assert.equal(keyOf({ email: '', phone: '+49 170' }), '+49170')
  assert.equal(keyOf({ email: 'A@x.org', phone: '+49170' }), 'a@x.org')
})

test('rules that the form builds', () => {
  const tuesday = '2027-02-16' // the third of its month
  const rule = (r) => ({ ...weekly(tuesday), ...r })
  for (const [r, text] of [
    [{}, 'FREQ=WEEKLY;BYDAY=TU;COUNT=10'],
    [{ interval: 2, days: ['TH', 'TU'], ends: 'until', until: '2027-05-03' }, 'FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,TH;UNTIL=20270503'],
    [{ freq: 'DAILY', ends: 'never' }, 'FREQ=DAILY'],
    [{ freq: 'MONTHLY' }, 'FREQ=MONTHLY;BYMONTHDAY=16;COUNT=10'],
    [{ freq: 'MONTHLY', by: 'weekday', count: 3 }, 'FREQ=MONTHLY;BYDAY=3TU;COUNT=3'],
    [{ freq: 'YEARLY', count: 2 }, 'FREQ=YEARLY;COUNT=2'],
  ]) {
    assert.equal(textOf(rule(r), tuesday), text)
    assert.equal(textOf(ruleOf(text, tuesday), tuesday), text, 'read back')
  }
  assert.equal(textOf(rule({ freq: 'MONTHLY', by: 'lastWeekday' }), '2027-02-23'), 'FREQ=MONTHLY;BYDAY=-1TU;COUNT=10')
  assert.equal(ruleOf('FREQ=MONTHLY;BYDAY=-1TU;COUNT=3', '2027-02-23').by, 'lastWeekday')
  assert.equal(ruleOf('FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=3', '2027-02-28').by, 'lastDay')
  assert.equal(ruleOf('rrule:freq=weekly;wkst=mo;until=20270503t090000z', tuesday).until, '2027-05-03')
  for (const other of ['', 'FREQ=SECONDLY', 'FREQ=WEEKLY;BYDAY=1TU', 'FREQ=MONTHLY;BYDAY=2TU', 'FREQ=YEARLY;BYMONTH=2', 'FREQ=MONTHLY;BYDAY=MO;BYSETPOS=1', 'FREQ=DAILY;COUNT=0', 'nonsense']) {
    assert.equal(ruleOf(other, tuesday), null, other)
  }
})

test('rules follow their first date', () => {
  assert.deepEqual([nthOf('2027-02-07'), nthOf('2027-02-08'), nthOf('2027-03-29')], [1, 2, 5])
  assert.deepEqual([isLastDay('2028-02-28'), isLastDay('2028-02-29'), isLastWeekday('2027-02-21'), isLastWeekday('2027-02-22')], [false, true, false, true])
  const r = weekly('2027-02-16')
  assert.deepEqual(moved(r, '2027-02-16', '2027-02-18').days, ['TH'])
  assert.deepEqual(moved({ ...r, days: ['TU', 'TH'] }, '2027-02-16', '2027-02-18').days, ['TU', 'TH'])
  assert.equal(moved({ ...r, freq: 'MONTHLY', by: 'weekday' }, '2027-03-22', '2027-03-29').by, 'lastWeekday')
  assert.equal(moved({ ...r, freq: 'MONTHLY', by: 'lastDay' }, '2027-02-28', '2027-03-01').by, 'date')
  assert.equal(firstOf({ ...r, days: ['MO', 'WE'] }, '2027-02-16'), '2027-02-17')
  assert.equal(firstOf({ ...r, freq: 'DAILY' }, '2027-02-16'), '2027-02-16')
})
