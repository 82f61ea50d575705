/** Numbers questions: an answer counts only while no later one was asked, for it may be older. */
export class Turns {
  #last = 0

  /** Begins a question; what it returns tells whether it is still the last one. */
  begin(): () => boolean {
    const mine = ++this.#last
    return () => mine === this.#last
  }
}
