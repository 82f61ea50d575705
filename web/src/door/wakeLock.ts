/** Keeps the screen on while the page is visible, where the browser supports it: over https or on localhost. */
export function stayAwake(): () => void {
  let lock: WakeLockSentinel | undefined
  let wanted = true
  const ask = async () => {
    if (!wanted || document.hidden || !('wakeLock' in navigator)) return
    try {
      lock = await navigator.wakeLock.request('screen') // released by the browser when the page is hidden
      if (!wanted) await lock.release()
    } catch {
      // The battery is low, or the lock is forbidden: the device's own settings apply.
    }
  }
  document.addEventListener('visibilitychange', ask)
  ask()
  return () => {
    wanted = false
    document.removeEventListener('visibilitychange', ask)
    lock?.release().catch(() => {})
  }
}
