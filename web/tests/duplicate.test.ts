// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest'
import './server'
import type { Meeting, Series, User } from '../src/lib/api/client'
import { relativeDay } from '../src/lib/i18n/format'
import { session } from '../src/lib/session.svelte'
import { duplicate } from '../src/meeting/duplicate'

const m = {
  title: 'Team weekly', description: 'Agenda', room_ids: [3, 4], visibility: 'private', default_reminders: true, reminders: [],
  start: '2027-02-10T08:00:00Z', end: '2027-02-10T09:30:00Z',
  attendees: [{ user_id: 7, email: 'ada@example.org', name: 'Ada', phone: '' }, { user_id: null, email: 'g@example.org', name: 'G', phone: '' }],
} as unknown as Meeting

beforeEach(() => {
  session.user = { id: 7 } as User
})

test('a duplicate has the content, without oneself', () => {
  const d = duplicate(m, 'Europe/Berlin', undefined, new Date('2027-02-01T00:00:00Z'))
  expect(d).toMatchObject({ start: '2027-02-10T09:00:00', end: '2027-02-10T10:30:00', fields: { title: 'Team weekly', rooms: [3, 4], private: true } })
  expect(d.fields!.attendees!.map((a) => a.email)).toEqual(['g@example.org'])
  expect(d.meeting ?? d.fields!.repeats).toBeUndefined()
})

test('of a past meeting it is on the next such weekday, at the same local time', () => {
  const d = duplicate(m, 'Europe/Berlin', undefined, new Date('2027-03-31T12:00:00Z')) // clocks changed on March 28
  expect([d.start, d.end]).toEqual(['2027-04-07T09:00:00', '2027-04-07T10:30:00'])
})

test('of a series it repeats', () => {
  const d = duplicate(m, 'Europe/Berlin', { rrule: 'FREQ=WEEKLY;BYDAY=WE;COUNT=10' } as Series, new Date('2027-02-01T00:00:00Z'))
  expect(d.fields).toMatchObject({ repeats: true, text: 'FREQ=WEEKLY;BYDAY=WE;COUNT=10' })
})

test('what is on another day is said in days, unless it is soon', () => {
  const now = new Date('2027-02-09T22:00:00Z')
  const said = (at: string) => relativeDay(at, now, 'Europe/Berlin')
  expect(said('2027-02-09T22:40:00Z')).toBe('in 40 minutes')
  expect(said('2027-02-10T00:00:00Z')).toBe('in 2 hours')
  expect(said('2027-02-10T09:00:00Z')).toBe('tomorrow')
  expect(said('2027-02-11T05:00:00Z')).toBe('in 2 days')
  expect(said('2027-02-08T12:00:00Z')).toBe('yesterday')
})
