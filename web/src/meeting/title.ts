import type { Meeting } from '../lib/api/client'
import { i18n } from '../lib/i18n/index.svelte'

/** Whether it is a private meeting of others, which shows only its time. */
export function veiled(m: Pick<Meeting, 'title' | 'visibility' | 'organizer'>): boolean {
  return m.visibility === 'private' && m.title === 'Busy' && !m.organizer?.id
}

/** The title; for a private meeting of others the server's "Busy", in the reader's language. */
export function titleOf(m: Pick<Meeting, 'title' | 'visibility'>): string {
  const hidden = m.visibility === 'private' && m.title === 'Busy'
  return hidden || !m.title ? i18n.t.meeting.busy : m.title
}
