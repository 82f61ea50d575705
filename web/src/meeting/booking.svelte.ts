import type { Meeting } from '../lib/api/client'
import { i18n } from '../lib/i18n/index.svelte'
import { session } from '../lib/session.svelte'
import { toasts } from '../lib/toast.svelte'
import type { Draft, Kept } from './draft'

const storage = 'punctual.draft'

/** The booking form; there is only one. */
class Booking {
  draft = $state.raw<Draft | null>(null)
  #done: (saved: Meeting | null) => void = () => {}

  /** Opens the form. Resolves to what was saved, or to null if the form was closed without saving. */
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

  /** Stores the typed text until the form is closed, also across a reload of the page. */
  keep(kept: Kept) {
    const { meeting, series } = this.draft ?? {}
    try {
      sessionStorage.setItem(storage, JSON.stringify({ user: session.user?.id, at: location.pathname, draft: { meeting, series, kept } }))
    } catch {
      // Without storage it lasts until the page is left.
    }
  }

  forget() {
    try {
      sessionStorage.removeItem(storage)
    } catch {
      // There is no stored form.
    }
  }

  /** Whether a form was stored, so that [restore] has something to do. */
  get kept(): boolean {
    try {
      return sessionStorage.getItem(storage) !== null
    } catch {
      return false
    }
  }

  /**
   * Reopens the form as it was left. On a different page it only offers to reopen it:
   * the form must not cover the target of a link.
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

  /** Notifies listeners of a changed meeting: moved, canceled, decided. */
  changed(m: Meeting) {
    for (const fn of this.#listeners) fn(m)
  }
}

export const booking = new Booking()
