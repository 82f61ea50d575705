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
