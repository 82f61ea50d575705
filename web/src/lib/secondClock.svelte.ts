/** The current time, updated every full second while in use. */
export class SecondClock {
  now = $state.raw(new Date())

  /** Starts the clock; returns a function that stops it. */
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
