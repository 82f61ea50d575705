import { store, stored } from '../lib/stored'

/** The width of an hour, relative to the best fit. */
class Zoom {
  #key: string
  #levels: number[]
  #level = $state(0)
  factor = $derived.by(() => this.#levels[this.#level]!)
  least = $derived(this.#level === 0)
  most = $derived.by(() => this.#level === this.#levels.length - 1)

  constructor(key: string, levels: number[]) {
    this.#key = key
    this.#levels = levels
    const level = Number(stored(key) ?? levels.indexOf(1))
    this.#level = level in levels ? level : levels.indexOf(1)
  }

  by(steps: number) {
    this.#level = Math.min(this.#levels.length - 1, Math.max(0, this.#level + steps))
    store(this.#key, String(this.#level))
  }
}

/** For a day, half of which fits, and for several days side by side, which all fit. */
export const zooms = {
  day: new Zoom('punctual.zoom', [0.6, 0.8, 1, 1.4, 2, 3]),
  days: new Zoom('punctual.zoom.days', [1, 1.4, 2, 3]),
}
