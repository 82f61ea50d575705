import { toasts } from '../lib/toast.svelte'

/** Undoes the last change; undefined if there is none. */
let last: (() => void) | undefined

/**
 * Stores how to undo the latest change; undefined: it cannot be undone. Messages about earlier changes
 * no longer offer an undo.
 */
export function remember(back: (() => void) | undefined) {
  last = back
  toasts.withdraw(undo)
}

/** Undoes the last change. */
export function undo() {
  const back = last
  remember(undefined)
  back?.()
}
