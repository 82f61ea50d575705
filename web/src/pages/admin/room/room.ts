// A room as a form shows it, and back.

import type { Room } from '../../../lib/api/client'
import { seconds } from '../../../lib/duration'
import { clockTime, duration, list, number, weekdays } from '../../../lib/i18n/format'
import type { Fact } from '../facts'
import { accessOf } from '../groups/AccessFields.svelte'
import { installation } from '../installation.svelte'
import { words } from '../words.svelte'

export const days = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const
export type Day = (typeof days)[number]

/** Times of day as <input type=time> has them; an end at 00:00 is the end of the day. */
export interface Hours {
  from: string
  to: string
}

export type Week = Record<Day, Hours[]>

export type RoomForm = ReturnType<typeof formOf>
export type RoomBody = ReturnType<typeof bodyOf>
/** What is wrong, by field of the form. */
export type Faults = Record<string, string[]>

export function formOf(room: Room | null) {
  const p = room?.policy
  const a = room?.approval
  const check = room?.check_in
  return {
    name: room?.name ?? '',
    site: room?.site_id ?? 0,
    floor: room?.floor ?? '',
    capacity: (room?.capacity || null) as number | null,
    features: [...(room?.features ?? [])],
    timezone: room?.own_timezone ?? '',
    address: room?.address ?? '',
    facility_email: room?.facility_email ?? '',
    active: room?.active ?? true,
    approval: {
      required: a?.required ?? false,
      approvers: [...(a?.approver_ids ?? [])],
      second: [...(a?.second_level?.approver_ids ?? [])],
      timeout: a?.timeout ?? null,
      onTimeout: a?.on_timeout ?? '',
      escalateAfter: a?.escalate_after ?? null,
      escalateTo: [...(a?.escalate_to ?? [])],
    },
    ownAccess: Boolean(room?.access),
    access: accessOf(room?.access),
    always: !p?.opening_hours.length,
    week: weekOf(p?.opening_hours ?? []),
    step: p?.step ?? null,
    min: some(p?.min_duration),
    max: p?.max_duration ?? null,
    notice: some(p?.min_notice),
    advance: p?.max_advance ?? null,
    lastChange: p?.last_change ?? null,
    before: some(p?.buffer_before),
    after: some(p?.buffer_after),
    quota: {
      per: (p?.quota?.per ?? '') as '' | 'day' | 'week' | 'month',
      count: (p?.quota?.count ?? null) as number | null,
      duration: p?.quota?.duration ?? null,
      groups: (p?.quota?.groups ?? []).map((g) => ({ group: g.group_id, count: (g.count ?? null) as number | null, duration: g.duration ?? null })),
    },
    checkIn: {
      /** "": as configured. */
      required: (!check || check.inherited ? '' : check.required ? 'yes' : 'no') as '' | 'yes' | 'no',
      opens: some(check?.opens ?? installation.text('booking.check_in.opens')),
      grace: some(check?.grace ?? installation.text('booking.check_in.grace')),
    },
  }
}

/** The hours that are offered first: those of an office. */
export const office: Room['policy']['opening_hours'] = [{ days: days.slice(0, 5), from: '08:00', to: '20:00' }]

/** A duration that is not zero. */
function some(text: string | undefined): string | null {
  return text && seconds(text) ? text : null
}

/** Opening hours by day. */
export function weekOf(rows: Room['policy']['opening_hours']): Week {
  const week = Object.fromEntries(days.map((d) => [d, [] as Hours[]])) as Week
  for (const row of rows) {
    for (const day of row.days ?? []) week[day as Day]?.push({ from: row.from, to: row.to === '24:00' ? '00:00' : row.to })
  }
  return week
}

/** The rows of a week: days with the same hours share one. */
export function rowsOf(week: Week): { days: Day[]; from: string; to: string }[] {
  const rows = new Map<string, { days: Day[]; from: string; to: string }>()
  for (const day of days) {
    for (const h of week[day]) {
      const key = `${h.from}-${h.to}`
      const row = rows.get(key) ?? { days: [], from: h.from, to: h.to === '00:00' ? '24:00' : h.to }
      row.days.push(day)
      rows.set(key, row)
    }
  }
  return [...rows.values()]
}

