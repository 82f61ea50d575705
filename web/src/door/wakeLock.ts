/** Keeps the screen on while the page is seen, where the browser can: over https, or on this machine. */
export function stayAwake(): () => void {
  let lock: WakeLockSentinel | undefined
  let wanted = true
  const ask = async () => {
    if (!wanted || document.hidden || !('wakeLock' in navigator)) return
    try {
      lock = await navigator.wakeLock.request('screen') // ends by itself when the page is hidden
      if (!wanted) await lock.release()
    } catch {
      // The battery is low, or it is forbidden: the device's own settings hold.
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
