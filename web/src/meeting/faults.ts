import { customFields } from '../lib/customFields.svelte'
import { Problem } from '../lib/api/client'
import { i18n } from '../lib/i18n/index.svelte'
import { describe } from '../lib/i18n/problem'
import { reasonText, type Reason } from './reasons'

/** The form's fields, in order. "" is the form itself. */
export const fields = ['title', 'type', 'custom', 'start', 'end', 'rooms', 'rrule', 'dates', 'attendees', 'description', 'organizer', 'reminders', 'override'] as const

const fieldOf: Record<string, string> = {
  title: 'title',
  type_id: 'type',
  fields: 'custom',
  start: 'start',
  timezone: 'start',
  end: 'end',
  room_ids: 'rooms',
  rrule: 'rrule',
  exdates: 'dates',
  rdates: 'dates',
  choices: 'dates',
  on_conflict: 'dates',
  attendees: 'attendees',
  description: 'description',
  organizer_id: 'organizer',
  organizer_email: 'organizer',
  reminders: 'reminders',
  override: 'override',
}

export interface Found {
  byField: Record<string, string[]>
  /** Errors of attendees, by index. */
  byPerson: Record<number, string[]>
  /** Errors of custom fields, by name. */
  byCustom: Record<string, string[]>
}

/** Returns the errors of a rejected request by form field, in the reader's language. */
export function faultsOf(err: unknown, zone: string): Found {
  const found: Found = { byField: {}, byPerson: {}, byCustom: {} }
  const add = (field: string, text: string) => {
    const texts = (found.byField[field] ??= [])
    if (!texts.includes(text)) texts.push(text)
  }
  if (!(err instanceof Problem)) {
    add('', String(err))
    return found
  }
  for (const fault of err.faults) {
    const at = (fault.location ?? '').replace(/^body\.?/, '')
    const field = fieldOf[at.split(/[.[]/)[0] ?? ''] ?? ''
    const text = textOf(fault, field, zone)
    const custom = /^fields\.(\w+)/.exec(at)?.[1]
    const person = /^attendees\[(\d+)\]/.exec(at)
    if (custom) {
      ;(found.byCustom[custom] ??= []).push(text)
      add(field, `${customFields.label(custom)}: ${text}`)
    } else if (person) (found.byPerson[Number(person[1])] ??= []).push(text)
    else if (fault.code === 'step' && field === 'end' && found.byField.start?.includes(text)) continue
    else add(field, text)
    if (person) found.byField[field] ??= []
  }
  if (!err.faults.length) add('', describe(err))
  return found
}

/** Whether a booking was rejected because of custom fields, which only the form asks for. */
export function asksForFields(err: unknown): boolean {
  return err instanceof Problem && err.faults.some((f) => /^body\.fields\b/.test(f.location ?? ''))
}

function textOf(fault: Reason, field: string, zone: string): string {
  if (field === 'title' && fault.code === 'too_short') return i18n.t.fault.required!
  if (field === 'rooms' && fault.code === 'too_few') return i18n.t.booking.noRoom
  return reasonText(fault, zone)
}
