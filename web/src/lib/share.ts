const fullDay = 24 * 60

/** What part of a day's open minutes is taken, at most 1. A day without any counts as a whole day. */
export function share(busy: number, open: number): number {
  return Math.min(1, busy / (open || fullDay))
}
