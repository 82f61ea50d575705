const key = 'punctual.shortcuts'

/** Single-key shortcuts. Users of speech input can turn them off. */
class Shortcuts {
  on = $state(read())
  help = $state(false)

  turn(on: boolean) {
    this.on = on
    try {
      if (on) localStorage.removeItem(key)
      else localStorage.setItem(key, 'off')
    } catch {
      // Without storage it lasts until the page is closed.
    }
  }

  /** Runs the action of a key; returns a function that stops listening. A handler that ran before can prevent the default to suppress it. */
  listen(act: (key: string) => (() => void) | undefined): () => void {
    const pressed = (e: KeyboardEvent) => {
      if (!this.on || e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || busy(e)) return
      const run = act(e.key)
      if (!run) return
      e.preventDefault()
      run()
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }
}

/** Reports whether the key belongs to a field or a dialog. */
function busy(e: KeyboardEvent): boolean {
  const at = e.target as Element
  return Boolean(
    at.closest?.('input, textarea, select, [contenteditable], dialog, [popover]:popover-open') || document.querySelector('dialog[open]'),
  )
}

function read(): boolean {
  try {
    return localStorage.getItem(key) !== 'off'
  } catch {
    return true
  }
}

export const shortcuts = new Shortcuts()
