import type { Meeting, Series } from '../lib/api/client'
import type { Value } from '../lib/customFields.svelte'
import { session } from '../lib/session.svelte'
import { addMinutes, instantOf, wallOf } from '../lib/zone'
import type { Draft } from './draft'
import { fromAPI } from './reminders'
import { ruleOf } from './rule'

const week = 7 * 24 * 60

/**
 * Returns a new booking like a meeting, at its time or, if that has passed, on the same weekday of the
 * next week that is possible. With its series, the new booking repeats as that does.
 */
export function duplicate(m: Meeting, zone: string, series?: Series, now = new Date()): Draft {
  let [start, end] = [wallOf(m.start, zone), wallOf(m.end, zone)]
  while (instantOf(start, zone) <= now) [start, end] = [addMinutes(start, week), addMinutes(end, week)]
  const rule = series ? ruleOf(series.rrule, start.slice(0, 10)) : null
  return {
    start,
    end,
    fields: {
      title: m.title,
      rooms: [...m.room_ids],
      description: m.description,
      type: m.type_id ?? 0,
      custom: m.fields as Record<string, Value>,
      private: m.visibility === 'private',
      attendees: m.attendees.filter((a) => a.user_id !== session.user?.id).map(({ email, name, phone }) => ({ email, name, phone })),
      reminders: fromAPI(m.reminders, !m.default_reminders),
      ...(series ? { repeats: true, rule, text: series.rrule } : {}),
    },
  }
}
