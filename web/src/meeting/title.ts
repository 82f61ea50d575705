import type { Meeting } from '../lib/api/client'
import { i18n } from '../lib/i18n/index.svelte'

/** Reports whether it is another user's private meeting, which shows only its time. */
export function veiled(m: Pick<Meeting, 'title' | 'visibility' | 'organizer'>): boolean {
  return m.visibility === 'private' && m.title === 'Busy' && !m.organizer?.id
}

/** Returns the title; for another user's private meeting the server's "Busy", translated. */
export function titleOf(m: Pick<Meeting, 'title' | 'visibility'>): string {
  const hidden = m.visibility === 'private' && m.title === 'Busy'
  return hidden || !m.title ? i18n.t.meeting.busy : m.title
}
