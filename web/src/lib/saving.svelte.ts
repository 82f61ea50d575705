import { tick } from 'svelte'
import { idempotencyKey, Problem } from './api/client'
import { describe, faultsByField } from './i18n/problem'
import { toasts } from './toast.svelte'

interface About<T> {
  /** Returns the form field for a location of the API; "": none. */
  field?: (location: string) => string
  /** Loads the record again, to see what another user changed meanwhile. */
  latest?: () => Promise<T>
}

/**
 * The saving of one form, or the actions of one group of buttons. Only one request runs
 * at a time; another try meanwhile does nothing. The form keeps what is typed until the response
 * arrives (see {@link merged}), and a failure discards nothing.
 */
export class Saving<T = never> {
  /** Whether a request is under way. */
  busy = $state(false)
  faults = $state.raw<Record<string, string[]>>({})
  /** The server's version after a conflict; it stays until the user chooses a version and that is saved. */
  theirs = $state.raw<T | null>(null)
  /** The form element while it is shown. Without it, a toast reports errors. */
  box = $state<HTMLFormElement>()
  /** Whether the user typed after the request was sent: then the focus must not move. */
  typed = false

  #about: About<T>
  #key = { of: '', key: '' }

  constructor(about: About<T> = {}) {
    this.#about = about
  }

  /** Attributes of the save buttons. They stay focusable, because a disabled button loses the focus. */
  get button() {
    return { 'aria-disabled': this.busy || undefined, 'aria-busy': this.busy || undefined }
  }

  /** Whether the form is still shown. */
  get open(): boolean {
    return this.box?.isConnected ?? false
  }

  /**
   * Returns the idempotency key of a request. The same content keeps its key until it succeeds, so
   * retrying after a lost response creates nothing twice.
   */
  key(body: unknown): string {
    const of = JSON.stringify(body)
    if (this.#key.of !== of) this.#key = { of, key: idempotencyKey() }
    return this.#key.key
  }

  /** Saves, unless a save is under way. Errors appear at their fields; a conflicting version goes to {@link theirs}. */
  async run(save: () => Promise<void>) {
    if (this.busy) return
    this.busy = true
    this.faults = {}
    this.typed = false
    const box = this.box
    const typing = () => (this.typed = true)
    box?.addEventListener('input', typing)
    try {
      await save()
      this.theirs = null
      this.#key = { of: '', key: '' }
    } catch (err) {
      const quicker = err instanceof Problem && err.status === 412
      const latest = quicker ? await this.#about.latest?.().catch(() => null) : null
      if (latest) this.theirs = latest
      else this.faults = faultsByField(err, this.#about.field ?? (() => ''))
      if (!this.open) toasts.show(describe(err), 'bad')
      else if (!latest && !this.typed) firstFault(this.box)
    } finally {
      box?.removeEventListener('input', typing)
      this.busy = false
    }
  }
}

/** Scrolls to the first field with an error, and focuses it. */
export async function firstFault(form: HTMLElement | undefined) {
  await tick()
  const at = form?.querySelector<HTMLElement>('[aria-invalid="true"], [data-fault], .notice')
  at?.scrollIntoView({ block: 'center' })
  at?.focus({ preventScroll: true })
}

/** Returns what a form shows once `sent` was saved as `saved`: edits made in between stay. */
export function merged<F>(typed: F, sent: F, saved: F): F {
  if (!plain(typed) || !plain(sent) || !plain(saved)) return same(typed, sent) ? saved : typed
  return Object.fromEntries(Object.keys(saved).map((k) => [k, merged(typed[k], sent[k], saved[k])])) as F
}

/** Reports whether two forms have the same content. */
export function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function plain(v: unknown): v is Record<string, unknown> {
  return typeof v === 'object' && v !== null && !Array.isArray(v)
}
