import { tick } from 'svelte'
import { idempotencyKey, Problem } from './api/client'
import { describe, faultsByField } from './i18n/problem'
import { toasts } from './toast.svelte'

interface About<T> {
  /** The field of the form that a location of the API is about; "": of none. */
  field?: (location: string) => string
  /** Reads what is changed, for what somebody else made of it meanwhile. */
  latest?: () => Promise<T>
}

/**
 * The saving of one form, or the doings of one group of buttons. Only one request is under way
 * at a time; another try does nothing meanwhile. What is typed until the answer comes is the
 * form's to keep (see {@link merged}), and a failure takes nothing away.
 */
export class Saving<T = never> {
  /** An answer is awaited. */
  busy = $state(false)
  faults = $state.raw<Record<string, string[]>>({})
  /** What the server has, since somebody else was quicker; it stays until one decides, and that is saved. */
  theirs = $state.raw<T | null>(null)
  /** The form, while it is there. What fails without it is told by a toast. */
  box = $state<HTMLFormElement>()
  /** Something was typed since it was sent: the keyboard is not to be taken elsewhere. */
  typed = false

  #about: About<T>
  #key = { of: '', key: '' }

  constructor(about: About<T> = {}) {
    this.#about = about
  }

  /** Of the buttons that save. They keep the keyboard's focus, which disabled ones would lose. */
  get button() {
    return { 'aria-disabled': this.busy || undefined, 'aria-busy': this.busy || undefined }
  }

  /** Whether somebody still looks at the form. */
  get open(): boolean {
    return this.box?.isConnected ?? false
  }

  /**
   * The idempotency key for what is sent: the same for the same until it succeeds, so that
   * another try after an answer that got lost makes nothing twice.
   */
  key(body: unknown): string {
    const of = JSON.stringify(body)
    if (this.#key.of !== of) this.#key = { of, key: idempotencyKey() }
    return this.#key.key
  }

  /** Saves, unless that is under way: faults come to their fields, and what somebody else saved to {@link theirs}. */
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

/** Brings the first field with a fault into view, with the focus. */
export async function firstFault(form: HTMLElement | undefined) {
  await tick()
  const at = form?.querySelector<HTMLElement>('[aria-invalid="true"], [data-fault], .notice')
  at?.scrollIntoView({ block: 'center' })
  at?.focus({ preventScroll: true })
}

/** What a form shows once `sent` was saved as `saved`: what was typed in between stays. */
export function merged<F>(typed: F, sent: F, saved: F): F {
  if (!plain(typed) || !plain(sent) || !plain(saved)) return same(typed, sent) ? saved : typed
  return Object.fromEntries(Object.keys(saved).map((k) => [k, merged(typed[k], sent[k], saved[k])])) as F
}

/** Whether two forms say the same. */
export function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function plain(v: unknown): v is Record<string, unknown> {
  return typeof v === 'object' && v !== null && !Array.isArray(v)
}
