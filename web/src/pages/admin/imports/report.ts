import type { components } from '../../../lib/api/schema'
import { i18n } from '../../../lib/i18n/index.svelte'
import { operations } from '../operations.svelte'

type Report = components['schemas']['ImportReport']
export type Event = components['schemas']['ImportedEvent']

/** Size of the largest file that the API takes. */
export const maxBytes = 1_000_000

/** Returns how many events of a preview would change something. */
export function planned(r: Report | null): number {
  return r ? (r.counts.created ?? 0) + (r.counts.updated ?? 0) + (r.counts.cancelled ?? 0) : 0
}

/** Returns the events that are not imported, and the series that lack dates. */
export function missing(events: Event[]): Event[] {
  return events.filter((e) => e.result === 'failed' || e.result === 'skipped' || (e.result === 'created' && e.dates?.length))
}

/** Returns why an event, or some of its dates, are not imported. */
export function reasonOf(e: Event): string {
  const t = operations.t.imports
  if (e.dates?.length) return t.dates(e.dates.length)
  const problem = i18n.t.problem[e.reason ?? '']
  return t.reasons[e.reason ?? ''] ?? (typeof problem === 'string' ? problem : e.message) ?? e.reason ?? ''
}
