// @vitest-environment happy-dom
import { flushSync } from 'svelte'
import { expect, test } from 'vitest'
import { watch } from '../src/lib/watch.svelte'

test('watch acts when its value changes, not when something changes that the action reads', () => {
  let value = $state(1)
  let other = $state('a')
  const calls: string[] = []
  const stop = $effect.root(() => {
    watch(
      () => value,
      (v) => {
        calls.push(`${v}${other}`)
        return () => calls.push(`end of ${v}`)
      },
    )
  })
  flushSync()
  expect(calls).toEqual(['1a'])
  other = 'b'
  flushSync()
  expect(calls).toEqual(['1a'])
  value = 2
  flushSync()
  expect(calls).toEqual(['1a', 'end of 1', '2b'])
  stop()
  expect(calls.at(-1)).toBe('end of 2')
})
