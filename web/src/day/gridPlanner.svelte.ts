import { tick } from 'svelte'
import type { GridMeeting, GridRoom } from '../lib/api/client'
import { i18n } from '../lib/i18n/index.svelte'
import { router } from '../lib/router.svelte'
import { wallOf } from '../lib/zone'
import { booking } from '../meeting/booking.svelte'
import { move } from '../meeting/move'
import { day } from './day.svelte'
import { instantAt, type Stretch } from './dayAxis'
import type { GridFocus } from './gridFocus.svelte'
import { idle, obstacle, timesOf, type Plan } from './plan'

/** What the user is about to book or to change in the grid, and its result. */
export class Planner {
  plan = $state.raw<Plan>()
  /** Whether the plan is changed by keyboard, not by pointer. */
  byKeys = $state(false)
  /** What screen readers announce. */
  announcement = $state('')
  /** Why the plan will hardly be possible; "" if nothing conflicts. */
  obstacle = $derived.by(() => (this.plan ? obstacle(this.plan, this.#now()) : ''))

  #focus: GridFocus
  #now: () => Date

  constructor(focus: GridFocus, now: () => Date) {
    this.#focus = focus
    this.#now = now
  }

  get now(): Date {
    return this.#now()
  }

  announce(text: string) {
    this.announcement = text
  }

  /** Discards the plan, and announces that if asked to. */
  cancel(announced = false) {
    this.plan = undefined
    this.byKeys = false
    if (announced) this.announce(i18n.t.grid.asItWas)
  }

  /** Applies the plan. */
  async carryOut() {
    const p = this.plan!
    this.cancel()
    if (idle(p)) return
    const { meeting, room } = p
    if (!meeting) return this.book(room, p)
    const times = timesOf(p)
    // An unchanged edge keeps its seconds.
    const start = p.kind === 'end' ? meeting.start : times.start
    const end = p.kind === 'start' ? meeting.end : times.end
    const room_ids = meeting.room_ids.map((id) => (id === p.home!.id ? room.id : id))
    this.#focus.cursor = { room: room.id, at: Math.max(0, p.from), meeting: meeting.id }
    await move(meeting, { room_ids: [...new Set(room_ids)], start, end }, day.zone, day)
  }

  /** Opens the booking form, and moves the focus to the booked meeting. */
  async book(room: GridRoom, at?: Stretch) {
    const wall = (minute: number) => wallOf(instantAt(minute, day.axis), room.timezone)
    const saved = await booking.open({
      roomID: room.id,
      start: at && wall(at.from),
      end: at && wall(at.to),
    })
    if (!saved?.room_ids.includes(room.id)) return
    this.#focus.cursor = { room: room.id, at: at?.from ?? this.#focus.cursor.at, meeting: saved.id }
    this.#focus.inside = true
    await tick()
    this.#focus.follow(false) // an event may have drawn the meeting already
  }

  open(m: GridMeeting) {
    router.go(`/meetings/${m.id}${router.query.size ? '?' + router.query : ''}`)
  }
}
