import type { Meeting, Series } from '../lib/api/client'
import type { Value } from '../lib/customFields.svelte'
import type { Address } from './addresses'
import type { Choice } from './reminders'
import type { Rule } from './rule'

/** The initial values of the booking form. */
export interface Draft {
  /** The meeting to edit; without it, the form creates a new one. */
  meeting?: Meeting
  /** The series to edit: all its future dates, or those from one date on. `left` is their count in the rule. */
  series?: { series: Series; from?: string; left: number }
  roomID?: number
  /** Wall time in the room's zone. */
  start?: string
  end?: string
  /** What is already known of a new booking. */
  fields?: Partial<Fields>
  /** The text typed before the page was left. */
  kept?: Kept
}

/** A form as it was left: its content, and the idempotency key if it was sent. */
export interface Kept {
  fields: Fields
  key: string
}

export type Person = Address

/** What to do with dates of a series that conflict. */
export type OnConflict = 'fail' | 'skip' | 'other_room'

/** The content of the form, as serializable data. */
export interface Fields {
  title: string
  rooms: number[]
  date: string
  start: string
  endDate: string
  end: string
  /** The meeting type; 0 for none. */
  type: number
  /** Values of custom fields, by name. */
  custom: Record<string, Value>
  /** The user for whom to book; nobody for oneself. */
  organizer: Person[]
  attendees: Person[]
  /** Typed but not yet entered. */
  typing: string
  description: string
  private: boolean
  reminders: Choice
  repeats: boolean
  rule: Rule | null // null: keep the rule in `text`
  text: string
  onConflict: OnConflict
  /** Dates that the user skipped. */
  skips: string[]
  /** The rooms of single dates, by date. */
  choices: Record<string, number[]>
  override: boolean
  overrideReason: string
}
