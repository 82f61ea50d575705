// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from 'vitest'
import { Problem } from '../src/lib/api/client'
import { router } from '../src/lib/router.svelte'
import { Editor } from '../src/pages/admin/editor.svelte'

interface Room {
  id: number
  version: number
  name: string
  floor: string
}
const aula: Room = { id: 3, version: 1, name: 'Aula', floor: '1' }

const api = {
  read: vi.fn(async () => ({ ...aula, version: 2, name: 'Theirs' })),
  create: vi.fn(async (body: object, _key: string) => ({ ...aula, ...body })),
  change: vi.fn(async (of: Room, body: object) => ({ ...of, ...body, version: of.version + 1 })),
  onmade: vi.fn(),
  onsaved: vi.fn(),
}

function edit(record: Room | null) {
  const editor = new Editor<Room, { name: string; floor: string }>({
    formOf: (r) => ({ name: r?.name ?? '', floor: r?.floor ?? '' }),
    fieldOf: (location) => location,
    ...api,
  })
  editor.saving.box = document.createElement('form')
  document.body.replaceChildren(editor.saving.box)
  editor.show(record)
  return editor
}

beforeEach(() => {
  for (const fn of Object.values(api)) fn.mockClear()
  router.go('/admin/rooms/3', { discard: true })
})

test('a form is dirty once it differs from what the server has', async () => {
  const editor = edit(aula)
  expect(editor.dirty).toBe(false)
  editor.form.name = 'Hall'
  expect(editor.dirty).toBe(true)
  await editor.save({ name: 'Hall' })
  expect([editor.dirty, editor.record?.version, api.onsaved.mock.calls.length]).toEqual([false, 2, 1])
  expect(api.change).toHaveBeenCalledWith(aula, { name: 'Hall' })
})

test('the defaults of a new form are no changes', () => {
  const editor = edit(null)
  editor.form.floor = '2'
  expect(editor.dirty).toBe(true)
  editor.begin()
  expect(editor.dirty).toBe(false)
})

test('what is typed while a form is saved stays, and is dirty', async () => {
  const editor = edit(aula)
  editor.form.floor = '9'
  api.change.mockImplementationOnce(async (of, body) => {
    editor.form.name = 'Typed'
    return { ...of, ...body, version: 2 }
  })
  await editor.save({ floor: '9' })
  expect([editor.form, editor.dirty]).toEqual([{ name: 'Typed', floor: '9' }, true])
})

test('a new record is created once, with one key until that succeeds', async () => {
  const editor = edit(null)
  editor.form.name = 'Annex'
  api.create.mockRejectedValueOnce(new Problem(0, null))
  await editor.save({ name: 'Annex' })
  expect([editor.record, api.onmade.mock.calls]).toEqual([null, []])
  await editor.save({ name: 'Annex' })
  const keys = api.create.mock.calls.map(([, key]) => key)
  expect(keys[0]).toBe(keys[1])
  expect([editor.record?.name, api.onmade.mock.calls]).toEqual(['Annex', [[3]]])
  await editor.save({ name: 'Annex 2' })
  expect([api.create.mock.calls.length, api.change.mock.calls.length, api.onmade.mock.calls.length]).toEqual([2, 1, 1])
})

test('a form that was left does not move the page when its record is created', async () => {
  const editor = edit(null)
  editor.saving.box!.remove()
  await editor.save({ name: 'Annex' })
  expect(api.onmade).not.toHaveBeenCalled()
})

test('the version of somebody else is offered, and can be overwritten or used', async () => {
  const editor = edit(aula)
  editor.form.name = 'Mine'
  api.change.mockRejectedValueOnce(new Problem(412, null))
  await editor.save({ name: 'Mine' })
  const theirs = editor.saving.theirs!
  expect([theirs.name, editor.form.name]).toEqual(['Theirs', 'Mine'])
  await editor.save({ name: 'Mine' }, theirs)
  expect([editor.record?.version, editor.saving.theirs]).toEqual([3, null])
  editor.show(theirs)
  expect([editor.form.name, editor.dirty]).toEqual(['Theirs', false])
})

test('unsaved changes are not left without a question', () => {
  const editor = edit(aula)
  const stop = editor.guard()
  router.go('/mine')
  expect(router.leaving).toBeNull()
  router.go('/admin/rooms/3')
  editor.form.name = 'Changed'
  router.go('/mine')
  expect(router.leaving?.to).toBe('/mine')
  router.answer(false)
  stop()
})
