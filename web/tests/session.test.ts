// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest'
import { problem, requests, reset, route } from './server'
import { api, ask, type User } from '../src/lib/api/client'
import { i18n } from '../src/lib/i18n/index.svelte'
import { session } from '../src/lib/session.svelte'

const ada = { id: 7, name: 'Ada', role: 'manager', timezone: 'Asia/Tokyo', locale: 'de-AT' } as User

beforeEach(() => {
  reset()
  localStorage.clear()
  session.user = null
  session.state = 'unknown'
})

test('whoever has a session is signed in, in their own language', async () => {
  route('GET /auth/session', () => ({ user: ada }))
  await session.load()
  expect([session.state, session.user?.name, i18n.language]).toEqual(['in', 'Ada', 'de'])
  expect([session.zone, session.admin, session.decides]).toEqual(['Asia/Tokyo', false, true])
})

test('without a session the user is signed out; without an answer the server is unreachable', async () => {
  route('GET /auth/session', () => ({ user: null }))
  await session.load()
  expect(session.state).toBe('out')
  reset()
  await session.load()
  expect(session.state).toBe('unreachable')
})

test.each([
  ['admin', true, true],
  ['manager', false, true],
  ['member', false, false],
] as const)('%s', (role, admin, decides) => {
  session.user = { ...ada, role }
  expect([session.admin, session.decides]).toEqual([admin, decides])
})

test('any request that is refused for lack of a session signs out', async () => {
  session.user = ada
  session.state = 'in'
  route('GET /me', () => problem(401, 'unauthorized'))
  await expect(ask(api.GET('/me'))).rejects.toThrow()
  expect([session.state, session.user]).toEqual(['out', null])
})

test('a wrong password does not sign out', async () => {
  session.state = 'unknown'
  route('POST /auth/login', () => problem(401, 'wrong_password'))
  await expect(session.signIn('ada@x.org', 'no')).rejects.toMatchObject({ status: 401, code: 'wrong_password' })
  expect(session.state).toBe('unknown')
})

test('a password may need a code; then only the code signs in', async () => {
  session.state = 'out'
  route('POST /auth/login', () => problem(401, 'second_factor_required', { challenge: 'c' }))
  await session.signIn('ada@x.org', 'right')
  expect([session.state, session.challenge, session.user]).toEqual(['out', 'c', null])
  route('POST /auth/login/confirm', () => problem(422, 'invalid'))
  await expect(session.confirm('000000')).rejects.toThrow()
  expect([session.state, session.challenge]).toEqual(['out', 'c'])
  let sent: unknown
  route('POST /auth/login/confirm', async (request) => {
    sent = await request.json()
    return { user: ada }
  })
  await session.confirm('123456')
  expect([session.state, session.challenge, session.user?.name]).toEqual(['in', '', 'Ada'])
  expect(sent).toEqual({ challenge: 'c', code: '123456' })
})

test('a session may be for setting up codes alone', async () => {
  route('GET /auth/session', () => ({ user: ada, enroll: true }))
  await session.load()
  expect([session.state, session.enroll]).toEqual(['in', true])
  session.enrolled()
  expect(session.enroll).toBe(false)
})

test('signing out ends the session here even if the server does not answer', async () => {
  session.user = ada
  session.state = 'in'
  await expect(session.signOut()).rejects.toThrow()
  expect([session.state, session.user]).toEqual(['out', null])
})

test('a chosen language is kept in the profile, unless it is there', async () => {
  session.user = ada
  route('PATCH /me', () => ({ ...ada, locale: 'en' }))
  await session.speak('de') // de-AT is German
  expect(requests).toEqual([])
  await session.speak('en')
  expect([requests, session.user?.locale, i18n.language]).toEqual([['PATCH /me'], 'en', 'en'])
  session.user = null
  await session.speak('zh')
  expect([requests.length, i18n.language]).toEqual([1, 'zh'])
})

test('the user of the last visit is assumed until the server answers', async () => {
  route('GET /auth/session', () => ({ user: { ...ada, phone: '+49301234567' } }))
  await session.load()
  expect(localStorage.getItem('punctual.user')).not.toContain('4930')
  session.user = null
  session.state = 'unknown'
  session.confirmed = false

  expect(session.resume()).toMatchObject({ id: 7, name: 'Ada', locale: 'de-AT' })
  expect([session.state, session.confirmed, session.decides]).toEqual(['in', false, true])
  await session.load()
  expect([session.state, session.confirmed, (session.user as User | null)?.phone]).toEqual(['in', true, '+49301234567'])

  // Signed out meanwhile: nobody is assumed from now on.
  reset()
  route('GET /auth/session', () => ({ user: null }))
  await session.load()
  expect([session.state, session.confirmed, session.resume()]).toEqual(['out', false, null])
})

test('nobody is assumed who must set up two-step verification, or if the storage holds something else', async () => {
  route('GET /auth/session', () => ({ user: ada, enroll: true }))
  await session.load()
  expect(session.resume()).toBe(null)
  for (const broken of ['{', '[]', '{"name":"Ada"}']) {
    localStorage.setItem('punctual.user', broken)
    expect(session.resume()).toBe(null)
  }
})
