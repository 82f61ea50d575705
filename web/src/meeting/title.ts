import type { Meeting } from '../lib/api/client'
import { i18n } from '../lib/i18n/index.svelte'

/** The title; a private meeting of others is just busy, in the reader's language. */
export function titleOf(m: Meeting): string {
  const hidden = m.visibility === 'private' && !m.organizer?.email
  return hidden || !m.title ? i18n.t.meeting.busy : m.title
}
