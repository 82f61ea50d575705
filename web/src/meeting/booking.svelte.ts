import type { Meeting } from '../lib/api/client'
import { i18n } from '../lib/i18n/index.svelte'
import { session } from '../lib/session.svelte'
import { toasts } from '../lib/toast.svelte'
import type { Draft, Kept } from './draft'

const storage = 'punctual.draft'

/** The booking form, of which there is one. */
class Booking {
  draft = $state.raw<Draft | null>(null)
  #done: (saved: Meeting | null) => void = () => {}

  /** Opens the form; tells what was saved, or null if it was closed without. */
  open(draft: Draft = {}): Promise<Meeting | null> {
    this.#done(null)
    this.draft = draft
    return new Promise((done) => (this.#done = done))
  }

  close(saved: Meeting | null = null) {
    this.draft = null
    this.forget()
    this.#done(saved)
    this.#done = () => {}
    if (saved) this.changed(saved)
  }

  /** Keeps what was typed until the form is closed, over a reload of the page. */
  keep(kept: Kept) {
    const { meeting, series } = this.draft ?? {}
    try {
      sessionStorage.setItem(storage, JSON.stringify({ user: session.user?.id, at: location.pathname, draft: { meeting, series, kept } }))
    } catch {
      // It lasts until the page is left.
    }
  }

  forget() {
    try {
      sessionStorage.removeItem(storage)
    } catch {
      // Nothing was kept.
    }
  }

  /**
   * Opens the form again as it was left. On another page than it was left on, it only offers to:
   * it must not cover what a link leads to.
   */
  restore() {
    try {
      const { user, at, draft } = JSON.parse(sessionStorage.getItem(storage) ?? '{}')
      if (!draft || user !== session.user?.id) return
      if (at === location.pathname) void this.open(draft)
      else toasts.show(i18n.t.booking.unfinished, 'good', { label: i18n.t.booking.resume, run: () => void this.open(draft) })
    } catch {
      this.forget()
    }
  }

  #listeners = new Set<(m: Meeting) => void>()

  /** Calls fn after anything was booked or changed, until the returned function is called. */
  onSaved(fn: (m: Meeting) => void): () => void {
    this.#listeners.add(fn)
    return () => this.#listeners.delete(fn)
  }

  /** Tells that a meeting changed: moved, cancelled, decided. */
  changed(m: Meeting) {
    for (const fn of this.#listeners) fn(m)
  }
}

export const booking = new Booking()
