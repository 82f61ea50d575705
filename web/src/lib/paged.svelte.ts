import { poll } from './live.svelte'

interface Page<T> {
  items: T[]
  next_cursor?: string | null
}

/** How many empty pages in a row a search reads by itself: a page of the server ends early where little matches. */
const emptyPages = 10

/** A list that is read page by page. */
export class Paged<T> {
  /** null: not read yet. */
  items = $state.raw<T[] | null>(null)
  /** Of the last try; null: it went well. */
  error = $state.raw<unknown>(null)
  /** Where the next page begins; "": there is none. */
  next = $state('')
  /** A further page is under way. */
  busy = $state(false)

  #page: (cursor?: string) => Promise<Page<T>>
  #round = 0 // of what was asked last: what was asked before it comes too late
  #pages = 0

  constructor(page: (cursor?: string) => Promise<Page<T>>) {
    this.#page = page
  }

  /** Reads the first page anew. */
  load(): Promise<void> {
    this.busy = false
    return this.#read()
  }

  /** Reads one page more. */
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

  /** Reads it when what is asked for has come to rest, until the returned function is called. */
  soon(): () => void {
    const wait = setTimeout(() => this.load(), 200)
    return () => clearTimeout(wait)
  }

  /** Keeps the first page as it is now, until the returned function is called. Further ones would jump. */
  follow(every: number): () => void {
    return poll(() => void (this.#pages <= 1 && !this.busy && this.load()), every)
  }
}
