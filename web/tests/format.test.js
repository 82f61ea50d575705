import assert from 'node:assert/strict'
import { test, vi } from 'vitest'
import { weekOf } from '../src/day/span'
import * as format from '../src/lib/i18n/format'
import { hoursInWords } from '../src/lib/hours'
import { brief } from '../src/pages/admin/measure'
import { decades, tick } from '../src/lib/charts/ticks'
import { addDays } from '../src/lib/zone'
import { share } from '../src/lib/share'
import { lastWholeDay, wholeDays } from '../src/pages/admin/reports/days'

// Formats ask the page for its language; the tests set it.
const i18n = vi.hoisted(() => ({ tag: '' }))
vi.mock('../src/lib/i18n/index.svelte', () => ({ i18n }))

/** What run returns in a language, with plain spaces. */
function speaking(language, run) {
  i18n.tag = language
  return JSON.parse(JSON.stringify(run()).replaceAll(/[\u00a0\u2009\u202f]/g, ' '))
}

test('every time of day follows the clock of the language', () => {
  const at = '2027-02-10T15:05:00Z'
  const times = () => [
    format.time(at, 'UTC'),
    format.timeRange(at, '2027-02-10T16:05:00Z', 'UTC'),
    format.timeRange(at, '2027-02-11T00:00:00Z', 'UTC'),
    format.timeRange(at, '2027-02-11T16:05:00Z', 'UTC'),
    format.dateTime(at, 'UTC'),
    format.stamp(at, 'UTC'),
    format.clockTime('15:05'),
    format.clockTime('15:00'),
    ...hoursInWords([{ days: ['MO', 'TU', 'WE'], from: '08:00', to: '20:30' }, { days: ['SA'], from: '00:00', to: '24:00' }]).map((h) => h.hours),
  ]
  for (const text of speaking('en-US', times)) {
    assert.match(text, /\d( [AP]M)/, text)
    assert.doesNotMatch(text, /(?<!:)\b(1[3-9]|2\d|0\d):\d\d/, text)
  }
  for (const language of ['en-GB', 'de-DE', 'zh-CN']) {
    for (const text of speaking(language, times)) {
      assert.match(text, /\d\d:\d\d/, text)
      assert.doesNotMatch(text, /[AP]M|上午|下午|\b\d:\d\d/i, text)
    }
  }
})

test('a week begins with the day that the language of the page has it begin with', () => {
  for (const [language, from] of [['en-US', '2027-02-07'], ['en-GB', '2027-02-08'], ['de-DE', '2027-02-08'], ['zh-TW', '2027-02-07'], ['ar-EG', '2027-02-06']]) {
    for (const date of ['2027-02-08', '2027-02-10', '2027-02-12']) {
      i18n.tag = language
      const span = weekOf(date, format.firstWeekday())
      assert.deepEqual(span, { from, to: addDays(from, 7) }, `${language} ${date}`)
    }
  }
  assert.deepEqual(weekOf('2027-02-07', 1), { from: '2027-02-01', to: '2027-02-08' })
  assert.deepEqual(weekOf('2027-02-07', 7), { from: '2027-02-07', to: '2027-02-14' })
})

test('opening hours in words', () => {
  const hours = [
    { days: ['MO', 'TU', 'WE', 'TH', 'FR'], from: '08:00', to: '20:00' },
    { days: ['SA', 'SU'], from: '09:30', to: '24:00' },
  ]
  assert.deepEqual(speaking('en-US', () => hoursInWords(hours)), [
    { days: 'Mon – Fri', hours: '8 AM – 8 PM' },
    { days: 'Sat, Sun', hours: '9:30 AM – 12 AM' },
  ])
  assert.deepEqual(speaking('de-DE', () => hoursInWords(hours)), [
    { days: 'Mo – Fr', hours: '08:00 – 20:00' },
    { days: 'Sa, So', hours: '09:30 – 00:00' },
  ])
})

test('no two grid lines of an axis have the same label', () => {
  i18n.tag = 'en-US'
  for (const values of [[16, 18.2], [0.0004, 0.02], [9, 11, 10.4], [59, 61, 3599], [0.1], [3, null, 0]]) {
    const { min, max } = decades(values)
    assert.ok(min <= Math.min(...values.filter(Boolean)) && max >= Math.max(...values) && max >= min * 10, `${values}: ${min} to ${max}`)
    const lines = []
    for (let power = min; power <= max * 1.001; power *= 10) for (const n of [1, 1.5, 2, 3, 5]) lines.push(n * power)
    const labels = lines.map((v, i) => tick(v, lines[i - 1], { log: true, format: brief })).filter(Boolean)
    assert.equal(new Set(labels).size, labels.length, labels.join(' '))
    assert.ok(labels.length >= 2, `${values}: ${labels}`)
  }
  const whole = { format: (n) => String(Math.round(n)) }
  assert.deepEqual([0, 0.4, 1, 1.4, 2].map((v, i, all) => tick(v, all[i - 1], whole)), ['0', '', '1', '', '2'])
  assert.deepEqual(decades([null, 0]), {})
})

test('a room that is always open counts 24 hours', () => {
  assert.equal(share(90, 0), 0.0625)
  assert.equal(share(90, 600), 0.15)
  assert.equal(share(700, 600), 1)
})

test('the days of a report are whole days of the rooms', () => {
  const zones = ['Europe/Berlin', 'Asia/Shanghai']
  // 23:30 in London: Berlin and Shanghai have the next date, and only what is over everywhere counts.
  const late = new Date('2026-11-22T23:30:00Z')
  assert.equal(lastWholeDay('2026-11-22', zones, late), '2026-11-22')
  assert.equal(lastWholeDay('2026-11-22', ['America/New_York', ...zones], late), '2026-11-21')
  assert.equal(lastWholeDay('2026-11-20', zones, late), '2026-11-20')
  assert.equal(lastWholeDay('2026-11-22', [], late), '2026-11-22')

  const span = wholeDays({ from: '2026-11-15T00:00:00Z', to: '2026-11-22T00:00:00Z' })
  assert.deepEqual(span, { from: '2026-11-14T00:00:00.000Z', to: '2026-11-23T00:00:00.000Z' })
  const year = wholeDays({ from: '2025-11-21T12:00:00Z', to: '2026-11-22T00:00:00Z' }) // the API reports on 366 days
  assert.equal(Date.parse(year.to) - Date.parse(year.from), 366 * 86_400_000)
})
