/** Takes the keyboard's focus to the heading of a page, if what had it is gone. */
export function focusHeading(heading: HTMLElement) {
  if (document.activeElement === document.body) heading.focus({ preventScroll: true })
}
