// The service worker of the door page. With it, a screen that is switched on or reloaded shows its
// day while the network is away. It stores only the page's own files, listed above at build
// time. The page itself stores the server's data.
// The worker does nothing for other pages of this origin.

const cacheName = `door ${version}`
const patience = 4000 // after this the network counts as down

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

/** Returns the page from the server; without an answer, the stored one. */
async function page(request) {
  try {
    const answer = await fetch(request, { signal: AbortSignal.timeout(patience) })
    if (answer.status < 500) return answer
  } catch {
    // The network is down.
  }
  return (await caches.match('/door', { cacheName })) ?? Response.error()
}

/** File names contain a content hash, except for a few that rarely change. */
async function file(request, pathname) {
  return (await caches.match(pathname, { cacheName })) ?? fetch(request)
}
