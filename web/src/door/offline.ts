// The page is there after a reload without the network, and renews itself after an update.

const hour = 3_600_000
const rarely = 600_000 // whatever goes wrong, the page is not loaded anew more often

/** Lets a service worker keep the files of this page: see worker.js. Only over https, or on this machine. */
export function keepForReload() {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return
  navigator.serviceWorker
    .register('/door-worker.js', { scope: '/door', updateViaCache: 'none' })
    .catch(() => {}) // it works without, but for a reload while the network is down
}

let asked = 0

/**
 * Loads the page anew if the server has another version of it: a screen runs for months. Asks at
 * most once an hour, or at once if `now`: after the server was away.
 */
export async function renew(now: boolean, idle: () => boolean) {
  if (!import.meta.env.PROD || (!now && Date.now() - asked < hour)) return
  asked = Date.now()
  const script = document.querySelector<HTMLScriptElement>('script[type=module]')?.getAttribute('src')
  const answer = await fetch('/door', { cache: 'no-store' })
  if (!script || !answer.ok || (await answer.text()).includes(script)) return
  if (!idle() || Date.now() - performance.timeOrigin < rarely) {
    asked = 0 // the next time
    return
  }
  location.reload()
}
