import { vi } from 'vitest'

// Stands in for the API. Import it before the modules that make requests: the client keeps the fetch it finds.

type Handler = (request: Request, query: URLSearchParams) => unknown

const routes = new Map<string, Handler>()

/** The requests since the last {@link reset}: "GET /rooms". */
export const requests: string[] = []

/** Answers a route, such as "GET /rooms", with what the handler returns: a body, or a {@link problem}. */
export function route(name: string, handler: Handler) {
  routes.set(name, handler)
}

export function problem(status: number, code = '', more: object = {}): Response {
  return new Response(JSON.stringify({ status, code, title: code, ...more }), { status, headers: { 'Content-Type': 'application/problem+json' } })
}

/** Removes all routes: every request fails as if the network were down. */
export function reset() {
  routes.clear()
  requests.length = 0
}

vi.stubGlobal('fetch', async (request: Request) => {
  const url = new URL(request.url)
  const name = `${request.method} ${url.pathname.replace('/api/v1', '')}`
  requests.push(name)
  const handler = routes.get(name)
  if (!handler) throw new TypeError('no connection')
  const answer = await handler(request, url.searchParams)
  return answer instanceof Response ? answer : new Response(JSON.stringify(answer ?? {}), { headers: { 'Content-Type': 'application/json' } })
})


/** Hides or shows the page. */
export function hide(hidden: boolean) {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden })
  document.dispatchEvent(new Event('visibilitychange'))
}
