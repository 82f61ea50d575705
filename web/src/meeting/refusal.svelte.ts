import { Problem, type Conflict } from '../lib/api/client'
import { i18n } from '../lib/i18n/index.svelte'
import { faultsOf, fields, type Found } from './faults'
import type { Form } from './form.svelte'
import type { SeriesPreview } from './seriesPreview.svelte'

const nothing: Found = { byField: {}, byPerson: {} }

/** Why the form could not be saved, as far as nobody changed since what was wrong with it. */
export class Refusal {
  #form: Form
  #preview: SeriesPreview
  problem = $state.raw<Problem | null>(null)
  #found = $state.raw(nothing)
  #conflicts = $state.raw<Conflict[]>([])
  /** The form already showed that a room is taken. */
  known = $state(false)

  // A field's fault is cleared once the field changes.
  #stamps = $derived.by<Record<string, string>>(() => {
    const { f, startWall, endWall } = this.#form
    return {
      title: f.title,
      start: startWall + f.rooms,
      end: endWall + f.rooms,
      time: startWall + endWall,
      rooms: String(f.rooms),
      rrule: JSON.stringify([f.rule, f.text]),
      attendees: JSON.stringify(f.attendees),
      description: f.description,
      reminders: JSON.stringify(f.reminders),
      override: f.overrideReason,
    }
  })
  #stamped = $state.raw<Record<string, string>>({})

  /** Faults by field of the form: of the last refusal, and of the plan as it is. */
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
      // Only a series' start must be one of the rule's.
      if (fault.code === 'not_in_rule' || fault.code === 'overlaps_itself') shown.rrule = [...(shown.rrule ?? []), ...(byField.start ?? byField.end ?? [])]
    }
    return shown
  })
  /** Faults of single people, by their place. */
  byPerson = $derived(this.#unchanged('attendees') ? this.#found.byPerson : {})
  /** What is left of the last refusal, in the order of the form. */
  summary = $derived(
    ['', ...fields]
      .filter((p) => this.#found.byField[p] && this.faults[p])
      .map((p): [string, string[]] => [p, this.faults[p]!.length ? this.faults[p]! : Object.values(this.byPerson).flat()]),
  )
  /** What somebody else booked meanwhile, in the rooms and at the time that the form still says. */
  taken = $derived(this.#unchanged('time') ? this.#conflicts.filter((c) => this.#form.f.rooms.includes(c.room_id)) : [])

  /** Nobody knows whether it was saved: sent again as it is, it counts once. */
  unsure = $derived(this.problem?.status === 0 && this.#unchanged('time') && this.#unchanged('rooms'))

  constructor(form: Form, preview: SeriesPreview) {
    this.#form = form
    this.#preview = preview
  }

  #unchanged(field: string): boolean {
    return this.#stamps[field] === this.#stamped[field]
  }

  /** Whether any of the fields was refused. */
  names(...of: string[]): boolean {
    return of.some((field) => this.#found.byField[field])
  }

  /** Forgets it: the form is sent anew. */
  clear() {
    this.problem = null
    this.#found = nothing
    this.#conflicts = []
  }

  /** Notes why the form as it is was refused; known: it already showed that a room is taken. */
  take(err: unknown, known: boolean) {
    this.known = known
    const single = !this.#form.f.repeats
    this.problem = err instanceof Problem ? err : null
    this.#conflicts = single ? (this.problem?.conflicts ?? []) : []
    this.#stamped = { ...this.#stamps }
    if (!single && this.problem?.code === 'room_conflict') {
      this.#found = { byField: { dates: [i18n.t.repeat.unsolved] }, byPerson: {} }
    } else if (!this.#conflicts.length) {
      this.#found = faultsOf(err, this.#form.zone)
    }
  }
}
