// @vitest-environment happy-dom
import { flushSync } from 'svelte'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { at, load, me, meeting, room } from './grid'
import { requests, reset, route } from './server'
import type { Meeting } from '../src/lib/api/client'
import { i18n } from '../src/lib/i18n/index.svelte'
import { router } from '../src/lib/router.svelte'
import { day } from '../src/day/day.svelte'
import { GridFocus } from '../src/day/gridFocus.svelte'
import { GridKeys } from '../src/day/gridKeys'
import { Planner } from '../src/day/gridPlanner.svelte'
import { GridPointer } from '../src/day/gridPointer'
import { Viewport } from '../src/day/gridViewport.svelte'
import { booking } from '../src/meeting/booking.svelte'

// The view is 720 pixels wide: one pixel is a minute. Rows are 61 pixels high, below a head of 36.
const minute = 208 // where the day begins
const row = (i: number) => 36 + 61 * i + 10

const now = new Date(at('07:00'))
let grid: HTMLElement
let view: Viewport
let focus: GridFocus
let planner: Planner
let keys: GridKeys
let stop = () => {}

const talk = meeting(1, 1, '10:00', '11:00')
const others = meeting(2, 2, '11:00', '12:00', { organizer: { id: me + 1, name: 'Bob' } })

/** Draws as much of the grid as events need. */
function draw() {
  grid.innerHTML = day.rooms
    .map(
      (r) => `<div class="row" data-room="${r.id}"><div class="label"><button data-key="h${r.id}" data-book>${r.name}</button></div>
        <div class="track" tabindex="-1" data-key="s${r.id}">${day
          .of(r)
          .map((m) => `<a href="/meetings/${m.id}" data-meeting="${m.id}" data-key="m${m.id}-${r.id}" tabindex="-1"><i data-edge="start"></i><i data-edge="end"></i></a>`)
          .join('')}</div></div>`,
    )
    .join('')
}

beforeEach(async () => {
  reset()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'requestAnimationFrame', 'cancelAnimationFrame'] })
  await load([room(1, 'Aula', { step: '30m' }), room(2, 'Beta'), room(3, 'Gamma')], [talk, others])
  grid = document.createElement('div')
  document.body.replaceChildren(grid)
  stop = $effect.root(() => {
    view = new Viewport(() => now)
    focus = new GridFocus(view)
    planner = new Planner(focus, () => now)
    keys = new GridKeys(view, focus, planner)
    const pointer = new GridPointer(view, planner)
    grid.addEventListener('pointerdown', (e) => pointer.pressed(e))
    grid.addEventListener('click', (e) => {
      e.preventDefault()
      pointer.clicked(e)
    })
    grid.addEventListener('keydown', (e) => keys.pressed(e))
    grid.addEventListener('focusin', (e) => focus.focused(e))
    $effect(() => focus.beginAtFirst())
    $effect(() => focus.keep())
  })
  view.scroller = grid
  view.width = 208 + 720
  draw()
  flushSync()
  booking.close()
})
afterEach(() => {
  pointer('pointercancel', window, 0, 0)
  vi.runOnlyPendingTimers() // among them what swallows the click after a drag
  stop()
  vi.useRealTimers()
})

const cell = (key: string) => grid.querySelector<HTMLElement>(`[data-key=${key}]`)!

function pointer(type: string, target: EventTarget, x: number, y: number, init: PointerEventInit = {}) {
  target.dispatchEvent(new PointerEvent(type, { bubbles: true, cancelable: true, isPrimary: true, pointerId: 1, clientX: minute + x, clientY: y, ...init }))
}

/** Drags from minute to minute, and from row to row. */
function drag(target: EventTarget, from: [x: number, row: number], to: [x: number, row: number], drop = true) {
  pointer('pointerdown', target, from[0], row(from[1]))
  pointer('pointermove', window, to[0], row(to[1]))
  if (drop) pointer('pointerup', window, to[0], row(to[1]))
}

function press(key: string, init: KeyboardEventInit = {}) {
  const at = document.activeElement && grid.contains(document.activeElement) ? document.activeElement : cell('s1')
  const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...init })
  at.dispatchEvent(event)
  return event.defaultPrevented
}

/** Puts the cursor at a meeting. */
function select(m: { id: number; room_ids: number[] }) {
  cell(`m${m.id}-${m.room_ids[0]}`).focus()
  expect(focus.here?.stop).toMatchObject({ meeting: { id: m.id } })
}

/** Answers changes of a meeting as the server would, and returns what was sent. */
function changes(): object[] {
  const bodies: object[] = []
  for (const m of [talk, others]) {
    route(`PATCH /meetings/${m.id}`, async (request) => {
      const body = await request.json()
      bodies.push(body)
      return { ...m, ...body, version: 2 } as Meeting
    })
  }
  return bodies
}

