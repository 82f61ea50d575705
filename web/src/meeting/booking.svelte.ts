import type { Meeting } from '../lib/api/client'

/** What the booking form starts from. */
export interface Draft {
  /** The meeting to edit; none makes a new one. */
  meeting?: Meeting
  roomID?: number
  /** Wall time in the room's zone. */
  start?: string
  end?: string
}

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
    this.#done(saved)
    this.#done = () => {}
    if (saved) for (const fn of this.#listeners) fn(saved)
  }

  #listeners = new Set<(m: Meeting) => void>()

  /** Calls fn after anything was booked or changed, until the returned function is called. */
  onSaved(fn: (m: Meeting) => void): () => void {
    this.#listeners.add(fn)
    return () => this.#listeners.delete(fn)
  }

  /** Tells that a meeting changed otherwise: moved, cancelled, decided. */
  changed(m: Meeting) {
    for (const fn of this.#listeners) fn(m)
  }
}

export const booking = new Booking()
