import { untrack } from 'svelte'

/**
 * Calls act with the value of `of`, and again whenever that value changes.
 * State that act reads is not tracked, so a store that reads its own state cannot retrigger itself.
 * A function that act returns is called before the next call and at the end.
 */
export function watch<T>(of: () => T, act: (value: T) => unknown) {
  $effect(() => {
    const value = of()
    const stop = untrack(() => act(value))
    return typeof stop === 'function' ? () => untrack(() => stop()) : undefined
  })
}
