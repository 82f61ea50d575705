/**
 * Makes the links and buttons marked data-cell in the rows of a grid a single tab stop with arrow
 * keys between them. `beyond` is called for the cells above and below (rows) or
 * before and after (columns).
 */
export function roving(beyond?: (rows: number, columns: number) => void) {
  return (grid: HTMLElement) => {
    const cells = () => [...grid.querySelectorAll('[role=row]')].map((row) => [...row.querySelectorAll<HTMLElement>('[data-cell]')]).filter((r) => r.length)
    let stop: HTMLElement | undefined

    const take = (el: HTMLElement | undefined) => {
      if (!el || el === stop) return
      stop?.setAttribute('tabindex', '-1')
      el.setAttribute('tabindex', '0')
      stop = el
    }
    // The tab stop may be redrawn; without one the Tab key would skip the grid.
    const mend = () => {
      if (stop?.isConnected && grid.contains(stop)) return
      stop = undefined
      take(grid.querySelector<HTMLElement>('[data-cell][data-first]') ?? grid.querySelector<HTMLElement>('[data-cell]') ?? undefined)
    }
    const focused = (e: FocusEvent) => take((e.target as Element).closest<HTMLElement>('[data-cell]') ?? undefined)
    const pressed = (e: KeyboardEvent) => {
      const at = (e.target as Element).closest<HTMLElement>('[data-cell]')
      if (!at || e.altKey || e.metaKey) return
      const rows = cells()
      const row = rows.findIndex((r) => r.includes(at))
      const column = rows[row]!.indexOf(at)
      const goes: Record<string, [number, number]> = {
        ArrowUp: [row - 1, column],
        ArrowDown: [row + 1, column],
        ArrowLeft: [row, column - 1],
        ArrowRight: [row, column + 1],
        Home: [e.ctrlKey ? 0 : row, 0],
        End: [e.ctrlKey ? rows.length - 1 : row, rows[row]!.length - 1],
      }
      const to = goes[e.key]
      if (to) {
        const next = rows[to[0]]?.[to[1]]
        if (next) {
          next.focus()
          next.scrollIntoView({ block: 'nearest', inline: 'nearest' })
        } else {
          beyond?.(Math.sign(to[0] - row), Math.sign(to[1] - column))
        }
      } else if (e.key === 'PageUp' || e.key === 'PageDown') {
        if (!beyond) return
        beyond(e.key === 'PageUp' ? -2 : 2, 0)
      } else {
        return
      }
      e.preventDefault()
    }
    mend()
    const observer = new MutationObserver(mend)
    observer.observe(grid, { childList: true, subtree: true })
    grid.addEventListener('focusin', focused)
    grid.addEventListener('keydown', pressed)
    return () => {
      observer.disconnect()
      grid.removeEventListener('focusin', focused)
      grid.removeEventListener('keydown', pressed)
    }
  }
}
