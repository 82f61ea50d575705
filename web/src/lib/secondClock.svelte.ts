/** The present, moving with each second that begins, while somebody looks. */
export class SecondClock {
  now = $state.raw(new Date())

  /** Returns what stops it. */
  run(): () => void {
    let timer: ReturnType<typeof setTimeout>
    const tick = () => {
      if (!document.hidden) this.now = new Date()
      timer = setTimeout(tick, 1000 - (Date.now() % 1000))
    }
    tick()
    return () => clearTimeout(timer)
  }
}
