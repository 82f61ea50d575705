import { describe, expect, it } from 'vitest'
import { done, type Facts } from '../src/pages/admin/start/checks'

const facts: Facts = {
  sites: 1, rooms: 2, people: 2, driver: 'smtp', mailed: true, baseURL: 'https://rooms.example.org/', origin: 'https://rooms.example.org', backedUp: true,
}

describe('what a new installation needs', () => {
  it('is all done', () => expect(Object.values(done(facts)).every(Boolean)).toBe(true))
  it.each([
    ['site', { sites: 0 }],
    ['rooms', { rooms: 0 }],
    ['people', { people: 1 }],
    ['mail', { driver: 'outbox' }],
    ['mail', { mailed: false }],
    ['address', { baseURL: 'http://localhost:8080' }],
    ['address', { origin: 'https://rooms.example.org.evil.net' }],
    ['backup', { backedUp: false }],
  ] as const)('lacks %s with %o', (step, change) => {
    const missing = Object.entries(done({ ...facts, ...change })).filter(([, ok]) => !ok).map(([name]) => name)
    expect(missing).toEqual([step])
  })
})