export function bodyOf(f: RoomForm) {
  return {
    name: f.name.trim(),
    site_id: f.site || null,
    floor: f.floor.trim(),
    capacity: f.capacity ?? 0,
    features: f.features,
    timezone: f.timezone.trim() || null,
    address: f.address.trim() || null,
    facility_email: f.facility_email.trim() || null,
    active: f.active,
    approval: {
      required: f.approval.required,
      approver_ids: f.approval.approvers,
      second_level: { approver_ids: f.approval.second },
      timeout: f.approval.timeout,
      on_timeout: (f.approval.onTimeout || null) as 'reject' | 'approve' | null,
      escalate_after: f.approval.escalateAfter,
      escalate_to: f.approval.escalateTo,
    },
    policy: {
      opening_hours: f.always ? [] : rowsOf(f.week),
      min_duration: f.min ?? '0s',
      max_duration: f.max,
      step: f.step,
      min_notice: f.notice ?? '0s',
      max_advance: f.advance,
      last_change: f.lastChange,
      buffer_before: f.before ?? '0s',
      buffer_after: f.after ?? '0s',
      quota: f.quota.per
        ? {
            per: f.quota.per,
            count: f.quota.count ?? undefined,
            duration: f.quota.duration ?? undefined,
            groups: f.quota.groups.filter((g) => g.group).map((g) => ({ group_id: g.group, count: g.count ?? undefined, duration: g.duration ?? undefined })),
          }
        : (null as never), // the description of the API has no null for objects, though it clears them
    },
    access: f.ownAccess ? f.access : (null as never), // as with the quota
    check_in: checkInOf(f.checkIn),
  }
}

/** A window that nobody sees stays as it is. */
function checkInOf(c: RoomForm['checkIn']) {
  if (c.required === 'yes') return { required: true, opens: c.opens ?? '0s', grace: c.grace ?? '0s' }
  return c.required ? { required: false } : (null as never) // as with the quota
}

/** The field of the form that a location of the API is about. */
export function fieldOf(at: string): string {
  const names: [string, string][] = [
    ['site_id', 'site'],
    ['approval.approver_ids', 'approvers'],
    ['approval.second_level', 'second'],
    ['approval.timeout', 'timeout'],
    ['approval.on_timeout', 'onTimeout'],
    ['approval.escalate_after', 'escalateAfter'],
    ['approval.escalate_to', 'escalateTo'],
    ['policy.opening_hours', 'opening'],
    ['policy.min_duration', 'min'],
    ['policy.max_duration', 'max'],
    ['policy.step', 'step'],
    ['policy.min_notice', 'notice'],
    ['policy.last_change', 'lastChange'],
    ['policy.max_advance', 'advance'],
    ['policy.buffer_before', 'before'],
    ['policy.buffer_after', 'after'],
    ['policy.quota.per', 'quotaPer'],
    ['policy.quota.duration', 'quotaDuration'],
    ['policy.quota.groups', 'quotaGroups'],
    ['policy.quota', 'quotaCount'],
    ['access', 'access'],
    ['check_in.opens', 'opens'],
    ['check_in.grace', 'grace'],
    ['check_in', 'checkIn'],
    ...['name', 'floor', 'capacity', 'features', 'timezone', 'address', 'facility_email', 'active'].map((n): [string, string] => [n, n]),
  ]
  return names.find(([start]) => at.startsWith(start))?.[1] ?? ''
}

/** A duration of the API in words: "2 hours", "1 hour 30 minutes". */
export function inWords(text: string): string {
  let left = seconds(text)
  if (Number.isNaN(left)) return text
  if (left === 0 || left % 86400 === 0) return duration(left)
  const parts: string[] = []
  for (const unit of [86400, 3600, 60, 1]) {
    const n = Math.floor(left / unit)
    if (n) parts.push(duration(n * unit))
    left -= n * unit
  }
  return parts.join(' ')
}

interface Lookup {
  site: (id: number) => string
  person: (id: number) => string
}

/** What an empty field means: the installation's setting. */
export function configured(key: string): string {
  return words.t.room.configured(inWords(installation.text(key)))
}

