// A person as a form shows them, and back.

import type { User } from '../../../lib/api/client'
import { dateTime } from '../../../lib/i18n/format'
import { i18n } from '../../../lib/i18n/index.svelte'
import { session } from '../../../lib/session.svelte'
import { addDays, instantOf, wallOf } from '../../../lib/zone'
import type { Fact } from '../facts'
import { words } from '../words.svelte'

export const roles = ['member', 'manager', 'admin'] as const

/** How a new person gets to sign in. */
export const signIns = ['invite', 'password', 'none'] as const

export type PersonForm = ReturnType<typeof formOf>

export function formOf(u: User | null) {
  const day = (at: number) => wallOf(new Date(at), session.zone).slice(0, 10)
  return {
    name: u?.name ?? '',
    email: u?.email ?? '',
    role: (u?.role ?? 'member') as (typeof roles)[number],
    signIn: 'invite' as (typeof signIns)[number],
    password: '',
    phone: u?.phone ?? '',
    locale: u?.locale ?? '',
    timezone: u?.timezone ?? '',
    away: {
      is: u?.away != null,
      from: u?.away ? day(Date.parse(u.away.from)) : '',
      /** The last day of it. */
      until: u?.away ? day(Date.parse(u.away.until) - 1) : '',
      deputy: u?.away?.deputy_id ?? 0,
    },
  }
}

/** What is sent of a new person: what is empty is the server's to say. */
export function newOf(f: PersonForm) {
  return {
    name: f.name,
    email: f.email,
    role: f.role,
    ...(f.signIn === 'invite' ? { invite: true } : f.signIn === 'password' ? { password: f.password } : {}),
    phone: f.phone || undefined,
    locale: f.locale || undefined,
    timezone: f.timezone.trim() || undefined,
  }
}

/** What is sent of somebody who is there: a password only when there is a new one, an absence only when it is another. */
export function changeOf(f: PersonForm, was: PersonForm) {
  const away = JSON.stringify(f.away) !== JSON.stringify(was.away)
  return {
    name: f.name,
    email: f.email,
    role: f.role,
    phone: f.phone,
    locale: f.locale,
    timezone: f.timezone.trim(),
    ...(f.password ? { password: f.password } : {}),
    ...(away ? { away: absenceOf(f.away) } : {}),
  }
}

function absenceOf(away: PersonForm['away']) {
  if (!away.is) return null
  const at = (date: string) => (date ? instantOf(`${date}T00:00:00`, session.zone).toISOString() : '')
  return { from: at(away.from), until: away.until ? at(addDays(away.until, 1)) : '', deputy_id: away.deputy || null }
}

/** The field of the form that a location of the API is about. */
export function fieldOf(at: string): string {
  if (at.startsWith('away')) return at.includes('deputy') ? 'deputy' : at.includes('until') ? 'awayUntil' : 'awayFrom'
  return ['name', 'email', 'role', 'password', 'phone', 'locale', 'timezone'].includes(at) ? at : ''
}

/** What a conflict compares. */
export function factsOf(u: User): Fact[] {
  const t = i18n.t.admin
  return [
    { label: t.name, text: u.name },
    { label: t.email, text: u.email },
    { label: t.role, text: t.roles[u.role] },
    { label: t.phone, text: u.phone },
    { label: i18n.t.app.language, text: u.locale },
    { label: t.timezone, text: u.timezone },
    { label: t.status, text: u.disabled ? t.disabled : t.enabled },
    { label: words.t.person.absence, text: u.away ? `${dateTime(u.away.from, session.zone)} – ${dateTime(u.away.until, session.zone)}` : '' },
  ]
}
