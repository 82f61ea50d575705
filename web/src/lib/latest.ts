/** Numbers requests, so that a response that arrives after a later request was sent is ignored. */
export class LatestRequest {
  #last = 0

  /** Starts a request. The returned function reports whether it is still the latest. */
  begin(): () => boolean {
    const number = ++this.#last
    return () => number === this.#last
  }
}
