import { Problem } from '../lib/api/client'
import { i18n } from '../lib/i18n/index.svelte'
import { describe } from '../lib/i18n/problem'
import { reasonText, type Reason } from './reasons'

/** The parts of the form that a fault can be of, in order; "" is the form as a whole. */
export const parts = ['title', 'start', 'end', 'rooms', 'rrule', 'dates', 'attendees', 'description', 'reminders', 'override'] as const

const partOf: Record<string, string> = {
  title: 'title',
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
  reminders: 'reminders',
  override: 'override',
}

export interface Found {
  byPart: Record<string, string[]>
  /** Faults of single people, by their place. */
  ofPeople: Record<number, string[]>
}

/** The faults of a refusal in the reader's language, at the parts of the form that they are of. */
export function faultsOf(err: unknown, zone: string): Found {
  const found: Found = { byPart: {}, ofPeople: {} }
  const add = (part: string, text: string) => {
    const texts = (found.byPart[part] ??= [])
    if (!texts.includes(text)) texts.push(text)
  }
  if (!(err instanceof Problem)) {
    add('', String(err))
    return found
  }
  for (const fault of err.faults) {
    const at = (fault.location ?? '').replace(/^body\.?/, '')
    const part = partOf[at.split(/[.[]/)[0] ?? ''] ?? ''
    const text = textOf(fault, part, zone)
    const person = /^attendees\[(\d+)\]/.exec(at)
    if (person) (found.ofPeople[Number(person[1])] ??= []).push(text)
    else if (fault.code === 'step' && part === 'end' && found.byPart.start?.includes(text)) continue
    else add(part, text)
    if (person) found.byPart[part] ??= []
  }
  if (!err.faults.length) add('', describe(err))
  return found
}

function textOf(fault: Reason, part: string, zone: string): string {
  if (part === 'title' && fault.code === 'too_short') return i18n.t.fault.required!
  if (part === 'rooms' && fault.code === 'too_few') return i18n.t.booking.noRoom
  return reasonText(fault, zone)
}
