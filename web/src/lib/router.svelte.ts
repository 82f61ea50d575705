// Paths of the History API; the server answers index.html for all of them.

class Router {
  path = $state(location.pathname)
  query = $state.raw(new URLSearchParams(location.search))

  constructor() {
    addEventListener('popstate', () => this.#read())
    document.addEventListener('click', (e) => this.#click(e))
  }

  #read() {
    this.path = location.pathname
    this.query = new URLSearchParams(location.search)
  }

  /** Goes to another path of the application. */
  go(to: string, { replace = false } = {}) {
    if (to === location.pathname + location.search) return
    if (replace) history.replaceState(null, '', to)
    else history.pushState(null, '', to)
    this.#read()
  }

  /** Keeps a value in the address without a new entry in the history; "" removes it. */
  keep(values: Record<string, string>) {
    const q = new URLSearchParams(location.search)
    for (const [k, v] of Object.entries(values)) {
      if (v) q.set(k, v)
      else q.delete(k)
    }
    const text = q.toString()
    this.go(location.pathname + (text ? '?' + text : ''), { replace: true })
  }

  #click(e: MouseEvent) {
    if (e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return
    const a = (e.target as Element).closest?.('a[href]') as HTMLAnchorElement | null
    if (!a || a.target || a.hasAttribute('download') || a.origin !== location.origin) return
    if (/^\/(docs|openapi\.json|api\/)/.test(a.pathname)) return
    e.preventDefault()
    this.go(a.pathname + a.search)
  }
}

export const router = new Router()
