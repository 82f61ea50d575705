import { untrack } from 'svelte'
import { api, ask, Problem, type Fault, type SeriesResult } from '../lib/api/client'
import { seconds } from '../lib/duration'
import { rooms } from '../lib/rooms.svelte'
import { addDays, instantOf, today, wallOf } from '../lib/zone'
import { isReachable } from './addresses'
import type { Form } from './form.svelte'

type SkippedDate = SeriesResult['skipped'][number]

/** One date of a series that is being planned. */
export interface PlannedDate {
  /** The wall time in the rooms' zone. */
  date: string
  /** The time according to the rule. */
  original: number
  start: Date
  end: Date
  roomIDs: number[]
  /** Whether it is the meeting that becomes a series: it cannot be skipped. */
  own: boolean
  state: 'free' | 'taken' | 'skipped' | 'fresh' | 'changed' | 'dropped'
  why?: SkippedDate
}

const moment = 350
const tries = 5

/** Previews every date of a series; the server is queried shortly after each change. */
export class SeriesPreview {
  #form: Form
  #before: Map<number, string>
  result = $state.raw<SeriesResult | null>(null)
  faults = $state.raw<Fault[]>([])
  error = $state.raw<unknown>(null)
  busy = $state(false)
  /** The end of an endless rule: the furthest that is possible. */
  furthest = $state('')
  /** The changed series, with the dates that are excluded from the change. */
  base = $state.raw<SeriesResult | null>(null)
  #again = $state(0)

