import type { Room } from '../lib/api/client'
import { seconds } from '../lib/duration'
import * as f from '../lib/i18n/format'
import { i18n } from '../lib/i18n/index.svelte'

/** Returns the rules for booking the room, in words. */
export function rulesInWords(room: Room): string[] {
  const t = i18n.t.room
  const p = room.policy
  const words = (text: string | null | undefined) => {
    const s = text ? seconds(text) : NaN
    return s > 0 ? f.duration(s) : ''
  }
  const [least, most] = [words(p.min_duration), words(p.max_duration)]
  const rules: string[] = []
  if (least && most) rules.push(t.length(least, most))
  else if (least) rules.push(t.least(least))
  else if (most) rules.push(t.most(most))
  if (words(p.step)) rules.push(t.step(words(p.step)))
  if (words(p.min_notice)) rules.push(t.notice(words(p.min_notice)))
  if (words(p.max_advance)) rules.push(t.advance(words(p.max_advance)))
  if (words(p.last_change)) rules.push(t.lastChange(words(p.last_change)))
  const [before, after] = [words(p.buffer_before), words(p.buffer_after)]
  if (before) rules.push(t.before(before))
  if (after) rules.push(t.after(after))
  if (p.quota) {
    const { per, count, duration } = p.quota
    if (count) rules.push(t.quotaCount[per](count))
    if (words(duration)) rules.push(t.quotaTime[per](words(duration)))
  }
  return rules
}

/** Returns whether approval is needed, and how people check in. */
export function duties(room: Room): string[] {
  const t = i18n.t.room
  const duties: string[] = []
  if (room.approval.required) {
    const s = room.approval.timeout ? seconds(room.approval.timeout) : 0
    duties.push(s ? t.approvalWithin(f.duration(s)) : t.approval)
  }
  if (room.check_in.required) duties.push(t.checkIn(f.duration(seconds(room.check_in.grace) || 0)))
  return duties
}
