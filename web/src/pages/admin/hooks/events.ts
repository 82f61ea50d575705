import type { components } from '../../../lib/api/schema'

type EventType = components['schemas']['Event']['type']

// Every type is here, or this does not compile.
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

/** The events that a webhook may be told of. */
export const eventTypes = Object.keys(named) as EventType[]
