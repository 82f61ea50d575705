// Makes the page load without the network, and reloads it after an update.

const hour = 3_600_000
const rarely = 600_000 // whatever goes wrong, the page does not reload more often

/** Lets a service worker store the files of this page (see worker.js). Requires https or localhost. */
export function keepForReload() {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return
  navigator.serviceWorker
    .register('/door-worker.js', { scope: '/door', updateViaCache: 'none' })
    .catch(() => {}) // the page works without it, except for a reload while the network is down
}

let asked = 0

/**
 * Reloads the page if the server has another version of it, since a screen runs for months. Checks at
 * most once an hour, or immediately if `now`, for example after the server was unreachable.
 */
export async function renew(now: boolean, idle: () => boolean) {
  if (!import.meta.env.PROD || (!now && Date.now() - asked < hour)) return
  asked = Date.now()
  const script = document.querySelector<HTMLScriptElement>('script[type=module]')?.getAttribute('src')
  const answer = await fetch('/door', { cache: 'no-store' })
  if (!script || !answer.ok || (await answer.text()).includes(script)) return
  if (!idle() || Date.now() - performance.timeOrigin < rarely) {
    asked = 0 // retry at the next call
    return
  }
  location.reload()
}
