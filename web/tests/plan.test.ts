// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest'
import type { GridMeeting, GridRoom } from '../src/lib/api/client'
import type { Layout } from '../src/day/layout'
import { nearest } from '../src/plan/nearest'
import { moved, resized, shaped } from '../src/plan/place'
import { planState } from '../src/plan/state'

const room = { id: 1, timezone: 'UTC', step: null, min_duration: '15m' } as unknown as GridRoom
const meeting = (from: number, to: number, status: GridMeeting['status'] = 'confirmed') => ({ from, to, meeting: { status } as GridMeeting, lane: 0, of: 1, before: false, after: false })
const rows = (placed: Layout['placed'], shades: Layout['shades'] = []): Layout => ({ placed, asked: [], shades, lanes: 1 })

describe('the state of a room on a plan', () => {
  const busy = rows([meeting(600, 660)])
  it.each([
    ['free for long', busy, 300, { kind: 'free', until: 600 }, { from: 300, to: 360 }],
    ['free for half an hour', busy, 570, { kind: 'soon', until: 600 }, { from: 570, to: 600 }],
    ['free for too short', busy, 591, { kind: 'off', until: 600 }, { from: 660, to: 720 }],
    ['busy', busy, 620, { kind: 'busy', until: 660 }, { from: 660, to: 720 }],
    ['free for the rest of the day', busy, 1420, { kind: 'free', until: 1440 }, { from: 1425, to: 1440 }],
    ['requested', rows([meeting(600, 660, 'pending')]), 620, { kind: 'pending', until: 660 }, { from: 660, to: 720 }],
    ['closed', rows([], [{ kind: 'closed', from: 0, to: 480, text: '' }]), 60, { kind: 'closed', until: 480 }, { from: 480, to: 540 }],
    ['a blackout', rows([], [{ kind: 'blackout', from: 0, to: 1440, text: '' }]), 60, { kind: 'closed', until: 1440 }, undefined],
  ] as const)('is %s', (_, layout, minute, want, slot) => {
    const state = planState(room, layout as Layout, minute, minute)
    expect(state).toMatchObject(want)
    expect(state.slot).toEqual(slot)
  })
  it('cannot be booked in the past', () => {
    expect(planState(room, rows([]), 600, 2000).slot).toBeUndefined()
    expect(planState(room, rows([]), 600, 700)).toMatchObject({ kind: 'free', slot: { from: 705, to: 765 } })
  })
})

describe('arrow keys on a plan', () => {
  const spots = [{ id: 1, x: 0, y: 0 }, { id: 2, x: 100, y: 10 }, { id: 3, x: 300, y: 0 }, { id: 4, x: 20, y: 200 }]
  it.each([['ArrowRight', 2], ['ArrowDown', 4], ['ArrowLeft', undefined], ['a', undefined]])('%s', (key, want) => {
    expect(nearest(spots, spots[0]!, key)?.id).toBe(want)
  })
})

describe('placing a room', () => {
  const r = { room_id: 1, x: 0.5, y: 0.5, width: 0.2, height: 0.2 }
  it('stays within the picture', () => {
    expect(moved(r, 9, -9)).toMatchObject({ x: 0.8, y: 0 })
    expect(resized(r, 9, -9)).toMatchObject({ width: 0.5, height: 0.01 })
  })
  it('is a point or a rectangle', () => {
    expect(shaped(r, false)).toMatchObject({ x: 0.6, y: 0.6, width: 0 })
    expect(shaped(shaped(r, false), true)).toMatchObject({ x: 0.52, y: 0.54, width: 0.16 })
    expect(shaped(r, true)).toBe(r)
  })
})
