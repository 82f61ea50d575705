import type { components } from '../../../lib/api/schema'

type EventType = components['schemas']['Event']['type']

// Fails to compile if a type is missing.
const named: Record<EventType, true> = {
  'meeting.created': true,
  'meeting.confirmed': true,
  'meeting.rejected': true,
  'meeting.changed': true,
  'meeting.cancelled': true,
  'meeting.started': true,
  'meeting.ended': true,
  'meeting.released': true,
  'meeting.checked_in': true,
  'meeting.responded': true,
}

/** The events that a webhook can subscribe to. */
export const eventTypes = Object.keys(named) as EventType[]
