/** The present, moving in steps of ten seconds: what the page calls "now". */
class Clock {
  now = $state.raw(new Date())

  constructor() {
    setInterval(() => (this.now = new Date()), 10_000)
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) this.now = new Date()
    })
  }
}

export const clock = new Clock()

/**
 * Runs fn every `every` ms while the page is visible, and at once when it becomes visible,
 * gets the focus or the network back. Returns what stops it.
 */
export function poll(fn: () => unknown, every = 15_000): () => void {
  const run = () => {
    if (!document.hidden) fn()
  }
  const timer = setInterval(run, every)
  addEventListener('focus', run)
  addEventListener('online', run)
  document.addEventListener('visibilitychange', run)
  return () => {
    clearInterval(timer)
    removeEventListener('focus', run)
    removeEventListener('online', run)
    document.removeEventListener('visibilitychange', run)
  }
}