test('dragging over free time plans a booking and opens the form with it', () => {
  drag(cell('s3'), [545, 2], [648, 2], false)
  expect(planner.plan).toMatchObject({ kind: 'draw', from: 540, to: 660, room: { name: 'Gamma' } })
  pointer('pointerup', window, 648, row(2))
  expect([planner.plan, booking.draft]).toEqual([undefined, { roomID: 3, start: '2027-02-10T09:00:00', end: '2027-02-10T11:00:00' }])
})

test('dragging a meeting moves it to another time and room', async () => {
  const sent = changes()
  drag(cell('m1-1'), [630, 0], [755, 2], false)
  expect(planner.plan).toMatchObject({ kind: 'move', from: 720, room: { name: 'Gamma' } })
  pointer('pointerup', window, 755, row(2))
  await vi.waitFor(() => expect(sent).toEqual([{ room_ids: [3], start: at('12:00').replace('Z', '.000Z'), end: at('13:00').replace('Z', '.000Z') }]))
  expect(focus.cursor).toMatchObject({ room: 3, meeting: 1 })
})

test('dragging an edge leaves the other one to the second', async () => {
  const sent = changes()
  drag(cell('m1-1').querySelector('[data-edge=end]')!, [660, 0], [744, 0])
  await vi.waitFor(() => expect(sent).toEqual([{ room_ids: [1], start: talk.start, end: '2027-02-10T12:30:00.000Z' }]))
})

test('a drag back to where it was, Escape and a lost pointer change nothing', () => {
  drag(cell('m1-1'), [630, 0], [635, 0])
  drag(cell('m1-1'), [630, 0], [755, 0], false)
  window.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', cancelable: true }))
  expect(planner.plan).toBeUndefined()
  pointer('pointerup', window, 755, row(0))
  drag(cell('m1-1'), [630, 0], [755, 0], false)
  pointer('pointercancel', window, 755, row(0))
  expect([planner.plan, requests.filter((r) => r.startsWith('PATCH'))]).toEqual([undefined, []])
})

test('the meetings of others are not dragged; the end of one that takes place is', () => {
  drag(cell('m2-2'), [690, 1], [755, 1], false)
  expect(planner.plan).toBeUndefined()
  pointer('pointerup', window, 755, row(1))
  day.put({ ...talk, status: 'in_progress', version: 2 })
  draw()
  drag(cell('m1-1'), [630, 0], [755, 0], false)
  expect(planner.plan).toBeUndefined()
  pointer('pointerup', window, 755, row(0))
  drag(cell('m1-1').querySelector('[data-edge=end]')!, [660, 0], [755, 0], false)
  expect(planner.plan).toMatchObject({ kind: 'end', to: 750 })
})

test('a finger drags once it rested; one that swipes scrolls', () => {
  drag(cell('s3'), [540, 2], [600, 2], false)
  pointer('pointercancel', window, 0, 0)
  pointer('pointerdown', cell('s3'), 545, row(2), { pointerType: 'touch' })
  pointer('pointermove', window, 600, row(2), { pointerType: 'touch' })
  vi.advanceTimersByTime(1000)
  expect(planner.plan).toBeUndefined()
  pointer('pointerdown', cell('s3'), 545, row(2), { pointerType: 'touch' })
  vi.advanceTimersByTime(350)
  expect(planner.plan).toMatchObject({ from: 540, to: 555 })
  pointer('pointermove', window, 600, row(2), { pointerType: 'touch' })
  expect(planner.plan).toMatchObject({ from: 540, to: 600 })
})

test('only the first button of the first pointer drags', () => {
  pointer('pointerdown', cell('s3'), 540, row(2), { button: 2 })
  pointer('pointerdown', cell('s3'), 540, row(2), { isPrimary: false })
  pointer('pointerdown', cell('h3'), -100, row(2))
  pointer('pointermove', window, 700, row(2))
  expect(planner.plan).toBeUndefined()
})

test('a click opens a meeting, books free time, or books from the name of the room', () => {
  const click = (target: HTMLElement, x: number) => target.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, clientX: minute + x }))
  click(cell('m1-1'), 630)
  expect(router.path).toBe('/meetings/1')
  router.go('/?date=2027-02-10')
  click(cell('s3'), 552)
  expect(booking.draft).toEqual({ roomID: 3, start: '2027-02-10T09:00:00', end: '2027-02-10T10:00:00' })
  click(cell('h2'), -100)
  expect(booking.draft).toEqual({ roomID: 2, start: undefined, end: undefined })
})

test('keys walk, and the focus follows', async () => {
  select(talk)
  expect(press('ArrowRight')).toBe(true)
  await vi.waitFor(() => expect(document.activeElement).toBe(cell('s1')))
  press('ArrowDown')
  await vi.waitFor(() => expect(document.activeElement).toBe(cell('m2-2')))
  expect(press('x')).toBe(false)
  expect(press('ArrowDown', { altKey: true })).toBe(false)
})

