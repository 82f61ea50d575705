import { relative } from '../lib/i18n/format'
import { i18n } from '../lib/i18n/index.svelte'
import type { Why } from './rank'

/** A reason for a room in the reader's language. */
export function whyText(why: Why, now = new Date()): string {
  const t = i18n.t.find.why
  switch (why.code) {
    case 'favorite':
      return t.favorite
    case 'recent':
      return t.recent(relative(why.at, now))
    case 'fits':
      return t.fits(why.persons, why.seats)
    case 'has':
      return t.has(why.feature)
    default:
      return t.floor(why.floor)
  }
}
