import { Problem, type Conflict } from '../lib/api/client'
import { i18n } from '../lib/i18n/index.svelte'
import { faultsOf, fields, type Found } from './faults'
import type { Form } from './form.svelte'
import type { SeriesPreview } from './seriesPreview.svelte'

const nothing: Found = { byField: {}, byPerson: {}, byCustom: {} }

/** Why the form could not be saved, without the errors that the user has edited since. */
export class Refusal {
  #form: Form
  #preview: SeriesPreview
  problem = $state.raw<Problem | null>(null)
  #found = $state.raw(nothing)
  #conflicts = $state.raw<Conflict[]>([])
  /** Whether the form already showed that a room is taken. */
  known = $state(false)

  // An error is cleared once its field changes.
  #stamps = $derived.by<Record<string, string>>(() => {
    const { f, startWall, endWall } = this.#form
    return {
      title: f.title,
      start: startWall + f.rooms,
      end: endWall + f.rooms,
      time: startWall + endWall,
      rooms: String(f.rooms),
      custom: JSON.stringify([f.custom, f.rooms]),
      rrule: JSON.stringify([f.rule, f.text]),
      attendees: JSON.stringify(f.attendees),
      description: f.description,
      reminders: JSON.stringify(f.reminders),
      override: f.overrideReason,
    }
  })
  #stamped = $state.raw<Record<string, string>>({})

  /** Errors by form field: from the last rejected request, and from the current plan. */
  faults = $derived.by(() => {
    const shown: Record<string, string[]> = {}
    for (const [field, texts] of Object.entries(this.#found.byField)) {
      const settled = field === 'dates' && this.#preview.result && !this.#preview.open
      if (!settled && (field === '' || this.#unchanged(field))) shown[field] = [...texts]
    }
    for (const fault of this.#preview.faults) {
      const { byField } = faultsOf(new Problem(422, { errors: [fault] }), this.#form.zone)
      for (const field of ['rrule', 'dates'] as const) {
        for (const text of byField[field] ?? []) if (!shown[field]?.includes(text)) (shown[field] ??= []).push(text)
      }
      // Only the start of a series must match the rule.
      if (fault.code === 'not_in_rule' || fault.code === 'overlaps_itself') shown.rrule = [...(shown.rrule ?? []), ...(byField.start ?? byField.end ?? [])]
    }
    return shown
  })
  /** Errors of single people, by index. */
  byPerson = $derived(this.#unchanged('attendees') ? this.#found.byPerson : {})
  /** Errors of custom fields, by name. */
  byCustom = $derived(this.#unchanged('custom') ? this.#found.byCustom : {})
  /** The remaining errors of the last rejected request, in the order of the form. */
  summary = $derived(
    ['', ...fields]
      .filter((p) => this.#found.byField[p] && this.faults[p])
      .map((p): [string, string[]] => [p, this.faults[p]!.length ? this.faults[p]! : Object.values(this.byPerson).flat()]),
  )
  /** The conflicting bookings in the rooms and at the time still selected in the form. */
  taken = $derived(this.#unchanged('time') ? this.#conflicts.filter((c) => this.#form.f.rooms.includes(c.room_id)) : [])

  /** Whether the save may have succeeded: sending the same form again counts once. */
  unsure = $derived(this.problem?.status === 0 && this.#unchanged('time') && this.#unchanged('rooms'))

  constructor(form: Form, preview: SeriesPreview) {
    this.#form = form
    this.#preview = preview
  }

  #unchanged(field: string): boolean {
    return this.#stamps[field] === this.#stamped[field]
  }

  /** Reports whether any of the fields has an error. */
  names(...of: string[]): boolean {
    return of.some((field) => this.#found.byField[field])
  }

  /** Clears the errors: the form is sent again. */
  clear() {
    this.problem = null
    this.#found = nothing
    this.#conflicts = []
  }

  /** Stores why the form was rejected; known: it already showed that a room is taken. */
  take(err: unknown, known: boolean) {
    this.known = known
    const single = !this.#form.f.repeats
    this.problem = err instanceof Problem ? err : null
    this.#conflicts = single ? (this.problem?.conflicts ?? []) : []
    this.#stamped = { ...this.#stamps }
    if (!single && this.problem?.code === 'room_conflict') {
      this.#found = { byField: { dates: [i18n.t.repeat.unsolved] }, byPerson: {}, byCustom: {} }
    } else if (!this.#conflicts.length) {
      this.#found = faultsOf(err, this.#form.zone)
    }
  }
}
