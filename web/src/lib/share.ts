const fullDay = 24 * 60

/** Returns the booked share of a day's open minutes, at most 1. A day without open minutes counts as a whole day. */
export function share(busy: number, open: number): number {
  return Math.min(1, busy / (open || fullDay))
}
