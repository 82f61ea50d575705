import { toasts } from '../lib/toast.svelte'

/** The way back from the last change, until it was gone. */
let last: (() => void) | undefined

/**
 * Keeps the way back from a change that was just made; none: there is no way. What was told of a change
 * before offers none any more.
 */
export function remember(back: (() => void) | undefined) {
  last = back
  toasts.withdraw(undo)
}

/** Takes the last change back. */
export function undo() {
  const back = last
  remember(undefined)
  back?.()
}
