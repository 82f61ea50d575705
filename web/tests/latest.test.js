import assert from 'node:assert/strict'
import { test } from 'vitest'
import { LatestRequest } from '../src/lib/latest'

test('only the latest request counts, whatever order the answers arrive in', () => {
  const latest = new LatestRequest()
  const first = latest.begin()
  assert.ok(first())
  const second = latest.begin()
  assert.ok(!first())
  assert.ok(second())
  assert.ok(second(), 'asked twice, it is still the latest')
})
