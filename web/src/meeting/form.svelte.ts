import { untrack } from 'svelte'
import { filters } from '../day/filters.svelte'
import type { Meeting, SeriesResult } from '../lib/api/client'
import { customFields, type Value } from '../lib/customFields.svelte'
import { rooms } from '../lib/rooms.svelte'
import { addDays, addMinutes, instantOf, minutesBetween, today, wallOf } from '../lib/zone'
import type { Draft, Fields } from './draft'
import { fromAPI, toAPI } from './reminders'
import { firstOf, moved, ruleOf, textOf, type Rule } from './rule'

/** The zone of the times: the first room's, or the day's before a room is chosen. */
const zoneOf = (id: number | undefined) => (id ? rooms.zone(rooms.byID.get(id)) : filters.roomZone)

/** The booking form: a new meeting or series, a changed meeting, or changed dates of a series. */
export class Form {
  readonly meeting: Meeting | undefined
  readonly series: Draft['series']
  f = $state() as Fields
  #before: string

  zone = $derived.by(() => zoneOf(this.f.rooms[0]))
  startWall = $derived.by(() => wall(this.f.date, this.f.start))
  endWall = $derived.by(() => wall(this.f.endDate, this.f.end))
  /** The length in minutes on the clock; 0 while a time is missing. */
  length = $derived.by(() => (this.startWall && this.endWall ? minutesBetween(this.startWall, this.endWall) : 0))
  /** The time of the meeting, or of the first date of a series; null while unknown. */
  slot = $derived.by(() =>
    this.length > 0 ? { start: instantOf(this.startWall, this.zone), end: instantOf(this.endWall, this.zone) } : null,
  )
  dirty = $derived.by(() => JSON.stringify(this.f) !== this.#before)

  constructor(draft: Draft) {
    this.meeting = draft.meeting
    this.series = draft.series
    const fresh = untrack(() => initial(draft))
    this.#before = JSON.stringify(fresh)
    this.f = draft.kept?.fields ?? fresh
  }

  /** A new start keeps the length and adjusts the rule. */
  setStart(date: string, time: string) {
    const keep = this.length > 0 ? this.length : 60
    if (date && this.f.date && this.f.rule) this.f.rule = moved(this.f.rule, this.f.date, date)
    this.f.date = date
    this.f.start = time
    if (date && time) this.#endAt(addMinutes(`${date}T${time}:00`, keep))
  }

  /** An end before the start means the next day. */
  setEnd(time: string) {
    this.f.end = time
    if (!time || this.f.endDate > addDays(this.f.date, 1)) return
    this.f.endDate = time <= this.f.start ? addDays(this.f.date, 1) : this.f.date
  }

  setLength(minutes: number) {
    if (this.startWall) this.#endAt(addMinutes(this.startWall, minutes))
  }

  #endAt(end: string) {
    this.f.endDate = end.slice(0, 10)
    this.f.end = end.slice(11, 16)
  }

  /** Applies a suggested time. */
  setSlot(start: Date | string, end: Date | string) {
    const from = wallOf(start, this.zone)
    this.setStart(from.slice(0, 10), from.slice(11, 16))
    this.#endAt(wallOf(end, this.zone))
  }

  /** Sets a rule. If the rule does not match the first date, that date moves to the next match. */
  setRule(rule: Rule | null) {
    this.f.rule = rule
    if (!rule || !this.f.date) return
    const first = firstOf(rule, this.f.date)
    if (first !== this.f.date) {
      const keep = this.length
      this.f.date = first
      if (this.f.start && keep > 0) this.setLength(keep)
    }
  }

  toggleRoom(id: number) {
    const at = this.f.rooms.indexOf(id)
    if (at < 0) this.f.rooms.push(id)
    else this.f.rooms.splice(at, 1)
  }

  /** Returns the rule in API format; an endless rule ends at `furthest`. */
  rule(furthest: string): string {
    const { rule, text, date } = this.f
    if (!rule) return text.trim()
    return textOf(rule, date) + (rule.ends === 'never' ? `;${furthest}` : '')
  }

  /** Returns the form in API format. Times are local to the zone: the server validates them. */
  body() {
    return bodyOf(this.f)
  }