  dates = $derived.by(() => this.#dates())
  /** The number of conflicting dates without a decision. */
  open = $derived.by(() => (this.#form.f.onConflict === 'skip' ? 0 : this.dates.filter((d) => d.state === 'taken').length))

  /** before: status and version of the series' current meetings, by ID. */
  constructor(form: Form, before: Map<number, string> = new Map()) {
    this.#form = form
    this.#before = before
    $effect(() => {
      void this.#again
      const { f } = form
      if (!f.repeats || !form.slot || !f.rooms.length) {
        this.result = null
        return
      }
      // Everything that the dates depend on.
      void [JSON.stringify(form.body()), form.rule(''), JSON.stringify([f.skips, f.choices, f.onConflict])]
      let stale = false
      const timer = setTimeout(() => untrack(() => this.#ask(() => stale)), moment)
      return () => {
        stale = true
        clearTimeout(timer)
      }
    })
  }

  /** Returns on how many of the dates the room is free; null while unknown. */
  freeDates(roomID: number): { free: number; all: number } | null {
    const planned = this.dates.filter((d) => d.state !== 'skipped' && d.state !== 'dropped' && d.roomIDs.includes(roomID))
    if (!this.#form.f.repeats || !planned.length) return null
    const blocked = planned.filter((d) => d.state === 'taken' && (d.why?.errors?.length || d.why?.conflicts.some((c) => c.room_id === roomID)))
    return { free: planned.length - blocked.length, all: planned.length }
  }

  /** Reloads: somebody else may have been faster. */
  again() {
    this.#again++
  }

  async #ask(stale: () => boolean) {
    this.busy = true
    try {
      this.furthest ||= this.#first()
      for (let i = 1; ; i++) {
        try {
          const result = await this.#preview()
          if (stale()) return
          this.result = result
          this.faults = []
          this.error = null
          return
        } catch (err) {
          if (stale()) return
          if (i < tries && err instanceof Problem && this.#mend(err)) continue
          this.result = null
          this.faults = err instanceof Problem ? err.faults : []
          this.error = err
          return
        }
      }
    } finally {
      if (!stale()) this.busy = false
    }
  }

  async #preview(): Promise<SeriesResult> {
    const form = this.#form
    const body = { ...form.body(), title: form.f.title.trim() || '…', attendees: form.body().attendees.filter((a) => isReachable({ ...a, email: a.email ?? '' })) }
    if (form.f.override && !form.f.overrideReason.trim()) body.override = { reason: '…' }
    if (form.meeting && !form.series) {
      const { id, version } = form.meeting
      const repeat = { ...form.repeatBody(this.furthest), title: body.title, ...(body.override ? { override: body.override } : {}) }
      if ('attendees' in repeat) repeat.attendees = body.attendees
      return ask(api.POST('/meetings/{id}/repeat/preview', { params: { path: { id }, header: { 'If-Match': `"${version}"` } }, body: repeat }))
    }
    if (!form.series) return ask(api.POST('/series/preview', { body: { ...body, ...form.recurrence(this.furthest) } }))
    const { series, from } = form.series
    const path = { params: { path: { id: series.id }, header: { 'If-Match': `"${series.version}"` } } }
    const patch = form.patch()
    if ('title' in patch) patch.title = body.title
    if ('attendees' in patch) patch.attendees = body.attendees
    const scope = from ? { scope: 'following' as const, from } : { scope: 'all' as const }
    const { rrule } = form.recurrencePatch(this.furthest, null)
    // The server knows how excluded dates move with the others.
    this.base = await ask(api.POST('/series/{id}/preview', { ...path, body: { ...patch, ...(rrule ? { rrule } : {}), ...scope, on_conflict: 'skip' } }))
    return ask(api.POST('/series/{id}/preview', { ...path, body: { ...patch, ...form.recurrencePatch(this.furthest, this.base) } }))
  }

  /** Returns the furthest possible end: the rooms' own limit, or ten years. */
  #first(): string {
    const { rooms: ids } = this.#form.f
    const limits = ids.map((id) => seconds(rooms.byID.get(id)?.policy.max_advance ?? '')).filter((s) => s > 0)
    const days = Math.floor(Math.min(3650, ...limits.map((s) => s / 86_400)))
    return `UNTIL=${addDays(today(this.#form.zone), days).replaceAll('-', '')}`
  }

  /** Fixes errors that the user did not cause; reports whether there were any. */
  #mend(err: Problem): boolean {
    const { f } = this.#form
    let mended = false
    for (const fault of err.faults) {
      // An endless rule ends at the booking horizon of the rooms.
      const limit = fault.limit
      if (f.rule?.ends === 'never' && fault.code === 'too_many_dates' && typeof limit === 'number') {
        this.furthest = `COUNT=${limit}`
        mended = true
      } else if (f.rule?.ends === 'never' && fault.code === 'max_advance' && typeof limit === 'string') {
        const until = `UNTIL=${limit.replaceAll('-', '')}`
        this.furthest = this.furthest === until ? `UNTIL=${addDays(limit, -1).replaceAll('-', '')}` : until
        mended = true
      }
      // A choice for a date that is no longer in the rule.
      const at = /^body\.choices\[(\d+)\]/.exec(fault.location ?? '')
      const date = at && Object.keys(f.choices)[Number(at[1])]
      if (date) {
        delete f.choices[date]
        mended = true
      }
    }
    return mended
  }

  #dates(): PlannedDate[] {
    const { f, zone, startWall, length } = this.#form
    if (!this.result) return []
    const dateOf = (at: string) => wallOf(at, zone).slice(0, 10)
    const list: PlannedDate[] = this.result.meetings
      .filter((m) => !m.id || this.#before.get(m.id) !== 'cancelled' || m.status !== 'cancelled')
      .map((m) => ({
        date: dateOf(m.original_start ?? m.start),
        original: Date.parse(m.original_start ?? m.start),
        start: new Date(m.start),
        end: new Date(m.end),
        roomIDs: m.room_ids,
        own: m.id !== 0 && !this.#form.series,
        state: m.status === 'cancelled' ? 'dropped' : !this.#form.series ? 'free' : m.id ? 'changed' : 'fresh',
      }))
    for (const s of this.result.skipped) {
      const start = new Date(s.original_start)
      const known = list.findIndex((d) => d.original === start.getTime() && d.state !== 'dropped')
      if (known >= 0) list.splice(known, 1)
      const date = dateOf(s.original_start)
      list.push({ date, original: start.getTime(), start, end: new Date(start.getTime() + length * 60_000), roomIDs: f.choices[date] ?? f.rooms, own: false, state: 'taken', why: s })
    }
    for (const date of f.skips) {
      if (list.some((d) => d.date === date && d.state !== 'dropped')) continue
      const start = instantOf(date + startWall.slice(10), zone)
      const at = list.findIndex((d) => d.date === date)
      if (at >= 0) list.splice(at, 1)
      list.push({ date, original: start.getTime(), start, end: new Date(start.getTime() + length * 60_000), roomIDs: f.rooms, own: false, state: 'skipped' })
    }
    return list.sort((a, b) => a.start.getTime() - b.start.getTime())
  }
}
