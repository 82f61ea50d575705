import { session } from '../../../lib/session.svelte'
import { addDays, instantOf, today } from '../../../lib/zone'

export type Span = 'd7' | 'd30' | 'd90' | 'own'
const days = { d7: 7, d30: 30, d90: 90 } as const

/** The time that reports are about: whole days of one's own zone, both included. */
class Range {
  span = $state<Span>('d30')
  first = $state('')
  last = $state('')

  #from = $derived(this.span === 'own' && this.first ? this.first : addDays(today(session.zone), 1 - days[this.span === 'own' ? 'd30' : this.span]))
  #to = $derived(this.span === 'own' && this.last ? this.last : today(session.zone))
  /** The first and the last date. */
  days = $derived({ first: this.#from, last: this.#to })
  // A date whose year is still being typed is one of the first centuries.
  valid = $derived(this.#from >= '1970' && this.#from <= this.#to && this.#to.length === 10)
  query = $derived(
    this.valid
      ? {
          from: instantOf(this.#from + 'T00:00:00', session.zone).toISOString(),
          to: instantOf(addDays(this.#to, 1) + 'T00:00:00', session.zone).toISOString(),
        }
      : { from: '', to: '' },
  )

  /** Shows the days in force when they are to be chosen. */
  choose(span: Span) {
    if (span === 'own') [this.first, this.last] = [this.#from, this.#to]
    this.span = span
  }
}

export const range = new Range()
