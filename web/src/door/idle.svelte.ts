const patience = 30_000

/** Whether somebody uses the screen. After 30 seconds without input the screen is idle and returns to its default view. */
class Idle {
  /** Increases each time the screen becomes idle. */
  home = $state(0)
  #touched = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  /** Watches for input until the returned function is called. */
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
