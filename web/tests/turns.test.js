import assert from 'node:assert/strict'
import { test } from 'vitest'
import { Turns } from '../src/lib/turns'

test('only the last question counts, in whatever order the answers come', () => {
  const turns = new Turns()
  const first = turns.begin()
  assert.ok(first())
  const second = turns.begin()
  assert.ok(!first())
  assert.ok(second())
  assert.ok(second(), 'asked twice it is still the last')
})
