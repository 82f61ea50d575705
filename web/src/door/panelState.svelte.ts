import type { Door } from '../lib/api/client'
import { dateTime, time } from '../lib/i18n/format'
import { i18n } from '../lib/i18n/index.svelte'
import { describe } from '../lib/i18n/problem'
import { today } from '../lib/zone'
import type { Action } from './device.svelte'
import { mayCheckIn, mustCheckIn, type View } from './state'
import { span } from './words'

/** The parts of the device that the panel uses. */
interface Device {
  /** The time by the server's clock. */
  readonly now: number
  /** Whether the server is unreachable. */
  readonly lost: boolean
  act: (action: Action) => Promise<void>
}

/** The actions that the panel shows; at most one group of them at a time. */
export type Group = 'confirm' | 'meeting' | 'book' | 'unavailable' | null

const ms = (at: string) => Date.parse(at)
const soonAfter = 15 * 60_000 // a meeting that starts this soon after another is announced
const shownFor = { good: 5000, bad: 9000 }

/** The state and the actions of the door at the current time, and the action under way. */
export class Panel {
  /** The meeting whose end the user must confirm; 0: none. */
  ending = $state(0)
  /** An action is under way. */
  busy = $state(false)
  /** The result of the last action, shown for a while. */
  message = $state.raw<{ text: string; bad: boolean } | null>(null)

  #of: () => { door: Door; view: View }
  #device: Device
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(of: () => { door: Door; view: View }, device: Device) {
    this.#of = of
    this.#device = device
  }

  #view = $derived.by(() => this.#of().view)
  #door = $derived.by(() => this.#of().door)
  #meeting = $derived.by(() => this.#view.meeting)
  #started = $derived.by(() => Boolean(this.#meeting && ms(this.#meeting.start) <= this.#device.now))

  /** A time of day by the room's clock, with the date unless it is today. */
  clock(at: number): string {
    const zone = this.#door.room.timezone
    const date = new Date(at)
    return today(zone, date) === today(zone, new Date(this.#device.now)) ? time(date, zone) : dateTime(date, zone)
  }

  /** Until when the state lasts, or when it begins. */
  lead = $derived.by(() => {
    const t = i18n.t.door
    const { state, until } = this.#view
    const now = this.#device.now
    switch (state) {
      case 'free':
        return until ? t.until(this.clock(until)) : t.restOfDay
      case 'soon':
      case 'pending':
        return t.startsIn(span(until! - now))
      case 'closed':
        return until ? t.until(this.clock(until)) : t.notSoon
      case 'unknown':
        return ''
      default:
        return this.#started ? t.until(this.clock(until!)) : t.startsIn(span(ms(this.#meeting!.start) - now))
    }
  })

  /** Why the room cannot be booked, if it cannot. */
  reason = $derived.by(() => {
    const t = i18n.t.door
    const { state, closure } = this.#view
    if (state === 'unknown') return t.unknownText
    if (closure?.kind === 'hours') return t.closedHours
    if (closure?.kind === 'inactive') return t.closedInactive
    return closure?.reason ?? ''
  })

  /** How much of the meeting has passed, from 0 to 1. */
  progress = $derived.by(() => {
    const m = this.#meeting
    if (!m || this.#view.state !== 'busy') return 0
    return Math.min(1, (this.#device.now - ms(m.start)) / (ms(m.end) - ms(m.start)))
  })

  /** The next meeting, if it is announced below the state. */
  next = $derived.by(() => {
    const { next, state } = this.#view
    const m = this.#meeting
    if (!next) return undefined
    return (m ? ms(next.start) - ms(m.end) < soonAfter : state !== 'closed') ? next : undefined
  })

  // The server computed its offers at one instant. Later, only offers that cannot have changed are shown.

  /** The durations for which the room can be booked now. */
  choices = $derived.by(() => (['free', 'soon', 'pending'].includes(this.#view.state) ? this.#door.book.filter((c) => ms(c.end) > this.#device.now) : []))
  mayCheckIn = $derived.by(() => {
    const m = this.#meeting
    return Boolean(m && ['check_in', 'soon'].includes(this.#view.state) && mayCheckIn(m, this.#device.now))
  })
  mustCheckIn = $derived.by(() => Boolean(this.#meeting && mustCheckIn(this.#meeting, this.#device.now)))
  mayEnd = $derived.by(() => this.#started && ['busy', 'check_in'].includes(this.#view.state))
  /** The durations by which the meeting can be extended. */
  extensions = $derived.by(() => (this.mayEnd && this.#view.state === 'busy' ? this.#meeting!.extend : []))

  group = $derived.by<Group>(() => {
    if (this.ending && this.#meeting) return 'confirm'
    if (this.mayCheckIn || this.mayEnd) return 'meeting'
    if (this.choices.length) return 'book'
    return this.#view.state === 'free' && !this.#device.lost ? 'unavailable' : null
  })
  /** Whether no action is possible right now. */
  off = $derived.by(() => this.#device.lost || this.busy)

  /** Asks the user to confirm the end of the meeting. */
  askToEnd() {
    this.message = null
    this.ending = this.#meeting!.id
  }

  keep() {
    this.ending = 0
  }

  /** Closes the confirmation once another meeting, or none, is shown. For an effect. */
  forgetEnded() {
    if (this.ending && this.#meeting?.id !== this.ending) this.ending = 0
  }

  /** Runs an action at the door, and shows the text once it is done. */
  async act(action: Action, done: string) {
    if (this.off) return
    this.busy = true
    this.message = null
    try {
      await this.#device.act(action)
      this.#show(done, false)
    } catch (err) {
      this.#show(describe(err), true)
    } finally {
      this.busy = false
      this.ending = 0
    }
  }

  #show(text: string, bad: boolean) {
    this.message = { text, bad }
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => (this.message = null), shownFor[bad ? 'bad' : 'good'])
  }
}
