import { MediaQuery } from 'svelte/reactivity'
import { store, stored } from '../lib/stored'

const key = 'punctual.calendar'

/** The calendar beside the views of rooms: there is room for it on a desk, and the user may hide it. */
class Sidebar {
  #wide = new MediaQuery('min-width: 1280px')
  #hidden = $state(stored(key) === 'hidden')
  possible = $derived(this.#wide.current)
  shown = $derived(this.possible && !this.#hidden)

  toggle() {
    this.#hidden = !this.#hidden
    store(key, this.#hidden ? 'hidden' : '')
  }
}

export const sidebar = new Sidebar()
