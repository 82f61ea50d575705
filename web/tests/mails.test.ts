import { expect, test, vi } from 'vitest'
import { dateOf } from '../src/pages/admin/mailroom/mails'

vi.mock('../src/lib/i18n/index.svelte', () => ({ i18n: { tag: 'en-US' } }))

test('the date of an answer is shown in the zone of its reader', () => {
  expect(dateOf('20370112T233000Z', 'Europe/Berlin')).toMatch(/^Tue, Jan 13, 12:30\sAM$/)
  expect(dateOf('20370112T233000', 'Europe/Berlin')).toMatch(/^Mon, Jan 12, 11:30\sPM$/)
  expect(dateOf('20370112', 'Asia/Tokyo')).toBe('Monday, January 12, 2037')
  expect(dateOf('unknown', 'UTC')).toBe('unknown')
})
