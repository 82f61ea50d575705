export interface Toast {
  id: number
  text: string
  tone: 'good' | 'bad'
  action?: { label: string; run: () => void }
}

class Toasts {
  list = $state.raw<Toast[]>([])
  #last = 0

  /** Shows a short message for some seconds; a fault stays longer. */
  show(text: string, tone: Toast['tone'] = 'good', action?: Toast['action']) {
    const id = ++this.#last
    this.list = [...this.list.slice(-2), { id, text, tone, action }]
    setTimeout(() => this.dismiss(id), action || tone === 'bad' ? 9000 : 5000)
  }

  /** Takes an action away from the messages that offer it. */
  withdraw(run: () => void) {
    if (this.list.every((t) => t.action?.run !== run)) return
    this.list = this.list.map((t) => (t.action?.run === run ? { ...t, action: undefined } : t))
  }

  dismiss(id: number) {
    this.list = this.list.filter((t) => t.id !== id)
  }
}

export const toasts = new Toasts()
