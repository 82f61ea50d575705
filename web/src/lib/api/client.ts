import createClient, { type Middleware } from 'openapi-fetch'
import type { paths, components } from './schema'

type Schemas = components['schemas']
export type User = Schemas['UserBody']
export type Group = Schemas['GroupBody']
export type GroupMember = Schemas['MemberBody']
export type Site = Schemas['Site']
export type MeetingType = Schemas['MeetingType']
export type CustomField = Schemas['CustomField']
export type Room = Schemas['Room']
export type Branding = Schemas['Branding']
export type FaultReport = Schemas['FaultReport']
export type FloorPlan = Schemas['FloorPlan']
export type PlacedRoom = Schemas['PlacedRoom']
export type Meeting = Schemas['Meeting']
export type Wait = Schemas['Wait']
export type Blackout = Schemas['Blackout']
export type GridRoom = Schemas['GridRoom']
/** A meeting as a calendar shows it; every {@link Meeting} is one. */
export type GridMeeting = Omit<Schemas['GridMeeting'], 'series_id' | 'type_id' | 'checked_in_at' | 'pending_change'> & {
  series_id?: number | null
  type_id?: number | null
  checked_in_at?: string | null
  pending_change?: Schemas['GridChange'] | null
}
export type Reminder = Schemas['Reminder']
export type Series = Schemas['Series']
export type SeriesResult = Schemas['SeriesResult']
export type Availability = Schemas['Availability']
export type Obstacle = Schemas['Obstacle']
export type Suggestion = Schemas['Suggestion']
export type PersonRef = Schemas['PersonRef']
export type HistoryEntry = Schemas['HistoryEntry']
export type Notification = Schemas['Notification']
export type Bounce = Schemas['Bounce']
export type MeetingNotification = Schemas['MeetingNotification']
export type Job = Schemas['JobView']
export type DeadJob = Schemas['DeadJobView']
export type OutboxItem = Schemas['OutboxItem']
export type OutboxMessage = Schemas['OutboxMessage']
export type Door = Schemas['Door']
export type DoorMeeting = Schemas['DoorMeeting']
export type DoorClosure = Schemas['DoorClosure']
export type DoorDevice = Schemas['DoorDevice']
export type Status = Meeting['status']

/** One error in a request; location is the field's path, such as "body.title". */
export interface Fault {
  location?: string
  code?: string
  message: string
  /** The figures of a violated rule; see the API's description. */
  room_id?: number
  limit?: unknown
  actual?: unknown
  used?: unknown
  per?: string
  start?: string
  end?: string
  reason?: string
}

export interface Conflict {
  room_id: number
  start: string
  end: string
}

/** A failed request: a problem+json response of the server, or no response at all (status 0). */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly faults: Fault[]
  readonly conflicts: Conflict[]
  readonly retryAfter: number
  /** Confirms the sign-in together with a code or a passkey; only with the code second_factor_required. */
  readonly challenge: string
  /** Which of them the user has. */
  readonly factors: string[]

  constructor(status: number, body: unknown, retryAfter = 0) {
    const b = (typeof body === 'object' && body ? body : {}) as Record<string, unknown>
    super(String(b.detail || b.title || (status ? `HTTP ${status}` : 'no connection')))
    this.status = status
    this.code = typeof b.code === 'string' ? b.code : status ? 'internal' : 'offline'
    this.faults = Array.isArray(b.errors) ? (b.errors as Fault[]) : []
    this.conflicts = Array.isArray(b.conflicts) ? (b.conflicts as Conflict[]) : []
    this.retryAfter = retryAfter
    this.challenge = typeof b.challenge === 'string' ? b.challenge : ''
    this.factors = Array.isArray(b.factors) ? (b.factors as string[]) : []
  }
}

/** The typed client of the REST API; every call goes through {@link ask}. */
export const api = createClient<paths>({
  baseUrl: '/api/v1',
  querySerializer: { array: { style: 'form', explode: false } },
})

let signedOut = () => {}

/** Sets the function to call when the server rejects the session. */
export function onSignedOut(fn: () => void) {
  signedOut = fn
}

let answered = () => {}

/** Sets the function to call when the server responds to a request. */
export function onAnswer(fn: () => void) {
  answered = fn
}

const watch: Middleware = {
  onResponse({ response, schemaPath }) {
    if (response.ok) answered()
    if (response.status === 401 && !/\/auth\/(login|passkey)/.test(schemaPath)) signedOut()
  },
}
api.use(watch)

interface Answer<T> {
  data?: T
  error?: unknown
  response: Response
}

/** Waits for a response and returns its body, or throws a {@link Problem}. */
export async function ask<T>(call: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>
  try {
    answer = await call
  } catch {
    throw new Problem(0, null)
  }
  if (!answer.response.ok) {
    throw new Problem(
      answer.response.status,
      answer.error,
      Number(answer.response.headers.get('Retry-After')) || 0,
    )
  }
  return answer.data as T
}

interface Page<T> {
  items?: T[] | null
  next_cursor?: string | null
}

/** Reads all pages of a list, up to `most` items. */
export async function all<T>(
  page: (cursor: string | undefined) => Promise<Answer<Page<T>>>,
  most = 2000,
): Promise<T[]> {
  const items: T[] = []
  let cursor: string | undefined
  do {
    const answer = await ask(page(cursor))
    items.push(...(answer.items ?? []))
    cursor = answer.next_cursor || undefined
  } while (cursor && items.length < most)
  return items
}

/** Returns a key with which the server runs a POST only once, however often it arrives. */
export function idempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) =>
    b.toString(16).padStart(2, '0'),
  ).join('')
}
