import type { Meeting, Series } from '../lib/api/client'
import type { Address } from './addresses'
import type { Choice } from './reminders'
import type { Rule } from './rule'

/** What the booking form starts from. */
export interface Draft {
  /** The meeting to edit; none makes a new one. */
  meeting?: Meeting
  /** The series to edit: all its coming dates, or those from one on, of which `left` are in its rule. */
  series?: { series: Series; from?: string; left: number }
  roomID?: number
  /** Wall time in the room's zone. */
  start?: string
  end?: string
  /** What was typed before the page was left. */
  kept?: Kept
}

/** A form as it was left: what it held, and the key under which it was sent, if it was. */
export interface Kept {
  fields: Fields
  key: string
}

export type Person = Address

/** What becomes of dates of a series that cannot be as they are wanted. */
export type OnConflict = 'fail' | 'skip' | 'other_room'

/** What is in the form. It can be written down and read again. */
export interface Fields {
  title: string
  rooms: number[]
  date: string
  start: string
  endDate: string
  end: string
  attendees: Person[]
  /** Typed and not yet entered. */
  typing: string
  description: string
  private: boolean
  reminders: Choice
  repeats: boolean
  rule: Rule | null // null: as text says
  text: string
  onConflict: OnConflict
  /** Dates that are left out by hand. */
  skips: string[]
  /** Rooms of single dates, by date. */
  choices: Record<string, number[]>
  override: boolean
  overrideReason: string
}
