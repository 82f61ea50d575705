import type { GridRoom } from '../lib/api/client'
import { drag } from '../lib/drag'
import { mayEdit, mayExtend } from '../lib/requests.svelte'
import { day } from './day.svelte'
import { lengthOf, type Stretch } from './dayAxis'
import type { Planner } from './gridPlanner.svelte'
import { targetOf } from './gridTarget'
import type { Viewport } from './gridViewport.svelte'
import { layoutOf, snapped, stepOf } from './layout'
import { drawn, moved, stretched, taken } from './plan'

/** Mouse, pen and touch on the grid: a drag draws, moves or resizes a meeting; a click opens or books. */
export class GridPointer {
  #view: Viewport
  #planner: Planner

  constructor(view: Viewport, planner: Planner) {
    this.#view = view
    this.#planner = planner
  }

  pressed(e: PointerEvent) {
    if (e.button || !e.isPrimary || this.#planner.byKeys) return
    const { room, meeting, edge, name } = targetOf(e.target as Element)
    if (!room || name) return
    if (meeting && !mayEdit(meeting) && !(edge === 'end' && mayExtend(meeting))) return
    const [view, planner] = [this.#view, this.#planner]
    const anchor = view.minuteAt(e.clientX)
    const kind = edge ?? 'move'
    drag(e, {
      scroller: view.scroller,
      begin: () => {
        planner.plan = meeting ? taken(kind, meeting, room) : drawn(room, anchor, anchor)
        if (e.pointerType === 'touch' && navigator.userActivation?.hasBeenActive) navigator.vibrate?.(8)
      },
      move: ({ clientX, clientY }) => {
        const at = view.minuteAt(clientX)
        if (!meeting) planner.plan = drawn(room, anchor, at)
        else if (kind === 'move') planner.plan = moved(planner.plan!, view.roomAt(clientY), at - anchor)
        else planner.plan = stretched(planner.plan!, at)
      },
      drop: () => void planner.carryOut(),
      cancel: () => planner.cancel(),
    })
  }

  clicked(e: MouseEvent) {
    const { room, meeting, name } = targetOf(e.target as Element)
    if (!room || this.#planner.byKeys) return
    if (meeting) return this.#planner.open(meeting)
    if (!name) return void this.#planner.book(room, slotAt(room, this.#view.minuteAt(e.clientX)))
    if ((e.target as Element).closest('[data-book]')) void this.#planner.book(room)
  }

  /** Prevents scrolling during a touch drag. Attached early: browsers ask only listeners that exist before the touch. */
  attach = (el: HTMLElement) => {
    const moves = (e: TouchEvent) => {
      if (this.#planner.plan && e.cancelable) e.preventDefault()
    }
    el.addEventListener('touchmove', moves, { passive: false })
    return () => el.removeEventListener('touchmove', moves)
  }
}

/** Returns the time that a click at a minute books: an hour, or the room's step, cut to the gap between meetings. */
export function slotAt(room: GridRoom, minute: number): Stretch {
  const { placed } = layoutOf(room, day.of(room), day.axis)
  const unit = Math.max(30, stepOf(room))
  const before = Math.max(0, ...placed.filter((p) => p.to <= minute).map((p) => p.to))
  const after = Math.min(lengthOf(day.axis), ...placed.filter((p) => p.from > minute).map((p) => p.from))
  const from = Math.max(before, snapped(minute, room, day.axis, unit, Math.floor))
  return { from, to: Math.min(after, from + Math.max(60, unit)) }
}
