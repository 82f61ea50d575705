import { expect, test } from 'vitest'
import { Selection } from '../src/pages/admin/selection.svelte'

interface Row {
  id: number
  version?: number
}
const rows = (...ids: number[]): Row[] => ids.map((id) => ({ id }))

test('rows are selected one by one or all at once', () => {
  const list = rows(1, 2, 3)
  const selection = new Selection<Row>(() => list, (r) => r.id)
  const state = () => [selection.rows.map((r) => r.id), selection.some, selection.all]
  expect(state()).toEqual([[], false, false])
  selection.toggle(list[2]!, true)
  selection.toggle(list[0]!, true)
  expect(state()).toEqual([[1, 3], true, false])
  selection.toggleAll(true)
  expect(state()).toEqual([[1, 2, 3], false, true])
  selection.toggle(list[1]!, false)
  expect(state()).toEqual([[1, 3], true, false])
  selection.toggleAll(false)
  expect([selection.size, selection.has(list[0]!)]).toEqual([0, false])
  selection.toggleAll(true)
  selection.clear()
  expect(selection.size).toBe(0)
})

test('rows that are gone or filtered out do not count, and are selected again when they return', () => {
  let list = $state.raw(rows(1, 2, 3))
  const selection = new Selection<Row>(() => list, (r) => r.id)
  selection.toggleAll(true)
  list = rows(2)
  expect([selection.rows, selection.all]).toEqual([rows(2), true])
  list = rows(1, 2, 4)
  expect([selection.rows, selection.some]).toEqual([rows(1, 2), true])
})

test('a row that was read again is still selected, as it is now', () => {
  const before = { id: 1, version: 1 }
  let list = $state.raw<Row[]>([before])
  const selection = new Selection<Row>(() => list, (r) => r.id)
  selection.toggle(before, true)
  list = [{ id: 1, version: 2 }]
  expect(selection.rows).toEqual([{ id: 1, version: 2 }])
})

test('only rows that are offered can be selected, and an empty list is never all', () => {
  const list = rows(1, 2)
  const selection = new Selection<Row>(() => list.filter((r) => r.id > 1), (r) => r.id)
  expect(list.map((r) => selection.offers(r))).toEqual([false, true])
  selection.toggleAll(true)
  expect([selection.rows, selection.all]).toEqual([rows(2), true])
  const none = new Selection<Row>(() => [], (r) => r.id)
  none.toggleAll(true)
  expect([none.possible, none.all, none.some]).toEqual([false, false, false])
})
