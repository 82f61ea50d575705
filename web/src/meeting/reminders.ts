import type { Reminder } from '../lib/api/client'
import { seconds } from '../lib/duration'

export interface Row {
  before: 'start' | 'end'
  minutes: number | null
  email: boolean
  sms: boolean
}

/** Reminders as the form edits them; without `own` the server's defaults apply. */
export interface Choice {
  own: boolean
  rows: Row[]
}

export function fromAPI(list: Reminder[], own: boolean): Choice {
  return {
    own,
    rows: list.map((r) => ({
      before: r.before,
      minutes: seconds(r.offset) / 60,
      email: r.channels.includes('email'),
      sms: r.channels.includes('sms'),
    })),
  }
}

export function toAPI({ own, rows }: Choice): Reminder[] | null {
  if (!own) return null
  return rows.map((r) => {
    const s = Math.round((r.minutes ?? 0) * 60)
    return {
      before: r.before,
      offset: s % 60 ? `${s}s` : `${s / 60}m`,
      channels: [...(r.email ? (['email'] as const) : []), ...(r.sms ? (['sms'] as const) : [])],
    }
  })
}
