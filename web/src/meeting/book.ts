import { api, ask, idempotencyKey, Problem, type Meeting } from '../lib/api/client'
import { booking } from './booking.svelte'

/** What is booked without the form. */
export interface Order {
  title: string
  room_ids: number[]
  start: string
  end: string
  timezone?: string
  attendees?: { email?: string; name?: string; phone?: string }[]
}

/** Books a meeting. A retry of the same order needs its key. */
export async function book(order: Order, key = idempotencyKey()): Promise<Meeting> {
  const made = await ask(api.POST('/meetings', { body: order, headers: { 'Idempotency-Key': key } }))
  if (!('status' in made)) throw new Problem(0, null) // a waiting list entry, which was not requested
  booking.changed(made)
  return made
}

/** Cancels a new booking; one that has started ends. */
export async function takeBack(made: Meeting) {
  const call = { params: { path: { id: made.id } }, headers: { 'Idempotency-Key': idempotencyKey() } }
  const started = Date.parse(made.start) <= Date.now()
  booking.changed(await ask(started ? api.POST('/meetings/{id}/end', call) : api.POST('/meetings/{id}/cancel', { ...call, body: {} })))
}
