// Drags with mouse, pen and finger: a mouse drags once it moved a little, a finger once it rested,
// so that swiping scrolls as ever.

const far = 4 // pixels, before it is a drag and no click
const rest = 350 // ms, of a finger
const margin = 36 // pixels to the edge from which on the scroller moves along

export interface Dragging {
  /** Called when it becomes a drag. */
  begin?: (at: PointerEvent) => void
  /** Called for each move, and when what lies below scrolled. */
  move: (at: { clientX: number; clientY: number }) => void
  /** Let go, there where the last move was. */
  drop: () => void
  /** Escape, or the system took the pointer away. Nothing is to come of it. */
  cancel: () => void
  /** Let go without having been a drag. */
  tap?: (at: PointerEvent) => void
  /** What scrolls while the pointer is near its edge. */
  scroller?: HTMLElement
}

/** Follows a pointer from its press on. Returns what ends it without effect. */
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
    // The button is still down: its click comes when it is let go.
    addEventListener('pointerup', swallowClick, { capture: true, once: true })
    cancelled()
  }
  const unmoved = (e: TouchEvent) => {
    if (dragging && e.cancelable) e.preventDefault()
  }
  // A finger that rests on a link asks for its menu.
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
 * Keeps what is touched from scrolling while something of it is dragged; for the element that
 * scrolls. Browsers that ask before the press whether anybody listens hear of it in time.
 */
export function still(el: HTMLElement) {
  const moved = (e: TouchEvent) => {
    if (held && e.cancelable) e.preventDefault()
  }
  el.addEventListener('touchmove', moved, { passive: false })
  return () => el.removeEventListener('touchmove', moved)
}

/** What was dragged is not clicked. */
function swallowClick() {
  const swallow = (e: MouseEvent) => {
    e.preventDefault()
    e.stopPropagation()
  }
  addEventListener('click', swallow, { capture: true, once: true })
  setTimeout(() => removeEventListener('click', swallow, { capture: true }))
}
