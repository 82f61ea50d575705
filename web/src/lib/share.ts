const always = 23 * 60 // minutes that are open on a day without opening hours, whatever clocks do
const daytime = 10 * 60

/** What part of a day is taken, at most 1. Of one that never closes, or never opens, only the daytime counts. */
export function share(busy: number, open: number): number {
  const day = open >= always || open === 0 ? daytime : open
  return Math.min(1, busy / day)
}
