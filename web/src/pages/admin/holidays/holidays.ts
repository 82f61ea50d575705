import type { components } from '../../../lib/api/schema'
import { list, shortDate } from '../../../lib/i18n/format'
import { rooms } from '../../../lib/rooms.svelte'

export type HolidayCalendar = components['schemas']['HolidayCalendar']
export type Holiday = components['schemas']['Holiday']
export type Effect = components['schemas']['EffectiveHolidays']

/** The largest file that the server takes, in bytes. */
export const maxBytes = 1_000_000

/** The sites that a calendar closes; empty: all. */
export const sitesOf = (c: { site_ids: number[] }) => list(c.site_ids.map((id) => rooms.siteByID.get(id)?.name ?? `#${id}`))

export const dayText = (d: Holiday) => (d.first === d.last ? shortDate(d.first) : `${shortDate(d.first)} – ${shortDate(d.last)}`)
