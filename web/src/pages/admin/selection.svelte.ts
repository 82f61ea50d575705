/**
 * The rows of a list that the user selected. Rows that the list does not show, because they are gone or filtered
 * out, do not count.
 */
export class Selection<T> {
  #shown: () => readonly T[]
  #key: (row: T) => unknown
  #keys = $state.raw<ReadonlySet<unknown>>(new Set())

  #offered = $derived.by(() => new Set(this.#shown()))

  /** The selected rows, in the order of the list. */
  rows = $derived.by(() => this.#shown().filter((row) => this.has(row)))
  all = $derived.by(() => this.rows.length > 0 && this.rows.length === this.#shown().length)
  some = $derived.by(() => this.rows.length > 0 && !this.all)

  /** Selects among the rows that shown returns, which key identifies. */
  constructor(shown: () => readonly T[], key: (row: T) => unknown) {
    this.#shown = shown
    this.#key = key
  }

  get size(): number {
    return this.rows.length
  }

  /** Whether there is a row that can be selected. */
  get possible(): boolean {
    return this.#shown().length > 0
  }

  /** Whether a row can be selected. */
  offers(row: T): boolean {
    return this.#offered.has(row)
  }

  has(row: T): boolean {
    return this.#keys.has(this.#key(row))
  }

  toggle(row: T, on: boolean) {
    this.#set([row], on)
  }

  toggleAll(on: boolean) {
    this.#set(this.#shown(), on)
  }

  clear() {
    this.#keys = new Set()
  }

  #set(rows: readonly T[], on: boolean) {
    const keys = new Set(this.#keys)
    for (const row of rows) {
      if (on) keys.add(this.#key(row))
      else keys.delete(this.#key(row))
    }
    this.#keys = keys
  }
}
