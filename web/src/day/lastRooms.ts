import { store, stored } from '../lib/stored'

const key = 'punctual.rooms'
const most = 30 // more are below the end of a window

/** How many rooms the last picture had, as far as a window shows them; 0: it is not known. */
export function lastRooms(): number {
  return Math.min(most, Math.trunc(Number(stored(key))) || 0)
}

export function rememberRooms(count: number) {
  store(key, count ? String(Math.min(most, count)) : '')
}
