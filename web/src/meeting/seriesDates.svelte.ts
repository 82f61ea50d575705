import { all, api, ask, type Meeting } from '../lib/api/client'
import type { components } from '../lib/api/schema'
import { live } from '../lib/live.svelte'
import { LatestRequest } from '../lib/latest'
import { wallOf } from '../lib/zone'
import { booking } from './booking.svelte'
import type { Draft } from './draft'

export type SeriesState = components['schemas']['SeriesState']

const settle = 200 // ms: a change of a series changes many dates at once

const gone: Meeting['status'][] = ['cancelled', 'rejected', 'released']

/** The series of a meeting, and the state of its dates. */
export class SeriesDates {
  id: number
  state = $state.raw<SeriesState | null>(null)
  #all = $state.raw<Meeting[]>([])
  /** Dates that take place or took place. */
  dates = $derived.by(() => this.#all.filter((m) => !gone.includes(m.status)).sort((a, b) => a.start.localeCompare(b.start)))

  #latest = new LatestRequest()
  #later: ReturnType<typeof setTimeout> | undefined

  constructor(id: number) {
    this.id = id
  }

  /** Loads the dates and keeps them up to date; returns a function that stops it. */
  watch(): () => void {
    this.load()
    const changed = (m: Meeting) => {
      if (m.series_id === this.id) this.#later ??= setTimeout(() => this.load(), settle)
    }
    const off = booking.onSaved(changed)
    const unfollow = live.follow({ load: () => this.load(), meeting: changed })
    return () => {
      off()
      unfollow()
      clearTimeout(this.#later)
    }
  }

  async load() {
    clearTimeout(this.#later)
    this.#later = undefined
    const current = this.#latest.begin()
    const query = { series_id: this.id, limit: 500 }
    try {
      const [state, list] = await Promise.all([
        ask(api.GET('/series/{id}', { params: { path: { id: this.id } } })),
        all((cursor) => api.GET('/meetings', { params: { query: { ...query, cursor } } })),
      ])
      if (!current()) return
      this.state = state
      this.#all = list
    } catch {
      // The meeting itself is still shown.
    }
  }

  /** The ordinal of the meeting among the dates, from 1; 0: it does not take place. */
  placeOf(m: Meeting): number {
    return this.dates.findIndex((d) => d.id === m.id) + 1
  }

  /** Returns the number of dates in the rule from one date on: the rule's count for that part. */
  #left(from: string): number {
    const { state } = this
    const starts = new Set<string>()
    for (const at of [...this.#all.map((m) => m.original_start), ...(state?.absent ?? []).map((d) => d.original_start)]) {
      if (at && at >= from) starts.add(at)
    }
    const zone = state?.timezone ?? 'UTC'
    const out = (state?.exdates ?? []).filter((d) => d.slice(0, 10) >= wallOf(from, zone).slice(0, 10))
    return starts.size + out.length
  }

  /** Returns the draft to change all dates, or those from one date on. */
  draft(meeting: Meeting, from?: string): Draft | null {
    const series = this.state
    if (!series) return null
    return { meeting, series: { series, from, left: from ? this.#left(from) : 0 } }
  }
}
