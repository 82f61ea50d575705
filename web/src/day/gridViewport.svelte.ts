import { tick, untrack } from 'svelte'
import type { GridRoom } from '../lib/api/client'
import { day } from './day.svelte'
import { filters } from './filters.svelte'
import { dayLength, drawnDay, lengthOf, minuteAtX, minuteOf, widthOf, xOf, type Stretch } from './dayAxis'
import { lanesOf, opening } from './layout'
import { Rows } from './rows'
import { zooms } from './zoom.svelte'

/** The width of the rooms' names. */
export const labelWidth = 208
/** The height of the hours: a second line shows the other clock, and several dates have names. */
export const headHeightOf = (twoClocks: boolean, several: boolean) => (twoClocks ? 52 : 36) + (several ? 28 : 0)
/** The height of a room without meetings at the same time. */
export const leastRow = (several: boolean) => (several ? 73 : 61)
const leastDay = 104 // pixels of a date beside others
const margin = 320 // pixels around the view in which rows are drawn

/** The visible part of the grid, and the cell at a point of it. */
export class Viewport {
  /** The scrolling element. */
  scroller = $state<HTMLElement>()
  width = $state(0)
  height = $state(0)
  top = $state(0)
  /** The first visible minute. It stays when the scale changes. */
  leftmost = 0

  #now: () => Date
  #shown = ''

  constructor(now: () => Date) {
    this.#now = now
  }

  headHeight = $derived(headHeightOf(filters.otherZone !== '', day.axis.days !== undefined))
  zoom = $derived(day.axis.days ? zooms.days : zooms.day)
  /** Pixels per minute: of a day half is in view, of several days all. */
  scale = $derived.by(() => {
    const { days } = day.axis
    const wide = Math.max(320, this.width - labelWidth)
    if (days) return (Math.max(leastDay * days, wide) / widthOf(day.axis)) * this.zoom.factor
    return Math.max(0.4, (wide / 12 / 60) * this.zoom.factor)
  })
  /** The minutes between two lines of the hours: of several days only as many as there is room for their names. */
  unit = $derived.by(() => (day.axis.days ? ([1, 2, 3, 4, 6, 8].find((hours) => hours * 60 * this.scale >= 52) ?? 12) * 60 : 60))
  rows = $derived.by(() => {
    const lowest = leastRow(day.axis.days !== undefined)
    return new Rows(day.rooms.map((room) => lowest + (lanesOf(room, day.of(room), day.axis) - 1) * 46))
  })
  /** The present as a minute of the axis; outside of the dates if they are past or future. */
  now = $derived.by(() => minuteOf(this.#now(), day.axis))

  /** The rows to draw: those near the view, and the focused one. Sorted, since an element loses the focus when it moves. */
  near(focused: number | undefined): number[] {
    const first = this.rows.at(this.top - margin)
    const last = Math.min(day.rooms.length - 1, this.rows.at(this.top + (this.height || 900) + margin))
    const all: number[] = []
    if (focused !== undefined && focused < first) all.push(focused)
    for (let i = first; i <= last; i++) all.push(i)
    if (focused !== undefined && focused > last) all.push(focused)
    return all
  }

  /** The first shown minute: the opening hour, or a little before now; of several dates the beginning of today. */
  firstMinute(): number {
    const { now } = this
    if (day.axis.days) return drawnDay(now < 0 || now >= lengthOf(day.axis) ? 0 : now, day.axis).from
    const start = opening(day.rooms, day.axis)
    const view = (this.width - labelWidth) / this.scale
    if (now < 0 || now >= dayLength || (now >= start + 30 && now < start + view - 90)) return start
    return Math.max(0, Math.floor((now - Math.min(120, view / 4)) / 30) * 30)
  }

  /** Scrolls to the first minute of a day once, and keeps the hours when the scale changes. For an effect. */
  keepHours() {
    const what = `${day.axis.date} ${day.axis.days} ${day.zone}`
    if (!this.scroller || !this.width || !day.rooms.length) return
    if (this.#shown !== what) untrack(() => (this.leftmost = this.firstMinute()))
    this.#shown = what
    const to = xOf(this.leftmost, day.axis) * this.scale
    tick().then(() => this.scroller && (this.scroller.scrollLeft = to && to - 4))
  }

  scrolled() {
    this.top = this.scroller!.scrollTop
    this.scroller!.style.setProperty('--scroll', `${this.scroller!.scrollLeft}px`)
    this.leftmost = minuteAtX((this.scroller!.scrollLeft + 4) / this.scale, day.axis)
  }

  minuteAt(clientX: number): number {
    return minuteAtX((clientX - this.scroller!.getBoundingClientRect().left + this.scroller!.scrollLeft - labelWidth) / this.scale, day.axis)
  }

  roomAt(clientY: number): GridRoom {
    return day.rooms[this.rows.at(clientY - this.scroller!.getBoundingClientRect().top + this.scroller!.scrollTop - this.headHeight)]!
  }

  /** Scrolls a row, and a part of it, into view. */
  reveal(index: number, part?: Stretch) {
    const el = this.scroller
    if (!el) return
    const from = this.rows.tops[index]!
    const to = this.rows.tops[index + 1]!
    if (from < el.scrollTop) el.scrollTop = from
    else if (to + this.headHeight > el.scrollTop + el.clientHeight) el.scrollTop = to + this.headHeight - el.clientHeight
    if (!part) return
    const start = xOf(Math.max(0, part.from), day.axis) * this.scale
    const end = xOf(Math.min(lengthOf(day.axis), part.to), day.axis) * this.scale
    const view = el.clientWidth - labelWidth
    if (start < el.scrollLeft) el.scrollLeft = start - 20
    else if (end > el.scrollLeft + view) el.scrollLeft = Math.min(start - 20, end - view + 20)
  }

  /** Zooms around the middle of the view. */
  zoomBy(steps: number) {
    const half = (this.width - labelWidth) / 2
    const middle = (this.scroller!.scrollLeft + half) / this.scale
    this.zoom.by(steps)
    this.leftmost = minuteAtX(Math.max(0, middle - half / this.scale), day.axis)
  }
}
