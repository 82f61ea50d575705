// One change of several rooms.

import type { Room } from '../../../lib/api/client'
import { bodyOf, formOf, office, weekOf, type Week } from './room'

/** What to change in every room. Empty strings, null and an empty list change nothing. */
export interface BulkChange {
  /** The ID of a site; "none" takes rooms out of their sites. */
  site: string
  capacity: number | null
  active: '' | 'yes' | 'no'
  approval: '' | 'yes' | 'no'
  /** Who approves, if approval is "yes"; empty: rooms keep their approvers. */
  approvers: number[]
  checkIn: '' | 'yes' | 'no'
  /** Opening hours; "always" is around the clock, and "week" those of `week`. */
  opening: '' | 'always' | 'week'
  week: Week
  max: string | null
  notice: string | null
  advance: string | null
}

export const noChange = (): BulkChange => ({ site: '', capacity: null, active: '', approval: '', approvers: [], checkIn: '', opening: '', week: weekOf(office), max: null, notice: null, advance: null })

/** Reports whether anything would change. */
export const changesAny = (c: BulkChange): boolean => Object.keys(bulkBody(null, c)).length > 0

/** The fields of a room to send. Rules that the change does not name stay as the room has them. */
export function bulkBody(room: Room | null, c: BulkChange) {
  const form = formOf(room)
  if (c.site) form.site = c.site === 'none' ? 0 : Number(c.site)
  form.capacity = c.capacity ?? form.capacity
  form.active = c.active === 'yes'
  form.approval.required = c.approval === 'yes'
  if (c.approvers.length) form.approval.approvers = c.approvers
  form.checkIn.required = c.checkIn
  if (c.opening) {
    form.always = c.opening === 'always'
    form.week = c.week
  }
  form.max = c.max ?? form.max
  form.notice = c.notice ?? form.notice
  form.advance = c.advance ?? form.advance

  const all = bodyOf(form)
  const chosen: Partial<typeof all> = {}
  if (c.site) chosen.site_id = all.site_id
  if (c.capacity !== null) chosen.capacity = all.capacity
  if (c.active) chosen.active = all.active
  if (c.approval) chosen.approval = all.approval
  if (c.checkIn) chosen.check_in = all.check_in
  if (c.opening || c.max || c.notice || c.advance) chosen.policy = all.policy
  return chosen
}
