import { fullDate } from '../lib/i18n/format'
import { i18n } from '../lib/i18n/index.svelte'
import { clock } from '../lib/live.svelte'
import { session } from '../lib/session.svelte'
import { addDays, today } from '../lib/zone'

/** "Today · Saturday, 21 November" */
export function dayName(date: string): string {
  const now = today(session.zone, clock.now)
  const full = fullDate(date, session.zone)
  if (date === now) return `${i18n.t.day.today} · ${full}`
  if (date === addDays(now, 1)) return `${i18n.t.mine.tomorrow} · ${full}`
  return full
}