test('Enter opens, books, and leaves links to the browser', async () => {
  focus.cursor = { room: 3, at: 540 }
  flushSync()
  press('Enter')
  expect(booking.draft).toEqual({ roomID: 3, start: '2027-02-10T09:00:00', end: '2027-02-10T09:30:00' })
  focus.cursor = { room: 2, at: 540, head: true }
  press('Enter')
  expect(booking.draft).toMatchObject({ roomID: 2, start: undefined })
  select(talk)
  expect(press('Enter')).toBe(false)
})

test('Shift and arrows select a time, which is announced; Escape drops it', () => {
  focus.cursor = { room: 1, at: 540 }
  press('ArrowRight', { shiftKey: true })
  expect([focus.here?.stop, planner.announcement]).toEqual([{ from: 540, to: 600 }, expect.stringMatching(/9:00.*10:00/)])
  press('ArrowRight', { shiftKey: true })
  expect(planner.announcement).toContain('Meeting 1')
  press('ArrowLeft', { shiftKey: true })
  press('ArrowLeft', { shiftKey: true })
  press('ArrowLeft', { shiftKey: true })
  expect(focus.here?.stop).toEqual({ from: 540, to: 570 }) // one step is left
  press('Escape')
  expect(focus.cursor.to).toBeUndefined()
})

test('M, E and S move a meeting or an edge; each step is announced, Enter carries it out', async () => {
  const sent = changes()
  select(talk)
  press('m')
  expect([planner.byKeys, planner.announcement]).toEqual([true, expect.stringContaining('Meeting 1')])
  press('ArrowRight')
  press('ArrowRight')
  press('ArrowDown')
  expect(planner.announcement).toMatch(/^Beta, .*11:00.*12:00.*Meeting 2/)
  press('ArrowDown')
  expect(planner.announcement).toMatch(/^Gamma, .*11:00.*12:00\D*$/)
  press('Enter')
  expect([planner.plan, planner.byKeys]).toEqual([undefined, false])
  await vi.waitFor(() => expect(sent).toEqual([{ room_ids: [3], start: '2027-02-10T11:00:00.000Z', end: '2027-02-10T12:00:00.000Z' }]))
})

test('Escape and Tab drop a plan, and that is announced', () => {
  select(talk)
  press('e')
  press('ArrowRight')
  expect(planner.plan).toMatchObject({ kind: 'end', to: 690 })
  expect(press('Escape')).toBe(true)
  expect([planner.plan, planner.byKeys]).toEqual([undefined, false])
  const dropped = planner.announcement
  press('s')
  press('ArrowLeft')
  expect(planner.plan).toMatchObject({ kind: 'start', from: 570 })
  expect(planner.announcement).not.toBe(dropped)
  expect(press('Tab')).toBe(false) // the focus moves on
  expect([planner.plan, planner.announcement]).toEqual([undefined, dropped])
  expect(requests.filter((r) => r.startsWith('PATCH'))).toEqual([])
})

test('a meeting of somebody else stays, and that is announced', () => {
  select(others)
  press('m')
  expect([planner.byKeys, planner.announcement]).toEqual([false, i18n.t.grid.notYours])
})

test('the pointer does nothing while the keys plan', () => {
  select(talk)
  press('m')
  const before = planner.plan
  drag(cell('s3'), [540, 2], [700, 2])
  cell('m2-2').click()
  expect([planner.plan, router.path]).toEqual([before, '/'])
})

test('only rows near the view are drawn, and the one with the focus', async () => {
  await load(Array.from({ length: 100 }, (_, i) => room(i + 1, `Room ${String(i).padStart(3, '0')}`)), [])
  view.height = 610
  view.top = 0
  expect(view.near(undefined)).toEqual(Array.from({ length: 16 }, (_, i) => i))
  expect(view.near(99).at(-1)).toBe(99)
  view.top = 3000
  expect(view.near(0).slice(0, 2)).toEqual([0, 43])
  expect(view.near(50).filter((i) => i === 50)).toHaveLength(1)
})

test.each([
  ['2027-02-09T12:00:00Z', 420, 'another day begins with its opening'],
  ['2027-02-10T09:00:00Z', 420, 'now is in view'],
  ['2027-02-10T18:10:00Z', 960, 'two hours before now, to the half hour'],
  ['2027-02-10T01:10:00Z', 0, 'never before midnight'],
])('at %s the day is shown from minute %i: %s', (clock, minute) => {
  const then = new Viewport(() => new Date(clock))
  then.width = 208 + 720
  expect(then.firstMinute()).toBe(minute)
})
