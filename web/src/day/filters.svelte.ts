import type { Room } from '../lib/api/client'
import { firstWeekday } from '../lib/i18n/format'
import { rooms, type Located } from '../lib/rooms.svelte'
import { router } from '../lib/router.svelte'
import { session } from '../lib/session.svelte'
import { addDays, offsetAt, today } from '../lib/zone'
import { clockChoice } from './clockChoice.svelte'
import { addMonths, daysOf, monthOf, weekOf, type Span } from './span'

/** The views of rooms and their paths. pages/Day.svelte maps them to components. */
export const views = { day: '/', week: '/week', month: '/month', list: '/list', plan: '/plan' } as const
export type View = keyof typeof views

/** The most days that are shown side by side. */
export const mostDays = 7

/** For each view its dates, and the date before and after; `days` are those side by side. */
const extents: Record<string, { span: (date: string, days: number) => Span; step: (date: string, by: number, days: number) => string }> = {
  day: { span: daysOf, step: (date, by, days) => addDays(date, days * by) },
  list: { span: daysOf, step: addDays },
  plan: { span: daysOf, step: addDays },
  week: { span: (date) => weekOf(date, firstWeekday()), step: (date, by) => addDays(date, 7 * by) },
  month: { span: monthOf, step: addMonths },
}

/** What rooms are filtered by. */
type Filterable = Omit<Located, 'timezone'>

/** The state of the view as the address stores it: view, date, site, capacity, features, text. */
class Filters {
  // Opening a meeting changes the address; the view below it stays as it is.
  #kept: { view: View; query: URLSearchParams } = { view: 'day', query: new URLSearchParams() }
  #at = $derived.by(() => {
    const { path, query } = router
    const view = (Object.keys(views) as View[]).find((v) => views[v] === path)
    if (view) this.#kept = { view, query }
    return this.#kept
  })
  view = $derived(this.#at.view)
  #query = $derived(this.#at.query)

  site = $derived(Number(this.#query.get('site')) || 0)
  capacity = $derived(Number(this.#query.get('capacity')) || 0)
  #features = $derived(this.#query.get('features') ?? '')
  features = $derived(this.#features.split(',').filter(Boolean))
  text = $derived(this.#query.get('q') ?? '')
  /** The list is grouped by room, not by day. */
  byRoom = $derived(this.#query.get('group') === 'room')
  /** The chosen floor plan; 0: the first with rooms. */
  plan = $derived(Number(this.#query.get('plan')) || 0)
  /** The time of day that the plan shows, as "09:30"; empty: the present. */
  at = $derived(/^([01]\d|2[0-3]):[0-5]\d$/.exec(this.#query.get('at') ?? '')?.[0] ?? '')
  /** The number of dates side by side: several, where the address says so, and in the week. */
  days = $derived.by(() => {
    if (this.view === 'week') return mostDays
    const days = Math.trunc(Number(this.#query.get('days')))
    return this.view === 'day' && days > 1 ? Math.min(days, mostDays) : 1
  })
  /** The number of active filters. */
  count = $derived(Number(this.site > 0) + Number(this.capacity > 0) + this.features.length + Number(this.text !== ''))

  /** The zones of the rooms that pass the filters except the text, the most frequent first. */
  zones = $derived.by(() => mostFrequent(rooms.known.filter((r) => this.pass(r)).map((r) => rooms.zone(r))))
  /** The zone of most of these rooms. */
  roomZone = $derived(this.zones[0] || rooms.siteByID.get(this.site)?.timezone || clockChoice.lastZone || session.zone)
  /** The zone of the clock that the view follows: it defines its hours and "today". */
  zone = $derived(clockChoice.mine ? session.zone : this.roomZone)
  date = $derived.by(() => {
    const date = this.#query.get('date') ?? ''
    return /^\d{4}-\d\d-\d\d$/.test(date) && !Number.isNaN(Date.parse(date)) ? date : today(this.zone)
  })
  /** The other clock, if it differs on the shown date: the user's own, or the rooms'. */
  otherZone = $derived.by(() => {
    const noon = new Date(this.date + 'T12:00:00Z')
    const other = clockChoice.mine ? this.roomZone : session.zone
    return offsetAt(noon, other) === offsetAt(noon, this.zone) ? '' : other
  })
  /** The dates that the view shows. */
  span = $derived(extents[this.view]!.span(this.date, this.days))

  set(values: { site?: string; capacity?: string; features?: string[]; q?: string }) {
    const { features, ...rest } = values
    router.keep(features ? { ...rest, features: features.join(',') } : rest)
  }

  clear() {
    this.set({ site: '', capacity: '', features: [], q: '' })
  }

  go(date: string) {
    router.keep({ date: date === today(this.zone) ? '' : date })
  }

  /** Moves to the next (1) or the previous (-1) day, week or month. */
  step(by: number) {
    this.go(extents[this.view]!.step(this.date, by, this.days))
  }

  /** Returns the address of a view with the current filters, and another date and number of days if given. */
  href(view: View, date?: string, days = 1): string {
    const query = new URLSearchParams(this.#query)
    if (date) query.set('date', date)
    if (days > 1) query.set('days', String(days))
    else query.delete('days')
    return views[view] + (query.size ? '?' + query : '')
  }

  /** Active rooms that pass all filters. The text is matched against the room's details. */
  rooms = $derived.by(() => rooms.list.filter((r: Room) => r.active && this.pass(r) && (!this.text || this.names(r))))

  /** Reports whether the room passes all filters except the text. */
  pass(r: Filterable): boolean {
    return (
      (!this.site || r.site_id === this.site) &&
      r.capacity >= this.capacity &&
      this.features.every((f) => r.features.includes(f))
    )
  }

  /** Reports whether the room's details contain the text. */
  names(r: Filterable): boolean {
    const said = `${r.name} ${r.floor} ${r.features.join(' ')}`
    return said.toLocaleLowerCase().includes(this.text.trim().toLocaleLowerCase())
  }
}

/** Returns the distinct values, the most frequent first. */
function mostFrequent(values: string[]): string[] {
  const count = new Map<string, number>()
  for (const v of values) count.set(v, (count.get(v) ?? 0) + 1)
  return [...count.keys()].sort((a, b) => count.get(b)! - count.get(a)!)
}

export const filters = new Filters()
