import { api, onAnswer, type Meeting } from './api/client'

/** The current time, updated every ten seconds: the page's "now". */
class Clock {
  now = $state.raw(new Date())

  constructor() {
    setInterval(() => (this.now = new Date()), 10_000)
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) this.now = new Date()
    })
  }
}

export const clock = new Clock()

/**
 * Runs fn every `every` ms while the page is visible. It also runs fn when the page becomes visible,
 * gets the focus, or is back online. Returns a function that stops it.
 */
export function poll(fn: () => unknown, every = 15_000): () => void {
  const run = () => {
    if (!document.hidden) fn()
  }
  const timer = setInterval(run, every)
  addEventListener('focus', run)
  addEventListener('online', run)
  document.addEventListener('visibilitychange', run)
  return () => {
    clearInterval(timer)
    removeEventListener('focus', run)
    removeEventListener('online', run)
    document.removeEventListener('visibilitychange', run)
  }
}

/** The kind of change to a meeting: the event type without "meeting.". */
const words = ['created', 'confirmed', 'rejected', 'changed', 'cancelled', 'started', 'ended', 'released', 'checked_in', 'responded']

const grace = 4_000 // a stream that reconnects within this time never counted as lost
const patience = 300 // to wait for the stream before the first request
const fallback = 15_000 // polling interval without a stream
const hiddenFor = 30_000 // a browser has six connections for all its tabs
const silentFor = 6 * 60_000 // the server ends a stream within five minutes, and each new one begins with a greeting
const longestRetry = fallback // polling as often as that, the page may as well retry the stream

type Timer = 'grace' | 'retry' | 'hidden' | 'patience'

/** A listener for each changed meeting, and for the need to reload everything. */
export interface Follower {
  meeting?: (m: Meeting) => void
  load: () => unknown
}

/**
 * The event stream, one for the page. While it is down, followers poll.
 */
class Live {
  /** Whether events arrive live; a short gap does not count. */
  on = $state(true)
  /** When the server was last heard from. */
  heard = $state.raw(new Date())

  #followers = new Set<Follower>()
  #source: EventSource | undefined
  #running = false
  #last = ''
  #gate = Promise.withResolvers<void>()
  #early = false // somebody may have loaded before the stream was open
  #opened = 0
  #retries = 0
  #timers: Partial<Record<Timer, ReturnType<typeof setTimeout>>> = {}

  constructor() {
    onAnswer(() => (this.heard = new Date()))
  }

  /** Notifies the follower of changes until the returned function is called. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower)
    return () => this.#followers.delete(follower)
  }

  /** Waits briefly for the stream to open: data that is loaded after that misses no event. */
  ready(): Promise<void> {
    return this.#gate.promise
  }

  /** Listens while a user is signed in; returns a function that stops it. */
  start(): () => void {
    this.#running = true
    this.#last = ''
    this.on = true
    this.#early = false
    this.#after('patience', patience, () => {
      this.#early = true
      this.#gate.resolve()
    })
    this.#open()
    const timer = setInterval(() => this.#look(), fallback)
    const online = () => this.#reopen()
    const visible = () => this.#visible()
    addEventListener('online', online)
    document.addEventListener('visibilitychange', visible)
    // The browser may keep a page for the back button, and its connection with it.
    const left = () => this.#close()
    const back = () => this.#open()
    addEventListener('pagehide', left)
    addEventListener('pageshow', back)
    return () => {
      this.#running = false
      this.#gate = Promise.withResolvers<void>()
      this.#close()
      clearInterval(timer)
      for (const name of Object.keys(this.#timers)) this.#stop(name as Timer)
      removeEventListener('online', online)
      removeEventListener('pagehide', left)
      removeEventListener('pageshow', back)
      document.removeEventListener('visibilitychange', visible)
    }
  }

  #after(name: Timer, ms: number, fn: () => void) {
    this.#stop(name)
    this.#timers[name] = setTimeout(() => {
      delete this.#timers[name]
      fn()
    }, ms)
  }

  #stop(name: Timer) {
    clearTimeout(this.#timers[name])
    delete this.#timers[name]
  }

  #open() {
    if (!this.#running || this.#source) return
    this.#stop('retry')
    this.#opened = Date.now()
    // The browser sends Last-Event-ID only for a source that it still holds.
    const source = new EventSource('/api/v1/events' + (this.#last ? '?after=' + this.#last : ''))
    this.#source = source
    source.addEventListener('ready', (e) => this.#greeted(e, !this.#last))
    source.addEventListener('reset', (e) => this.#greeted(e, true))
    for (const word of words) source.addEventListener('meeting.' + word, (e) => this.#event(e))
    source.addEventListener('error', () => this.#failed(source))
    this.#doubt()
  }

  #close() {
    this.#source?.close()
    this.#source = undefined
  }

  #reopen() {
    this.#close()
    this.#open()
  }

  /** Counts the connection as lost unless an event arrives soon. */
  #doubt() {
    if (!this.on || this.#timers.grace) return
    this.#after('grace', grace, () => {
      this.on = false
      this.#load()
    })
  }

  #greeted(e: MessageEvent, anew: boolean) {
    this.#stop('grace')
    this.#note(e)
    this.#opened = Date.now()
    this.#retries = 0
    this.on = true
    this.#stop('patience')
    this.#gate.resolve()
    if (anew && (this.#early || e.type === 'reset')) this.#load()
  }

  #note(e: MessageEvent) {
    this.#last = e.lastEventId
    this.heard = new Date()
  }

  #event(e: MessageEvent<string>) {
    this.#note(e)
    const { meeting } = JSON.parse(e.data) as { meeting: Meeting }
    for (const f of this.#followers) f.meeting?.(meeting)
  }

  #failed(source: EventSource) {
    if (source !== this.#source) return
    this.#doubt()
    if (source.readyState !== EventSource.CLOSED) return // the browser reconnects by itself
    this.#close()
    const wait = Math.min(longestRetry, 1000 * 2 ** this.#retries++)
    this.#after('retry', wait * (0.75 + Math.random() / 2), () => this.#open())
    api.GET('/me').catch(() => {}) // signed out meanwhile: the client handles the expired session
  }

  /** Without a stream followers poll; a silent stream counts as dead. */
  #look() {
    if (document.hidden) return
    if (!this.on) this.#load()
    if (this.#source && Date.now() - this.#opened > silentFor) this.#reopen()
  }

  #load() {
    for (const f of this.#followers) f.load()
  }

  #visible() {
    if (document.hidden) {
      this.#after('hidden', hiddenFor, () => this.#close())
      return
    }
    this.#stop('hidden')
    this.#open()
  }
}

export const live = new Live()

/**
 * Returns the list with the current version of a meeting, if it belongs there. A newer version in the list
 * stays. Returns the same list if nothing changed.
 */
export function patched<T extends { id: number; version: number }>(list: T[], m: T, belongs: boolean): T[] {
  const i = list.findIndex((o) => o.id === m.id)
  if (i < 0) return belongs ? [...list, m] : list
  if (list[i]!.version > m.version) return list
  return belongs ? list.with(i, m) : list.toSpliced(i, 1)
}
