const key = 'punctual.shortcuts'

/** Keys that do something by themselves. Who types by voice can turn them off. */
class Shortcuts {
  on = $state(read())
  help = $state(false)

  turn(on: boolean) {
    this.on = on
    try {
      if (on) localStorage.removeItem(key)
      else localStorage.setItem(key, 'off')
    } catch {
      // It holds until the page is closed.
    }
  }

  /** Does what a key stands for; returns what ends it. Who handles a key first prevents its default. */
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

/** Whether the key belongs to a field or a dialog. */
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