  /** Returns the changed fields only. */
  patch() {
    const now = this.body()
    const was = bodyOf(JSON.parse(this.#before) as Fields)
    const changed: Partial<ReturnType<typeof bodyOf>> = {}
    for (const key of Object.keys(now) as (keyof typeof now)[]) {
      if (JSON.stringify(now[key]) !== JSON.stringify(was[key])) Object.assign(changed, { [key]: now[key] })
    }
    // Local times are ambiguous without their zone.
    if ('start' in changed || 'end' in changed || 'timezone' in changed) {
      Object.assign(changed, { start: now.start, end: now.end, timezone: now.timezone })
    }
    return changed
  }

  /** Returns the fields of a series, in addition to those of a meeting. */
  recurrence(furthest: string) {
    const { skips, choices, onConflict, start } = this.f
    return {
      rrule: this.rule(furthest),
      exdates: [...skips],
      choices: Object.entries(choices).map(([date, ids]) => ({ original_start: wall(date, start), room_ids: [...ids] })),
      on_conflict: onConflict,
    }
  }

  /** Returns what makes the meeting a series: its changes, and the rule in local times. */
  repeatBody(furthest: string) {
    const { start, end, timezone } = this.body()
    const { organizer_email: _, ...patch } = this.patch()
    return { ...patch, start, end, timezone, ...this.recurrence(furthest) }
  }

  /** Returns the changes to a series; the rule only if the user changed it. */
  recurrencePatch(furthest: string, planned: SeriesResult | null) {
    const { exdates, choices, on_conflict, rrule } = this.recurrence(furthest)
    const was = JSON.parse(this.#before) as Fields
    const touched = JSON.stringify([was.rule, was.text]) !== JSON.stringify([this.f.rule, this.f.text])
    return {
      ...(touched ? { rrule } : {}),
      ...(exdates.length ? { exdates: [...(planned?.series.exdates ?? []), ...exdates] } : {}),
      ...(choices.length ? { choices } : {}),
      on_conflict,
      ...(this.series?.from ? { scope: 'following' as const, from: this.series.from } : { scope: 'all' as const }),
    }
  }
}

const wall = (date: string, time: string) => (date && time ? `${date}T${time}:00` : '')

function bodyOf(v: Fields) {
  return {
    title: v.title.trim(),
    room_ids: [...v.rooms],
    start: wall(v.date, v.start),
    end: wall(v.endDate, v.end),
    timezone: zoneOf(v.rooms[0]),
    description: v.description,
    type_id: v.type || null,
    fields: customOf(v),
    organizer_email: v.organizer[0]?.email || undefined,
    attendees: v.attendees.map(({ email, name, phone }) => ({ email: email || undefined, name: name || undefined, phone: phone || undefined })),
    reminders: toAPI(v.reminders),
    visibility: (v.private ? 'private' : 'public') as 'private' | 'public',
    ...(v.override ? { override: { reason: v.overrideReason.trim() } } : {}),
  }
}

/** The values of the custom fields that the rooms ask for; null clears one. */
function customOf(v: Fields): Record<string, Value> | undefined {
  const asked = customFields.asked(v.rooms.flatMap((id) => rooms.byID.get(id) ?? []))
  if (!asked.length) return undefined
  return Object.fromEntries(asked.map(({ name }) => [name, v.custom[name] === '' ? null : (v.custom[name] ?? null)]))
}

function initial(draft: Draft): Fields {
  const { meeting, series } = draft
  const of = series?.series ?? meeting
  const ids = of ? [...of.room_ids] : (draft.fields?.rooms ?? (draft.roomID ? [draft.roomID] : []))
  const zone = meeting && !series ? rooms.zoneOf(meeting) : zoneOf(ids[0])
  let start = draft.start ?? (meeting && !series ? wallOf(meeting.start, zone) : nextStart(zone))
  let end = draft.end ?? (meeting && !series ? wallOf(meeting.end, zone) : addMinutes(start, 60))
  if (series) {
    const { dtstart, dtend, timezone } = series.series
    start = series.from ? wallOf(series.from, timezone) : dtstart
    end = addMinutes(start, minutesBetween(dtstart, dtend))
  }
  const date = start.slice(0, 10)
  const rule = series ? ruleOf(series.series.rrule, date) : null
  if (rule && series?.from && rule.ends === 'count') rule.count = Math.max(1, series.left)
  return {
    title: of?.title ?? '',
    rooms: ids,
    date,
    start: start.slice(11, 16),
    endDate: end.slice(0, 10),
    end: end.slice(11, 16),
    type: of?.type_id ?? 0,
    custom: { ...(of?.fields as Record<string, Value> | undefined) },
    organizer: of ? [{ email: of.organizer.email, name: of.organizer.name }] : [],
    attendees: (of?.attendees ?? []).map(({ email, name, phone }) => ({ email, name, phone })),
    typing: '',
    description: of?.description ?? '',
    private: of?.visibility === 'private',
    reminders: fromAPI(of?.reminders ?? [], of ? !of.default_reminders : false),
    repeats: Boolean(series),
    rule,
    text: series?.series.rrule ?? '',
    onConflict: 'fail',
    skips: [],
    choices: {},
    override: false,
    overrideReason: '',
    ...draft.fields,
  }
}

/** Returns the next half hour today, or 9:00 on another day. */
function nextStart(zone: string): string {
  if (filters.date !== today(zone)) return filters.date + 'T09:00:00'
  const now = wallOf(new Date(), zone)
  return addMinutes(now.slice(0, 14) + '00:00', Number(now.slice(14, 16)) < 30 ? 30 : 60)
}
