import { router } from '../lib/router.svelte'

/** Whether the command palette is open; everything else of it is loaded when it opens. */
class Palette {
  open = $state(false)

  /** Opens it on Ctrl+K or Cmd+K; returns a function that stops listening. */
  listen(): () => void {
    const pressed = (e: KeyboardEvent) => {
      if (!(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey || e.key.toLowerCase() !== 'k') return
      if (document.querySelector('dialog[open]') && !this.open) return // what is open may not be saved
      e.preventDefault()
      this.open = !this.open
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }

  go(path: string) {
    this.open = false
    router.go(path)
  }
}

export const palette = new Palette()
