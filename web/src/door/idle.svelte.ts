const patience = 30_000

/** Whether somebody uses the screen. After half a minute nobody does, and it goes back to what it showed before. */
class Idle {
  /** Rises each time the screen goes back. */
  home = $state(0)
  #touched = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  /** Watches, until the returned function is called. */
  watch(): () => void {
    const touched = () => {
      this.#touched = Date.now()
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => this.home++, patience)
    }
    const events = ['pointerdown', 'keydown', 'wheel'] as const
    for (const e of events) addEventListener(e, touched, { passive: true })
    return () => {
      clearTimeout(this.#timer)
      for (const e of events) removeEventListener(e, touched)
    }
  }

  get now(): boolean {
    return Date.now() - this.#touched > patience
  }
}

export const idle = new Idle()
