export interface Toast {
  id: number
  text: string
  tone: 'good' | 'bad'
  action?: { label: string; run: () => void }
  /** How many milliseconds the action is offered; undefined: as long as the message is shown. */
  offered?: number
}

class Toasts {
  list = $state.raw<Toast[]>([])
  #last = 0
  #timers = new Map<number, { left: number; since: number; timer?: ReturnType<typeof setTimeout> }>()
  #held = false

  /** Shows a short message for 5 seconds, or 9 if it reports an error or offers an action, or as long as that is offered. */
  show(text: string, tone: Toast['tone'] = 'good', action?: Toast['action'], offered?: number) {
    const id = ++this.#last
    this.list = [...this.list.slice(-2), { id, text, tone, action, offered }]
    this.#timers.set(id, { left: offered ?? (action || tone === 'bad' ? 9000 : 5000), since: 0 })
    if (!this.#held) this.#start(id)
  }

  /** Removes an action from the messages that offer it. */
  withdraw(run: () => void) {
    if (this.list.every((t) => t.action?.run !== run)) return
    for (const t of this.list) if (t.action?.run === run) this.#shorten(t.id)
    this.list = this.list.map((t) => (t.action?.run === run ? { ...t, action: undefined } : t))
  }

  dismiss(id: number) {
    clearTimeout(this.#timers.get(id)?.timer)
    this.#timers.delete(id)
    this.list = this.list.filter((t) => t.id !== id)
    if (!this.list.length) this.#held = false
  }

  /** Pauses the timers of all messages while one has the pointer or the focus. */
  hold(held: boolean) {
    if (held === this.#held) return
    this.#held = held
    for (const [id, t] of this.#timers) {
      if (!held) this.#start(id)
      else {
        clearTimeout(t.timer)
        t.left = Math.max(1000, t.left - (Date.now() - t.since))
      }
    }
  }

  /** Leaves a message that no longer offers anything a second, so that it can be read. */
  #shorten(id: number) {
    const t = this.#timers.get(id)!
    clearTimeout(t.timer)
    t.left = 1000
    if (!this.#held) this.#start(id)
  }

  #start(id: number) {
    const t = this.#timers.get(id)!
    t.since = Date.now()
    t.timer = setTimeout(() => this.dismiss(id), t.left)
  }
}

export const toasts = new Toasts()
