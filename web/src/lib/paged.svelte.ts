import { poll } from './live.svelte'

interface Page<T> {
  items: T[]
  next_cursor?: string | null
}

/** The number of empty pages that a search skips automatically: the server ends a page early if little matches. */
const emptyPages = 10

/** A list that is read page by page. */
export class Paged<T> {
  /** null: not loaded yet. */
  items = $state.raw<T[] | null>(null)
  /** The error of the last try; null: it succeeded. */
  error = $state.raw<unknown>(null)
  /** The cursor of the next page; "": there is none. */
  next = $state('')
  /** Whether another page is loading. */
  busy = $state(false)

  #page: (cursor?: string) => Promise<Page<T>>
  #round = 0 // counts searches: a response to an older one is ignored
  #pages = 0

  constructor(page: (cursor?: string) => Promise<Page<T>>) {
    this.#page = page
  }

  /** Reloads the first page. */
  load(): Promise<void> {
    this.busy = false
    return this.#read()
  }

  /** Loads one more page. */
  async further() {
    if (this.busy || !this.next) return
    this.busy = true
    await this.#read(this.next)
    this.busy = false
  }

  async #read(cursor?: string) {
    const round = ++this.#round
    try {
      let page = await this.#page(cursor)
      for (let i = 0; i < emptyPages && round === this.#round && !page.items.length && page.next_cursor; i++) page = await this.#page(page.next_cursor)
      if (round !== this.#round) return
      this.items = cursor ? [...(this.items ?? []), ...page.items] : page.items
      this.next = page.next_cursor ?? ''
      this.#pages = cursor ? this.#pages + 1 : 1
      this.error = null
    } catch (err) {
      if (round === this.#round) this.error = err
    }
  }

  /** Loads the list once its query has settled, until the returned function is called. */
  soon(): () => void {
    const wait = setTimeout(() => this.load(), 200)
    return () => clearTimeout(wait)
  }

  /** Keeps the first page up to date until the returned function is called. Later pages would jump. */
  follow(every: number): () => void {
    return poll(() => void (this.#pages <= 1 && !this.busy && this.load()), every)
  }
}
