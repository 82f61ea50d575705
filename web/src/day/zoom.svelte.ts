const key = 'punctual.zoom'
const levels = [0.6, 0.8, 1, 1.4, 2, 3]
const usual = 2

/** The width of an hour, relative to the best fit. */
class Zoom {
  #level = $state(read())
  factor = $derived(levels[this.#level]!)
  least = $derived(this.#level === 0)
  most = $derived(this.#level === levels.length - 1)

  by(steps: number) {
    this.#level = Math.min(levels.length - 1, Math.max(0, this.#level + steps))
    try {
      localStorage.setItem(key, String(this.#level))
    } catch {
      // Without storage it lasts until the page is closed.
    }
  }
}

function read(): number {
  try {
    const level = Number(localStorage.getItem(key) ?? usual)
    return level in levels ? level : usual
  } catch {
    return usual
  }
}

export const zoom = new Zoom()
