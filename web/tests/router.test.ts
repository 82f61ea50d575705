// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { router } from '../src/lib/router.svelte'

const address = () => location.pathname + location.search
let changed = false
let unguard = () => {}

beforeEach(() => {
  router.go('/', { discard: true })
  changed = false
  unguard = router.guard(() => changed)
})
afterEach(() => unguard())

/** Goes where the browser's back button would lead. */
function goBack(to: string) {
  history.replaceState(null, '', to)
  dispatchEvent(new PopStateEvent('popstate'))
}

function click(html: string, init: MouseEventInit = {}) {
  document.body.innerHTML = html
  const event = new MouseEvent('click', { bubbles: true, cancelable: true, ...init })
  let handled = false
  const seen = (e: Event) => {
    handled = e.defaultPrevented
    e.preventDefault() // what is left to the browser must not navigate here
  }
  addEventListener('click', seen, { once: true })
  document.body.querySelector('a, b')!.dispatchEvent(event)
  return handled
}

test('going somewhere changes path, query and address', () => {
  router.go('/rooms/3?date=2027-02-10')
  expect([router.path, router.query.get('date'), address()]).toEqual(['/rooms/3', '2027-02-10', '/rooms/3?date=2027-02-10'])
})

test('an entry is added to the history only for another address, and not when it is replaced', () => {
  const push = vi.spyOn(history, 'pushState')
  router.go('/mine')
  router.go('/mine')
  router.go('/month', { replace: true })
  expect([push.mock.calls.length, router.path]).toEqual([1, '/month'])
  push.mockRestore()
})

test('values are kept in the address beside the others', () => {
  router.go('/admin/rooms?site=2')
  router.keep({ q: 'aula', state: '' })
  expect(address()).toBe('/admin/rooms?site=2&q=aula')
  router.keep({ q: '', site: '' })
  expect(address()).toBe('/admin/rooms')
})

test('a page with unsaved changes is left only after the answer', () => {
  router.go('/admin/rooms/1')
  changed = true
  router.go('/mine')
  expect([router.leaving?.to, address()]).toEqual(['/mine', '/admin/rooms/1'])
  router.answer(false)
  expect([router.leaving, address()]).toEqual([null, '/admin/rooms/1'])
  router.go('/mine')
  router.answer(true)
  expect([router.leaving, address()]).toEqual([null, '/mine'])
})

test('a meeting opens above a page with unsaved changes, and closes again, without a question', () => {
  router.go('/admin/rooms/1')
  changed = true
  router.go('/meetings/5')
  expect([router.leaving, address()]).toEqual([null, '/meetings/5'])
  router.go('/admin/rooms/1')
  expect([router.leaving, address()]).toEqual([null, '/admin/rooms/1'])
  router.go('/meetings/5')
  router.go('/mine') // leaves the page below
  expect(router.leaving?.to).toBe('/mine')
  router.answer(false)
})

test('the back button asks too: the address of the page returns until the answer', () => {
  router.go('/admin/rooms/1?tab=rules')
  changed = true
  goBack('/mine')
  expect([router.leaving?.to, address()]).toEqual(['/mine', '/admin/rooms/1?tab=rules'])
  router.answer(true)
  expect(router.path).toBe('/mine')
})

test('saved changes are no reason to ask, nor are those of a page that was left', () => {
  router.go('/admin/rooms/1')
  changed = true
  unguard()
  router.go('/mine')
  expect([router.leaving, router.path]).toEqual([null, '/mine'])
})

test('closing the window asks only while there are unsaved changes that the user made', () => {
  const asks = () => !dispatchEvent(new Event('beforeunload', { cancelable: true }))
  Object.defineProperty(navigator, 'userActivation', { configurable: true, value: { hasBeenActive: true } })
  expect(asks()).toBe(false)
  changed = true
  expect(asks()).toBe(true)
})

test('links of the page are followed without loading it anew', () => {
  expect(click('<a href="/month?m=2027-02"><span>x</span></a>')).toBe(true)
  expect(address()).toBe('/month?m=2027-02')
})

test.each([
  ['a new tab', '<a href="/mine">', { ctrlKey: true }],
  ['the middle button', '<a href="/mine">', { button: 1 }],
  ['a target', '<a href="/mine" target="_blank">', {}],
  ['a download', '<a href="/mine" download>', {}],
  ['another origin', '<a href="https://example.org/mine">', {}],
  ['the API', '<a href="/api/v1/me">', {}],
  ['the description of the API', '<a href="/docs">', {}],
  ['no link', '<b>text</b>', {}],
])('the browser handles %s', (_, html, init) => {
  expect(click(html, init)).toBe(false)
  expect(address()).toBe('/')
})
