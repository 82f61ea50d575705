/** The way back from the last change, until it was gone. */
let last: (() => void) | undefined

/** Keeps the way back from a change that was just made; none: there is no way. */
export function remember(back: (() => void) | undefined) {
  last = back
}

/** Takes the last change back. */
export function undo() {
  last?.()
  last = undefined
}
