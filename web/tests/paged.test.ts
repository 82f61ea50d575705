// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from 'vitest'
import { Paged } from '../src/lib/paged.svelte'
import { hide } from './server'

afterEach(() => {
  vi.useRealTimers()
  hide(false)
})

interface Page {
  items: number[]
  next_cursor?: string
}

/** A list whose answers the test gives, each to the request before. */
function answered() {
  const asked: { cursor?: string; answer: (p: Page) => Promise<void>; fail: (err: unknown) => Promise<void> }[] = []
  const list = new Paged<number>((cursor) => {
    const { promise, resolve, reject } = Promise.withResolvers<Page>()
    const settle = (fn: () => void) => (fn(), new Promise<void>((done) => setTimeout(done)))
    asked.push({ cursor, answer: (p) => settle(() => resolve(p)), fail: (err) => settle(() => reject(err)) })
    return promise
  })
  return { list, asked }
}

test('pages are appended, and the last one has no next', async () => {
  const { list, asked } = answered()
  expect(list.items).toBeNull()
  list.load()
  await asked[0]!.answer({ items: [1, 2], next_cursor: 'b' })
  expect(list.next).toBe('b')
  list.further()
  list.further() // one at a time
  expect(list.busy).toBe(true)
  await asked[1]!.answer({ items: [3] })
  expect(asked.map((a) => a.cursor)).toEqual([undefined, 'b'])
  expect([list.items, list.next, list.busy]).toEqual([[1, 2, 3], '', false])
  await list.further()
  expect(asked).toHaveLength(2)
})

test('an answer to an earlier request is ignored', async () => {
  const { list, asked } = answered()
  list.load()
  list.load()
  await asked[1]!.answer({ items: [2] })
  await asked[0]!.answer({ items: [1], next_cursor: 'old' })
  expect([list.items, list.next]).toEqual([[2], ''])
  list.load()
  list.load()
  await asked[3]!.answer({ items: [3] })
  await asked[2]!.fail(new Error('late'))
  expect([list.items, list.error]).toEqual([[3], null])
})

test('a reload drops a further page that is under way', async () => {
  const { list, asked } = answered()
  list.load()
  await asked[0]!.answer({ items: [1], next_cursor: 'b' })
  list.further()
  list.load()
  expect(list.busy).toBe(false)
  await asked[2]!.answer({ items: [9], next_cursor: 'c' })
  await asked[1]!.answer({ items: [2] })
  expect([list.items, list.next]).toEqual([[9], 'c'])
})

test('a failure keeps what was read, until a request succeeds', async () => {
  const { list, asked } = answered()
  list.load()
  await asked[0]!.answer({ items: [1] })
  list.load()
  const failure = new Error('offline')
  await asked[1]!.fail(failure)
  expect([list.items, list.error]).toEqual([[1], failure])
  list.load()
  await asked[2]!.answer({ items: [2] })
  expect(list.error).toBeNull()
})

test('empty pages are skipped, ten in a row at most', async () => {
  let page = 0
  const found = new Paged<number>(async () => (++page < 4 ? { items: [], next_cursor: String(page) } : { items: [7], next_cursor: '' }))
  await found.load()
  expect([found.items, found.next, page]).toEqual([[7], '', 4])
  page = 0
  const endless = new Paged<number>(async () => ({ items: [], next_cursor: String(++page) }))
  await endless.load()
  expect([endless.items, endless.next, page]).toEqual([[], '11', 11])
})

test('a filter is applied once the user stops typing', () => {
  vi.useFakeTimers()
  const read = vi.fn(async () => ({ items: [] }))
  const list = new Paged(read)
  list.soon()()
  vi.advanceTimersByTime(1000)
  expect(read).not.toHaveBeenCalled()
  list.soon()
  vi.advanceTimersByTime(200)
  expect(read).toHaveBeenCalledTimes(1)
})

test('only a list of one page is kept fresh: with more of them it would jump', async () => {
  vi.useFakeTimers()
  let page = 0
  const read = vi.fn(async () => ({ items: [++page], next_cursor: 'more' }))
  const list = new Paged(read)
  await list.load()
  const stop = list.follow(5000)
  await vi.advanceTimersByTimeAsync(5000)
  expect(list.items).toEqual([2])
  await list.further()
  await vi.advanceTimersByTimeAsync(20_000)
  expect(list.items).toEqual([2, 3])
  await list.load()
  stop()
  await vi.advanceTimersByTimeAsync(20_000)
  expect(read).toHaveBeenCalledTimes(4)
})
