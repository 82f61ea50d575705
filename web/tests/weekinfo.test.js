import assert from 'node:assert/strict'
import { test } from 'vitest'
import { byTerritory, firstDayOf } from '../src/lib/weekinfo'

test('without the browser a week begins as the table says', () => {
  for (const [tag, day] of [['en-US', 7], ['en', 7], ['en-GB', 1], ['de', 1], ['de-AT', 1], ['zh-TW', 7], ['zh-CN', 1], ['ar-EG', 6], ['pt-BR', 7], ['dv', 5], ['und-AQ', 1]]) {
    assert.equal(byTerritory(new Intl.Locale(tag)), day, tag)
  }
})

test('a browser that knows is believed', () => {
  const locale = new Intl.Locale('de-DE')
  const told = (locale.getWeekInfo?.() ?? locale.weekInfo)?.firstDay
  assert.equal(firstDayOf('de-DE'), told ?? 1)
})
