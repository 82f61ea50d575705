// Paths of the History API; the server answers index.html for all of them.

const overlay = /^\/meetings\/\d+$/ // opens above a page, which stays as it is

class Router {
  path = $state(location.pathname)
  query = $state.raw(new URLSearchParams(location.search))
  /** Where the user wants to go, while the page asks whether to discard unsaved changes. */
  leaving = $state.raw<{ to: string; replace: boolean } | null>(null)

  #page = location.pathname + location.search
  #unsaved = new Set<() => boolean>()

  constructor() {
    if (overlay.test(location.pathname)) this.#page = '/'
    addEventListener('popstate', () => this.#pop())
    // Browsers ask only after an interaction with the page.
    addEventListener('beforeunload', (e) => this.#dirty() && navigator.userActivation.hasBeenActive && e.preventDefault())
    document.addEventListener('click', (e) => this.#click(e))
  }

  #read() {
    this.path = location.pathname
    this.query = new URLSearchParams(location.search)
    if (!overlay.test(this.path)) this.#page = location.pathname + location.search
  }

  /** Asks before a page is left while `unsaved` reports changes, until the returned function is called. */
  guard(unsaved: () => boolean): () => void {
    this.#unsaved.add(unsaved)
    return () => this.#unsaved.delete(unsaved)
  }

  #dirty = () => [...this.#unsaved].some((unsaved) => unsaved())

  /** Reports whether going there closes a page with unsaved changes. */
  #loses(to: URL): boolean {
    const page = new URL(this.#page, location.origin)
    return to.pathname !== page.pathname && !overlay.test(to.pathname) && this.#dirty()
  }

  /** Navigates to another path of the application. */
  go(to: string, { replace = false, discard = false } = {}) {
    if (to === location.pathname + location.search) return
    if (!discard && this.#loses(new URL(to, location.origin))) {
      this.leaving = { to, replace }
      return
    }
    if (replace) history.replaceState(null, '', to)
    else history.pushState(null, '', to)
    this.#read()
  }

  /** Stays on the page, or leaves it and discards the changes. */
  answer(leave: boolean) {
    const asked = this.leaving
    this.leaving = null
    if (leave && asked) this.go(asked.to, { replace: asked.replace, discard: true })
  }

  // The browser has already navigated: restore the address until the user has answered.
  #pop() {
    if (this.#loses(new URL(location.href))) {
      this.leaving = { to: location.pathname + location.search, replace: false }
      history.pushState(null, '', this.#page)
    }
    this.#read()
  }

  /** Stores a value in the address without a new history entry; "" removes it. */
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
    if (/^\/(docs|openapi\.json|api\/|auth\/)/.test(a.pathname)) return
    e.preventDefault()
    this.go(a.pathname + a.search)
  }
}

export const router = new Router()
