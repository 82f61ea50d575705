import type { Category } from '../faults/faults.svelte'
import { api, ask, idempotencyKey, Problem, type Door } from '../lib/api/client'
import { renew } from './offline'
import { nextChange } from './state'
import { listen } from './stream'

/** What the device stores, so that it survives a reload with or without the network. */
interface Kept {
  token: string
  room: { id: number; name: string }
}
interface Seen {
  door: Door
  /** Milliseconds that the server's clock is ahead of this one. */
  ahead: number
  heard: number
}

const key = 'punctual.door'
const keySeen = 'punctual.door.day'

function read<T>(key: string): T | null {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null') as T | null
  } catch {
    return null
  }
}

function write(key: string, value: unknown) {
  try {
    if (value === null) localStorage.removeItem(key)
    else localStorage.setItem(key, JSON.stringify(value))
  } catch {
    // Without storage it lasts until the page is closed.
  }
}

const answerWithin = 8000
const retries = [1000, 2000, 5000, 10_000] // then the last one repeatedly
const forgiven = 2500 // a server restart is shorter than this and stays unnoticed
const spread = Math.random() // devices must not all send requests at the same instant

export type Action = { book: number } | { extend: number; id: number } | { checkIn: number } | { end: number }

/**
 * This device: its room, the latest data from the server, and whether the server is reachable.
 * All times are by the server's clock.
 */
class Device {
  kept = $state.raw<Kept | null>(read<Kept>(key))
  door = $state.raw<Door | null>(null)
  /** The current time by the server's clock, on each full second. */
  now = $state(Date.now())
  /** When the server was last heard from, by its clock. */
  heard = $state(0)
  /** Why the device must be paired again. */
  ended = $state(false)

  #ahead = 0
  #failing = $state(0) // since when, by the server's clock; 0: not failing
  #tries = 0
  #loading: Promise<void> | undefined
  #again = false
  #acted = 0 // time of the last action here
  #due = 0
  #retry: ReturnType<typeof setTimeout> | undefined
  #wake = () => {} // ends the wait before the next stream

  constructor() {
    const seen = read<Seen>(keySeen)
    if (this.kept && seen?.door.room.id === this.kept.room.id) {
      this.door = seen.door
      this.#ahead = seen.ahead
      this.heard = seen.heard
    }
    this.now = this.#clock()
  }

  /** The server has been unreachable for more than a moment: no action is possible. */
  get lost(): boolean {
    return this.#failing > 0 && this.now - this.#failing >= forgiven
  }

