import { i18n } from '../../lib/i18n/index.svelte'
import { router } from '../../lib/router.svelte'
import { merged, same, Saving } from '../../lib/saving.svelte'
import { toasts } from '../../lib/toast.svelte'

interface Kind<T, F> {
  /** Returns the form of a record; for null, the form of a new one. */
  formOf: (record: T | null) => F
  /** Returns the form field for a location of the API. */
  fieldOf: (location: string) => string
  read: (id: number) => Promise<T>
  create: (body: object, key: string) => Promise<T>
  change: (of: T, body: object) => Promise<T>
  /** Called with the id of a new record once it is created. The form stays. */
  onmade: (id: number) => void
  onsaved?: () => void
}

/** The form of a room or a person: the server's version, the edits, and how it is saved. */
export class Editor<T extends { id: number }, F> {
  /** The server's version; null: new. */
  record = $state.raw<T | null>(null)
  form: F
  /** null: not loaded yet. */
  found = $state<boolean | null>(null)
  readonly saving: Saving<T>

  #kind: Kind<T, F>
  #blank: F

  constructor(kind: Kind<T, F>) {
    this.#kind = kind
    this.form = $state(kind.formOf(null))
    this.#blank = $state.raw(kind.formOf(null))
    this.saving = new Saving<T>({ field: kind.fieldOf, latest: () => kind.read(this.record!.id) })
  }

  dirty = $derived.by(() => !same(this.form, this.record ? this.#kind.formOf(this.record) : this.#blank))

  /** Asks before unsaved changes are left; returns a function that stops it. */
  guard(): () => void {
    return router.guard(() => this.dirty)
  }

  show(record: T | null) {
    this.record = record
    this.form = this.#kind.formOf(record)
  }

  /** Takes a new form as it is now, with its defaults, for one without changes. */
  begin() {
    this.#blank = $state.snapshot(this.form) as F
  }

  /** Saves fields, sent from the form, over the version that is shown or the one given; without any, a record is created. */
  save(body: object, over = this.record, sent = $state.snapshot(this.form) as F) {
    return this.saving.run(async () => {
      const saved = await (over ? this.#kind.change(over, body) : this.#kind.create(body, this.saving.key(body)))
      this.form = merged($state.snapshot(this.form) as F, sent, this.#kind.formOf(saved))
      const made = !this.record && this.saving.open
      this.record = saved
      if (made) this.#kind.onmade(saved.id)
      toasts.show(i18n.t.admin.saved)
      this.#kind.onsaved?.()
    })
  }
}
