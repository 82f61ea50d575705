import { i18n } from '../lib/i18n/index.svelte'
import { mayEdit, mayExtend } from '../lib/requests.svelte'
import { titleOf } from '../meeting/title'
import { walk, type Place } from './cursor'
import { day } from './day.svelte'
import { dayLength, drawnDay, lengthOf } from './dayAxis'
import type { GridFocus } from './gridFocus.svelte'
import type { Planner } from './gridPlanner.svelte'
import type { Viewport } from './gridViewport.svelte'
import { stepOf, type Stop } from './layout'
import { moved, obstacle, onStep, rangeOf, stretched, taken, type Plan } from './plan'

const kinds: Record<string, 'move' | 'start' | 'end' | undefined> = { m: 'move', e: 'end', s: 'start' }

/** Keyboard control of the grid: keys move between cells, select a time, and move or resize a meeting. */
export class GridKeys {
  #view: Viewport
  #focus: GridFocus
  #planner: Planner

  constructor(view: Viewport, focus: GridFocus, planner: Planner) {
    this.#view = view
    this.#focus = focus
    this.#planner = planner
  }

  pressed(e: KeyboardEvent) {
    const { here, cursor } = this.#focus
    if (e.target === this.#view.scroller || !here) return
    if (this.#planner.byKeys) return this.#plan(e)
    if ((e.key === 'Enter' || e.key === ' ') && (e.target as Element).closest('a')) return
    const act = this.#action(e, here)
    if (act) {
      e.preventDefault()
      return act()
    }
    const to = !modified(e) && walk(e, cursor, here)
    if (!to) return
    e.preventDefault()
    void this.#focus.go(to)
  }

  /** Runs the action of a key at a position, if the key does not move the cursor. */
  #action(e: KeyboardEvent, { room, stop, index }: Place): (() => void) | undefined {
    if (modified(e)) return undefined
    const planner = this.#planner
    const press = e.key === 'Enter' || e.key === ' '
    if (stop === 'head') return press ? () => void planner.book(room) : undefined
    const { meeting } = stop
    if (!meeting) {
      if (press) return () => void planner.book(room, stop)
      if (e.shiftKey && (e.key === 'ArrowRight' || e.key === 'ArrowLeft')) return () => this.#select(index, stop, e.key === 'ArrowRight' ? 1 : -1)
      if (e.key === 'Escape' && this.#focus.cursor.to) return () => (this.#focus.cursor = { ...this.#focus.cursor, to: undefined })
      return undefined
    }
    if (press) return () => planner.open(meeting)
    const kind = kinds[e.key.toLowerCase()]
    if (!kind) return undefined
    const t = i18n.t.grid
    if (!mayEdit(meeting) && !(kind === 'end' && mayExtend(meeting))) return () => planner.announce(t.notYours)
    return () => {
      planner.plan = taken(kind, meeting, room)
      planner.byKeys = true
      planner.announce(`${{ move: t.moving, end: t.ending, start: t.starting }[kind](titleOf(meeting))} ${t.howToDrop}`)
    }
  }

  /** Makes the selected time longer or shorter. */
  #select(index: number, stop: Stop, by: number) {
    const room = day.rooms[index]!
    const step = stepOf(room)
    const to = Math.min(lengthOf(day.axis), Math.max(stop.from + step, onStep(room, stop.to, Math.floor) + by * step))
    this.#focus.cursor = { ...this.#focus.cursor, at: stop.from, to }
    const plan: Plan = { kind: 'draw', room, from: stop.from, to }
    this.#planner.announce([rangeOf(plan), obstacle(plan, this.#planner.now)].filter(Boolean).join('. '))
    this.#view.reveal(index, { from: to - step, to })
  }

  /** Changes, applies or discards the plan. */
  #plan(e: KeyboardEvent) {
    const planner = this.#planner
    if (e.key === 'Tab') return planner.cancel(true) // the focus moves on
    e.preventDefault()
    if (e.key === 'Escape') return planner.cancel(true)
    if (e.key === 'Enter' || e.key === ' ') return void planner.carryOut()
    const plan = next(planner.plan!, e.key, e.shiftKey)
    if (!plan) return
    planner.plan = plan
    planner.announce([plan.room.name, rangeOf(plan), obstacle(plan, planner.now)].filter(Boolean).join(', '))
    this.#view.reveal(day.rooms.indexOf(plan.room), plan)
  }
}

/** Reports whether a held modifier leaves the key to the browser. Ctrl belongs to Home and End. */
function modified(e: KeyboardEvent): boolean {
  return e.altKey || e.metaKey || (e.ctrlKey && e.key !== 'Home' && e.key !== 'End')
}

/** Returns the plan after a key; undefined if the key does not change it. With Shift, a meeting moves by days if several are shown. */
export function next(p: Plan, key: string, shift = false): Plan | undefined {
  const step = shift && p.kind === 'move' && day.axis.days ? dayLength : stepOf(p.room)
  const sideways = { ArrowLeft: -step, ArrowRight: step }[key]
  const upwards = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10 }[key]
  if (sideways && p.kind !== 'move') return stretched(p, (p.kind === 'start' ? onStep(p.room, p.from, Math.ceil) : onStep(p.room, p.to, Math.floor)) + sideways)
  if (p.kind !== 'move' || (!sideways && !upwards)) return undefined
  const by = p.from - taken('move', p.meeting!, p.home!).from
  if (sideways) return moved(p, p.room, past(p, by, sideways))
  const to = Math.min(day.rooms.length - 1, Math.max(0, day.rooms.indexOf(p.room) + upwards!))
  return moved(p, day.rooms[to]!, by)
}

/** Returns how far the meeting is moved after a step, which skips hours that are not drawn. */
function past(p: Plan, by: number, step: number): number {
  const home = taken('move', p.meeting!, p.home!).from
  const drawn = (at: number) => at >= drawnDay(at, day.axis).from && at < drawnDay(at, day.axis).to
  let to = by + step
  while (drawn(home + by) && home + to > 0 && home + to < lengthOf(day.axis) && !drawn(home + to)) to += step
  return to
}
