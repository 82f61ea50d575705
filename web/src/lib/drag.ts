// Drags with mouse, pen and touch. A mouse drag begins after a small movement; a touch drag begins after
// a long press, so that swiping still scrolls.

const far = 4 // pixels until a press becomes a drag
const rest = 350 // ms of a long press
const margin = 36 // distance in pixels from the edge at which scrolling begins

export interface Dragging {
  /** Called when the press becomes a drag. */
  begin?: (at: PointerEvent) => void
  /** Called for each move, and when the content below scrolled. */
  move: (at: { clientX: number; clientY: number }) => void
  /** Called on release, at the position of the last move. */
  drop: () => void
  /** Called on Escape, or when the system takes the pointer. The drag must have no effect. */
  cancel: () => void
  /** Called on release without a drag. */
  tap?: (at: PointerEvent) => void
  /** The element that scrolls while the pointer is near its edge. */
  scroller?: HTMLElement
}

/** Follows a pointer from its press. Returns a function that cancels it without effect. */
export function drag(pressed: PointerEvent, d: Dragging): () => void {
  const touch = pressed.pointerType === 'touch'
  let dragging = false
  let last: { clientX: number; clientY: number } = pressed
  let resting: ReturnType<typeof setTimeout> | undefined
  let frame = 0

  const begin = (e: PointerEvent) => {
    dragging = true
    held = true
    d.begin?.(e)
    getSelection()?.removeAllRanges()
    frame = requestAnimationFrame(creep)
  }
  const end = () => {
    clearTimeout(resting)
    cancelAnimationFrame(frame)
    removeEventListener('pointermove', moved)
    removeEventListener('pointerup', released)
    removeEventListener('pointercancel', cancelled)
    removeEventListener('keydown', escaped, true)
    removeEventListener('touchmove', unmoved)
    removeEventListener('contextmenu', menu)
    held = false
    removeEventListener('blur', cancelled)
  }
  const moved = (e: PointerEvent) => {
    if (e.pointerId !== pressed.pointerId) return
    const away = Math.hypot(e.clientX - pressed.clientX, e.clientY - pressed.clientY) >= far
    if (!dragging) {
      if (!away) return
      if (touch) return end() // it scrolls
      begin(e)
    }
    last = e
    d.move(e)
  }
  const released = (e: PointerEvent) => {
    if (e.pointerId !== pressed.pointerId) return
    end()
    if (dragging) {
      swallowClick()
      d.drop()
    } else {
      d.tap?.(e)
    }
  }
  const cancelled = () => {
    end()
    if (dragging) d.cancel()
  }
  const escaped = (e: KeyboardEvent) => {
    if (e.key !== 'Escape' || !dragging) return
    e.preventDefault()
    e.stopPropagation()
    // The button is still pressed: its click event follows the release.
    addEventListener('pointerup', swallowClick, { capture: true, once: true })
    cancelled()
  }
  const unmoved = (e: TouchEvent) => {
    if (dragging && e.cancelable) e.preventDefault()
  }
  // A long press on a link opens its context menu.
  const menu = (e: Event) => e.preventDefault()
  const creep = () => {
    frame = requestAnimationFrame(creep)
    const el = d.scroller
    if (!el) return
    const box = el.getBoundingClientRect()
    const by = (at: number, from: number, to: number) => (at < from + margin ? -1 : at > to - margin ? 1 : 0) * 9
    const { scrollLeft, scrollTop } = el
    el.scrollBy(by(last.clientX, box.left, box.right), by(last.clientY, box.top, box.bottom))
    if (el.scrollLeft !== scrollLeft || el.scrollTop !== scrollTop) d.move(last)
  }

  addEventListener('pointermove', moved)
  addEventListener('pointerup', released)
  addEventListener('pointercancel', cancelled)
  addEventListener('keydown', escaped, true)
  addEventListener('blur', cancelled)
  if (touch) {
    addEventListener('touchmove', unmoved, { passive: false })
    addEventListener('contextmenu', menu)
    resting = setTimeout(() => {
      begin(pressed)
      d.move(pressed)
    }, rest)
  }
  return cancelled
}

let held = false

/**
 * Prevents scrolling while something in the element is dragged; attach it to the scrolling
 * element. Browsers that check for listeners before the press find it in time.
 */
export function still(el: HTMLElement) {
  const moved = (e: TouchEvent) => {
    if (held && e.cancelable) e.preventDefault()
  }
  el.addEventListener('touchmove', moved, { passive: false })
  return () => el.removeEventListener('touchmove', moved)
}

/** Suppresses the click that follows a drag. */
function swallowClick() {
  const swallow = (e: MouseEvent) => {
    e.preventDefault()
    e.stopPropagation()
  }
  addEventListener('click', swallow, { capture: true, once: true })
  setTimeout(() => removeEventListener('click', swallow, { capture: true }))
}
