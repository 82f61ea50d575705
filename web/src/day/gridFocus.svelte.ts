import { tick, untrack } from 'svelte'
import { placeOf, type Cursor, type Place } from './cursor'
import { day } from './day.svelte'
import { minuteOf } from './dayAxis'
import { targetOf } from './gridTarget'
import type { Viewport } from './gridViewport.svelte'

/** The cell of the grid that has the keyboard focus, or gets it with the next Tab. */
export class GridFocus {
  cursor = $state.raw<Cursor>({ room: 0, at: 540 })
  here = $derived.by<Place | undefined>(() => placeOf(this.cursor))
  /** The data-key of the cell's element. */
  key = $derived.by(() => this.here && keyOf(this.here))
  /** Whether the focus is, or last was, in the grid. */
  inside = false

  #view: Viewport

  constructor(view: Viewport) {
    this.#view = view
  }

  /** Puts the cursor where a user looks first, until the user enters the grid. For an effect. */
  beginAtFirst() {
    void day.axis
    const room = day.rooms[0]
    if (room && !this.inside) untrack(() => (this.cursor = { room: room.id, at: this.#view.firstMinute() }))
  }

  /** Moves the focus along when its cell is redrawn elsewhere or removed. For an effect. */
  keep() {
    void this.key
    void day.meetings
    if (this.inside) tick().then(() => this.follow(false))
  }

  /** Focuses the cell at the cursor: always if take is set, else only if nothing else has the focus. */
  follow(take: boolean) {
    const el = this.#view.scroller?.querySelector<HTMLElement>(`[data-key="${this.key}"]`)
    const at = document.activeElement
    // If a dialog's opener is gone, such as a slot that was booked, the content gets the focus.
    const free = at === document.body || at === null || at.matches('main')
    if (el && at !== el && (take || free)) el.focus({ preventScroll: true })
  }

  /** Moves cursor and focus, and scrolls to them. */
  async go(to: Cursor) {
    this.cursor = to
    await tick()
    this.follow(true)
    const p = this.here
    if (p) this.#view.reveal(p.index, p.stop === 'head' ? undefined : p.stop)
  }

  focused(e: FocusEvent) {
    this.inside = true
    const key = (e.target as HTMLElement).dataset.key
    const { room, meeting, name } = targetOf(e.target as Element)
    if (!room || key === this.key) return
    if (name) this.cursor = { room: room.id, at: this.cursor.at, head: true }
    else if (meeting) this.cursor = { room: room.id, at: Math.max(0, minuteOf(meeting.start, day.axis)), meeting: meeting.id }
  }

  left({ relatedTarget, target }: FocusEvent) {
    const scroller = this.#view.scroller!
    if (relatedTarget) this.inside = scroller.contains(relatedTarget as Node)
    // A removed element loses the focus without a user action, and a window in the background does too.
    else setTimeout(() => (this.inside &&= !(target as Node).isConnected || !document.hasFocus() || scroller.contains(document.activeElement)))
  }
}

function keyOf({ room, stop }: Place): string {
  return stop === 'head' ? `h${room.id}` : stop.meeting ? `m${stop.meeting.id}-${room.id}` : `s${room.id}`
}