  #clock(): number {
    return Date.now() + this.#ahead
  }

  /** Runs the door until the returned function is called. `idle` reports whether nobody uses the screen. */
  start(idle: () => boolean): () => void {
    const stop = new AbortController()
    const tick = () => {
      this.now = this.#clock()
      if (this.now >= this.#due) this.load()
      timer = setTimeout(tick, 1000 - (this.now % 1000) + 5)
    }
    let timer = setTimeout(tick, 0)
    const now = () => {
      this.#wake()
      this.load()
    }
    addEventListener('online', now)
    addEventListener('offline', now)
    const visible = () => {
      if (!document.hidden) now()
    }
    document.addEventListener('visibilitychange', visible)
    this.load()
    this.#follow(stop.signal, idle)
    return () => {
      stop.abort()
      clearTimeout(timer)
      clearTimeout(this.#retry)
      this.#wake()
      removeEventListener('online', now)
      removeEventListener('offline', now)
      document.removeEventListener('visibilitychange', visible)
    }
  }

  /** Listens for changes, and reconnects when a stream ends. */
  async #follow(stop: AbortSignal, idle: () => boolean) {
    for (let first = true; !stop.aborted && this.kept; first = false) {
      const began = Date.now()
      await listen(
        '/api/v1/door/events',
        this.kept.token,
        (event) => {
          if (event !== 'ready' || !first) this.load()
          if (event === 'ready' && !first) renew(true, idle).catch(() => {})
        },
        stop,
      )
      if (stop.aborted) return
      this.load()
      const short = Date.now() - began < 5000
      await new Promise<void>((go) => {
        this.#wake = go
        setTimeout(go, short ? retries[Math.min(this.#tries, retries.length - 1)]! : 500 + 1000 * spread)
      })
      renew(false, idle).catch(() => {})
    }
  }

  /** Loads the current state from the server. */
  load(): Promise<void> {
    if (this.#loading) {
      this.#again = true // the request under way may miss the change
      return this.#loading
    }
    this.#due = Infinity
    this.#loading = this.#load().finally(() => {
      this.#loading = undefined
      if (this.#again) {
        this.#again = false
        this.load()
      }
    })
    return this.#loading
  }

  async #load() {
    clearTimeout(this.#retry)
    const kept = this.kept
    if (!kept) return
    const sent = Date.now()
    try {
      const door = await ask(api.GET('/door', { headers: this.#auth(), signal: AbortSignal.timeout(answerWithin) }))
      if (this.kept !== kept) return
      if (sent < this.#acted) this.#again = true // the response may be older than the action
      else this.#accept(door, sent)
    } catch (err) {
      if (this.kept !== kept) return
      if (err instanceof Problem && [401, 403, 404].includes(err.status)) this.#unpair()
      else this.#fail()
    }
  }

  #auth() {
    return { Authorization: `Bearer ${this.kept?.token}` }
  }

  #accept(door: Door, sent: number) {
    const back = Date.now()
    this.#ahead = Date.parse(door.now) - (sent + back) / 2
    this.door = door
    this.now = this.#clock()
    this.heard = this.now
    this.#failing = 0
    this.#tries = 0
    clearTimeout(this.#retry)
    // The QR code and the bookable times change with the minute.
    const minute = Math.floor(this.now / 60_000 + 1) * 60_000 + spread * 4000
    this.#due = Math.min(nextChange(door, this.now) + 100 + spread * 400, minute)
    write(keySeen, { door, ahead: this.#ahead, heard: this.heard } satisfies Seen)
  }

  #fail() {
    this.now = this.#clock()
    this.#failing ||= this.now
    const wait = retries[Math.min(this.#tries++, retries.length - 1)]!
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => this.load(), wait)
  }

  #unpair() {
    this.ended = true
    this.#keep(null)
  }

  #keep(kept: Kept | null) {
    this.kept = kept
    write(key, kept)
    if (!kept) {
      this.door = null
      write(keySeen, null)
    }
  }

  /** Pairs the device with the door of the code, or throws a {@link Problem}. */
  async pair(code: string, name: string) {
    const body = name ? { code, name } : { code }
    const { token, room } = await ask(api.POST('/door/pair', { body, signal: AbortSignal.timeout(answerWithin) }))
    this.#keep(null)
    this.ended = false
    this.#failing = 0
    this.#keep({ token, room: { id: room.id, name: room.name } })
  }

  /** Runs an action at the door once, however often it is sent, and shows the new state. */
  /** Returns the photo of the room; null: it cannot be loaded now. */
  async photo(version: string): Promise<ImageBitmap | null> {
    try {
      const answer = await fetch(`/api/v1/door/photo?v=${version}`, { headers: this.#auth() })
      return answer.ok ? await createImageBitmap(await answer.blob()) : null
    } catch {
      return null
    }
  }

  /** Reports a fault of the room; false: it could not be sent. */
  async report(category: Category, text: string): Promise<boolean> {
    const headers = { ...this.#auth(), 'Idempotency-Key': idempotencyKey() }
    try {
      await ask(api.POST('/door/faults', { headers, signal: AbortSignal.timeout(answerWithin), body: { category, text } }))
      return true
    } catch {
      return false
    }
  }

  async act(action: Action) {
    const sent = Date.now()
    const headers = { ...this.#auth(), 'Idempotency-Key': idempotencyKey() }
    const with_ = { headers, signal: AbortSignal.timeout(answerWithin) }
    let door: Door
    try {
      if ('book' in action) {
        door = await ask(api.POST('/door/book', { ...with_, body: { minutes: action.book as 15 } }))
      } else if ('extend' in action) {
        const params = { path: { id: action.id } }
        door = await ask(api.POST('/door/meetings/{id}/extend', { ...with_, params, body: { minutes: action.extend as 15 } }))
      } else if ('end' in action) {
        door = await ask(api.POST('/door/meetings/{id}/end', { ...with_, params: { path: { id: action.end } } }))
      } else {
        door = await ask(api.POST('/door/meetings/{id}/check-in', { ...with_, params: { path: { id: action.checkIn } } }))
      }
    } catch (err) {
      this.load()
      throw err
    }
    this.#acted = Date.now()
    this.#accept(door, sent)
  }
}

export const device = new Device()
