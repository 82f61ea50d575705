// The service worker of the page at a door: with it a screen that is switched on, or loads its
// page anew, shows its day also while the network is away. It keeps the page's own files, which
// are listed above when it is built, and nothing else: what the server tells, the page itself
// keeps. For every other page of this origin it does nothing.

const cacheName = `door ${version}`
const patience = 4000 // then the network counts as away

self.addEventListener('install', (event) => {
  event.waitUntil(
    caches
      .open(cacheName)
      .then((cache) => cache.addAll(files.map((file) => new Request(file, { cache: 'reload' }))))
      .then(() => self.skipWaiting()),
  )
})

self.addEventListener('activate', (event) => {
  const clear = async () => {
    for (const name of await caches.keys()) {
      if (name.startsWith('door ') && name !== cacheName) await caches.delete(name)
    }
    await self.clients.claim()
  }
  event.waitUntil(clear())
})

self.addEventListener('fetch', (event) => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (request.method !== 'GET' || origin !== location.origin) return
  if (request.mode === 'navigate') event.respondWith(page(request))
  else if (pathname !== '/door' && files.includes(pathname)) event.respondWith(file(request, pathname))
})

/** The page from the server; as it was kept, if there is no answer. */
async function page(request) {
  try {
    const answer = await fetch(request, { signal: AbortSignal.timeout(patience) })
    if (answer.status < 500) return answer
  } catch {
    // The network is away.
  }
  return (await caches.match('/door', { cacheName })) ?? Response.error()
}

/** Files have their content in their name, but for the few that hardly change. */
async function file(request, pathname) {
  return (await caches.match(pathname, { cacheName })) ?? fetch(request)
}
