const key = 'punctual.start'

interface Kept {
  mailed?: boolean
  backedUp?: boolean
  hidden?: boolean
}

function read(): Kept {
  try {
    return JSON.parse(localStorage.getItem(key) ?? '{}') as Kept
  } catch {
    return {}
  }
}

/** What an admin did or confirmed during set-up, in this browser. */
class Remembered {
  #kept = $state.raw(read())

  get mailed() {
    return this.#kept.mailed ?? false
  }
  get backedUp() {
    return this.#kept.backedUp ?? false
  }
  /** Whether the navigation leaves out the page. */
  get hidden() {
    return this.#kept.hidden ?? false
  }

  set(what: keyof Kept, to = true) {
    this.#kept = { ...this.#kept, [what]: to }
    try {
      localStorage.setItem(key, JSON.stringify(this.#kept))
    } catch {
      // Without storage it lasts until the page is closed.
    }
  }
}

export const remembered = new Remembered()
