import { api, ask } from '../lib/api/client'
import { addDays, instantOf } from '../lib/zone'
import { isAddress } from './addresses'
import type { Form } from './form.svelte'

const moment = 300 // ms after the last change before a request
const most = 20 // people in one request
const ahead = 8 // days, so that other times can be compared

/** When a guest is a user and takes part in meetings, in milliseconds. */
export interface GuestTimes {
  email: string
  busy: { start: number; end: number }[]
}

/** When the guests of the form are busy, as far as they are users. */
export class Guests {
  list = $state.raw<GuestTimes[]>([])

  constructor(form: Form) {
    const emails = $derived(form.f.attendees.map((a) => a.email).filter(isAddress).slice(0, most))
    const key = $derived(`${form.f.date} ${form.zone} ${emails.join()}`)
    $effect(() => {
      void key
      const { date } = form.f
      if (!date || !emails.length) {
        this.list = []
        return
      }
      const query = {
        email: [...emails],
        from: instantOf(`${date}T00:00:00`, form.zone).toISOString(),
        to: instantOf(`${addDays(date, ahead)}T00:00:00`, form.zone).toISOString(),
      }
      let stale = false
      const timer = setTimeout(async () => {
        try {
          const { items } = await ask(api.GET('/people/busy', { params: { query } }))
          if (stale) return
          this.list = items
            .filter((p) => p.known)
            .map((p) => ({ email: p.email, busy: p.busy.map((b) => ({ start: Date.parse(b.start), end: Date.parse(b.end) })) }))
        } catch {
          // Their times are only a help.
        }
      }, moment)
      return () => {
        stale = true
        clearTimeout(timer)
      }
    })
  }

  /** Returns how many guests are busy at a time; `except` is the meeting's own time. */
  busyAt(start: number, end: number, except?: { start: number; end: number }): number {
    return this.list.filter((g) => isBusy(g, start, end, except)).length
  }
}

/** Reports whether a guest is busy at a time, apart from the meeting that is edited. */
export function isBusy(g: GuestTimes, start: number, end: number, except?: { start: number; end: number }): boolean {
  return g.busy.some((b) => b.start < end && b.end > start && !(except && b.start >= except.start && b.end <= except.end))
}
