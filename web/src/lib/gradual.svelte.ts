const some = 60

/** Draws a long list as the user scrolls: first what fills a screen. */
export class Gradual {
  /** How many items to draw. */
  most = $state(some)

  /** Attached to an element after the drawn items: draws more when it comes near the view. */
  more = (el: HTMLElement) => {
    void this.most // checked again after each step: the marker may still be in view
    const observer = new IntersectionObserver((seen) => seen.some((s) => s.isIntersecting) && (this.most += some), { rootMargin: '600px' })
    observer.observe(el)
    return () => observer.disconnect()
  }
}
