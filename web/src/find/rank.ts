import type { Room } from '../lib/api/client'

// The order in which rooms are offered, and why. It needs no request: the page has all rooms, and
// the rooms of the user are loaded with the first offer.

/** What a room is needed for. */
export interface Need {
  /** 0: unknown */
  persons: number
  features: string[]
}

/** The rooms that the user prefers. */
export interface Habits {
  favorites: ReadonlySet<number>
  /** When each room was last used, the latest first. */
  recent: ReadonlyMap<number, string>
}

/** A place where the user is or works. */
export interface Place {
  site: number | null
  floor: string
}

export type Why =
  | { code: 'favorite' }
  | { code: 'recent'; at: string }
  | { code: 'fits'; persons: number; seats: number }
  | { code: 'has'; feature: string }
  | { code: 'floor'; floor: string }

/**
 * Returns where the user is, as far as the rooms show it: at the chosen site, else at that of the
 * room used last or of a favorite.
 */
export function homeOf(rooms: Room[], habits: Habits, site = 0): Place | null {
  const known = [...habits.recent.keys(), ...habits.favorites].map((id) => rooms.find((r) => r.id === id)).filter((r) => r !== undefined)
  const room = known.find((r) => !site || r.site_id === site)
  if (room) return { site: room.site_id, floor: room.floor }
  return site ? { site, floor: '' } : null
}

/** Returns how early a room is offered: favorites (0), recent rooms (1), others (2). */
export function preference(roomID: number, habits: Habits): number {
  return habits.favorites.has(roomID) ? 0 : habits.recent.has(roomID) ? 1 : 2
}

/** How many seats would stay empty; a room of unknown size fits last. */
const surplus = (r: Room, persons: number) => (r.capacity ? r.capacity - persons : 1e9)

/**
 * Sorts items by their rooms: the user's site first, then favorites, then recent rooms, then those
 * that fit best, then those on the same floor. Equal rooms keep their order.
 */
export function ranked<T>(items: T[], roomOf: (item: T) => Room, need: Need, habits: Habits, home: Place | null): T[] {
  const away = (r: Room) => Number(home !== null && r.site_id !== home.site)
  const otherFloor = (r: Room) => Number(!home?.floor || r.floor !== home.floor)
  return [...items].sort((x, y) => {
    const [a, b] = [roomOf(x), roomOf(y)]
    return (
      away(a) - away(b) || preference(a.id, habits) - preference(b.id, habits) || surplus(a, need.persons) - surplus(b, need.persons) || otherFloor(a) - otherFloor(b)
    )
  })
}

/** Returns why a room is offered, the strongest reason first. */
export function reasonsFor(r: Room, need: Need, habits: Habits, home: Place | null): Why[] {
  const why: Why[] = []
  if (habits.favorites.has(r.id)) why.push({ code: 'favorite' })
  const at = habits.recent.get(r.id)
  if (at) why.push({ code: 'recent', at })
  if (need.persons && r.capacity) why.push({ code: 'fits', persons: need.persons, seats: r.capacity })
  for (const feature of need.features) if (r.features.includes(feature)) why.push({ code: 'has', feature })
  if (home?.floor && r.floor === home.floor && r.site_id === home.site) why.push({ code: 'floor', floor: r.floor })
  return why
}