/** The check-in of rooms that say nothing else. */
export function configuredCheckIn() {
  const text = (key: string) => installation.text('booking.check_in.' + key)
  return { required: text('required') === 'true', opens: text('opens'), grace: text('grace') }
}

/** What holds for a room, in words: the summary beside the form, and what a conflict compares. */
export function factsOf(f: RoomForm, look: Lookup): Fact[] {
  const t = words.t.summary
  const usual = (key: string) => inWords(installation.text(key))
  const people = (ids: number[]) => list(ids.map(look.person))
  const facts: Fact[] = []
  const say = (label: string, text: string) => facts.push({ label, text })

  const place = [f.site ? look.site(f.site) : '', f.floor ? t.floor(f.floor) : '', f.timezone].filter(Boolean)
  say(t.place, [f.name.trim(), ...place].join(' · '))
  say(t.fits, [f.capacity ? t.persons(f.capacity) : t.anyNumber, ...(f.features.length ? [list(f.features)] : [])].join(' · '))
  if (f.address) say(words.t.room.address, f.address.trim())
  if (f.facility_email) say(words.t.sites.facility, f.facility_email.trim())
  say(t.state, f.active ? t.active : t.inactive)
  say(t.open, f.always ? t.alwaysOpen : hoursInWords(f.week) || t.neverOpen)

  const most = f.max ? inWords(f.max) : usual('booking.limits.max_duration')
  say(
    t.length,
    [f.min ? t.between(inWords(f.min), most) : t.atMost(most), ...(f.step ? [t.steps(inWords(f.step))] : [])].join(', '),
  )
  const ahead = f.advance ? inWords(f.advance) : usual('booking.limits.max_advance')
  say(t.ahead, f.notice ? t.noticeTo(inWords(f.notice), ahead) : t.upTo(ahead))
  if (f.before || f.after) {
    say(t.buffers, [f.before && t.before(inWords(f.before)), f.after && t.after(inWords(f.after))].filter(Boolean).join(', '))
  }
  const q = f.quota
  if (q.per) {
    const parts = [q.count ? t.times(number(q.count)) : '', q.duration ? inWords(q.duration) : ''].filter(Boolean)
    const limit = parts.length ? t.each[q.per](parts.join(t.and)) : '–'
    say(t.quota, q.groups.length ? `${limit}; ${t.quotaByGroup(q.groups.length)}` : limit)
  }
  if (f.approval.required) {
    const a = f.approval
    const who = a.approvers.length ? people(a.approvers) : t.admins
    const wait = a.timeout ? inWords(a.timeout) : usual('booking.approval.timeout')
    const then = a.onTimeout || installation.text('booking.approval.on_timeout')
    const text = [
      a.second.length ? t.approvalTwo(who, people(a.second)) : t.approvalOne(who),
      then === 'approve' ? t.elseApproved(wait) : t.elseRejected(wait),
    ]
    const escalate = a.escalateAfter ?? installation.text('booking.approval.escalate_after')
    if (seconds(escalate)) text.push(t.escalates(inWords(escalate), a.escalateTo.length ? people(a.escalateTo) : t.admins))
    say(t.approval, text.join(' '))
  } else say(t.approval, t.noApproval)
  const own = f.checkIn
  const c = own.required ? { ...own, required: own.required === 'yes' } : configuredCheckIn()
  const checkIn = c.required ? t.checkInWindow(inWords(c.opens ?? '0s'), inWords(c.grace ?? '0s')) : t.noCheckIn
  say(t.checkIn, own.required ? checkIn : t.asConfigured(checkIn))
  return facts
}

/** "Mon–Fri 08:00–20:00, Sat 10:00–14:00" */
export function hoursInWords(week: Week): string {
  const names = weekdays()
  const parts: string[] = []
  for (let i = 0; i < days.length; ) {
    const text = (d: Day) => week[d].map((h) => `${clockTime(h.from)}–${clockTime(h.to === '24:00' ? '00:00' : h.to)}`).join(' + ')
    const same = text(days[i]!)
    let j = i
    while (j + 1 < days.length && text(days[j + 1]!) === same) j++
    if (same) parts.push(`${i === j ? names[i] : `${names[i]}–${names[j]}`} ${same}`)
    i = j + 1
  }
  return parts.join(', ')
}
