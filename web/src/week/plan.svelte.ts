import type { Meeting, Room } from '../lib/api/client'
import type { Axis } from '../lib/axis'
import { mayEdit, mayExtend } from '../lib/requests.svelte'
import { wallOf } from '../lib/zone'
import { booking } from '../meeting/booking.svelte'
import { move } from '../meeting/move'
import { carried, stretched, type Slot } from './shift'

/** The slot that is being drawn, moved or saved, at its new time. */
export interface Ghost extends Slot {
  meeting?: Meeting
}

/** The grid of the planned week: its steps are minutes. */
export interface Ground {
  room: Room
  axis: Axis
  snap: number
}

/** The possible changes of a meeting: 'both' moves it, 'end' only changes its end. */
export type Grip = 'both' | 'end' | null

export function gripOf(m: Meeting): Grip {
  return mayEdit(m) ? 'both' : mayExtend(m) ? 'end' : null
}

/** What the user is about to book or to move in a week. */
export class Plan {
  ghost = $state.raw<Ghost | null>(null)
  /** The meeting that the keys move. */
  moving = $state.raw<Meeting | null>(null)
  #ground: () => Ground

  constructor(ground: () => Ground) {
    this.#ground = ground
  }

  /** Opens the form with a slot; a new slot is drawn until the form closes. */
  async book(column: number, from: number, to: number) {
    const { room, axis } = this.#ground()
    const ghost = { start: axis.instant(column, from), end: axis.instant(column, to) }
    this.ghost = ghost
    await booking.open({ roomID: room.id, start: wallOf(ghost.start, axis.zone), end: wallOf(ghost.end, axis.zone) })
    if (this.ghost === ghost) this.ghost = null
  }

  /** Saves a moved meeting, and draws it at its new time meanwhile. */
  async save(ghost: Ghost) {
    const m = ghost.meeting!
    this.ghost = ghost
    if (+ghost.start !== Date.parse(m.start) || +ghost.end !== Date.parse(m.end)) {
      await move(m, { start: ghost.start.toISOString(), end: ghost.end.toISOString() }, this.#ground().axis.zone)
    }
    if (this.ghost === ghost) this.ghost = null
  }

  drop() {
    this.moving = null
    this.ghost = null
  }

  lift(m: Meeting) {
    this.moving = m
    this.ghost = { start: new Date(m.start), end: new Date(m.end), meeting: m }
  }

  /** Moves the lifted meeting, or its end, with an arrow key; reports whether the key is one. */
  nudge(key: string, edge: boolean): boolean {
    const by = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[key]
    const [meeting, ghost] = [this.moving, this.ghost]
    if (!by || !meeting || !ghost) return false
    const { axis, snap } = this.#ground()
    const [column, place] = [by[0]!, by[1]! * snap]
    const slot =
      edge || gripOf(meeting) === 'end'
        ? stretched(ghost, 'end', new Date(+ghost.end + place * 60_000))
        : carried(ghost, { column, place }, axis, snap)
    this.ghost = { ...slot, meeting }
    return true
  }
}
