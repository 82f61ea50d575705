// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from 'vitest'
import { Problem } from '../src/lib/api/client'
import { merged, same, Saving } from '../src/lib/saving.svelte'
import { toasts } from '../src/lib/toast.svelte'

const fail = (status: number, errors: object[] = [], code = 'invalid') => async () => {
  throw new Problem(status, { code, detail: 'no', errors })
}
const field = (location: string) => location.replace(/^body\./, '')

function form() {
  const box = document.createElement('form')
  box.innerHTML = '<input name="a"><input name="b">'
  box.scrollIntoView = () => {}
  for (const el of box.querySelectorAll('input')) el.scrollIntoView = () => {}
  document.body.replaceChildren(box)
  return box
}

beforeEach(() => {
  for (const t of toasts.list) toasts.dismiss(t.id)
})

test('one request at a time: another try does nothing meanwhile', async () => {
  const saving = new Saving()
  const { promise, resolve } = Promise.withResolvers<void>()
  const save = vi.fn(() => promise)
  const first = saving.run(save)
  await saving.run(save)
  expect([save.mock.calls.length, saving.busy, saving.button]).toEqual([1, true, { 'aria-disabled': true, 'aria-busy': true }])
  resolve()
  await first
  expect([saving.busy, saving.button]).toEqual([false, { 'aria-disabled': undefined, 'aria-busy': undefined }])
})

test('faults go to their fields and are cleared by the next try', async () => {
  const saving = new Saving({ field })
  saving.box = form()
  await saving.run(fail(422, [{ location: 'body.name', message: 'too short', code: 'x' }]))
  expect(Object.keys(saving.faults)).toEqual(['name'])
  expect(toasts.list).toEqual([])
  await saving.run(async () => {})
  expect(saving.faults).toEqual({})
})

test('without the form a failure is shown as a toast', async () => {
  const saving = new Saving()
  await saving.run(fail(500))
  expect(toasts.list.map((t) => t.tone)).toEqual(['bad'])
  saving.box = form()
  saving.box.remove()
  await saving.run(fail(500))
  expect(toasts.list).toHaveLength(2)
})

test('the first fault gets the focus, but not from somebody who types', async () => {
  const saving = new Saving({ field })
  const box = (saving.box = form())
  const [a, b] = box.querySelectorAll('input')
  b!.setAttribute('aria-invalid', 'true')
  a!.focus()
  await saving.run(async () => {
    a!.dispatchEvent(new Event('input', { bubbles: true }))
    await fail(422)()
  })
  await new Promise((done) => setTimeout(done))
  expect(document.activeElement).toBe(a)
  await saving.run(fail(422))
  await vi.waitFor(() => expect(document.activeElement).toBe(b))
})

test('a version that somebody else saved is offered, and settled once something is saved', async () => {
  const latest = vi.fn(async () => ({ version: 2 }))
  const saving = new Saving<{ version: number }>({ latest })
  saving.box = form()
  await saving.run(fail(412))
  expect([saving.theirs, saving.faults]).toEqual([{ version: 2 }, {}])
  await saving.run(async () => {})
  expect(saving.theirs).toBeNull()
})

test('if their version cannot be read, the failure is shown', async () => {
  const saving = new Saving<{ version: number }>({ latest: () => Promise.reject(new Error('offline')) })
  saving.box = form()
  await saving.run(fail(412))
  expect(saving.theirs).toBeNull()
  expect(saving.faults['']).toHaveLength(1)
})

test('a try again after a failure has the same idempotency key, something else has another', async () => {
  const saving = new Saving()
  const key = saving.key({ name: 'a' })
  expect(saving.key({ name: 'a' })).toBe(key)
  await saving.run(fail(500))
  expect(saving.key({ name: 'a' })).toBe(key)
  const other = saving.key({ name: 'b' })
  expect(other).not.toBe(key)
  await saving.run(async () => {})
  expect(saving.key({ name: 'b' })).not.toBe(other)
})

test('what was typed while a form was saved stays', () => {
  const sent = { name: 'a', days: [1], away: { from: 'x', until: 'y' } }
  const saved = { name: 'A', days: [1, 2], away: { from: 'X', until: 'Y' } }
  expect(merged(structuredClone(sent), sent, saved)).toEqual(saved)
  expect(merged({ name: 'typed', days: [1], away: { from: 'x', until: 'typed' } }, sent, saved)).toEqual({ name: 'typed', days: [1, 2], away: { from: 'X', until: 'typed' } })
  expect(merged({ days: [3] }, { days: [1] }, { days: [1, 2] })).toEqual({ days: [3] })
  expect(same({ a: [1] }, { a: [1] })).toBe(true)
  expect(same({ a: [1] }, { a: [2] })).toBe(false)
})
