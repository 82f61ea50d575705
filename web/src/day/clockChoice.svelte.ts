import { store, stored } from '../lib/stored'

const key = 'punctual.clock'
const zoneKey = 'punctual.room-zone'

/** The clock that room views follow: the rooms' (their site's) or the user's own. */
class ClockChoice {
  /** Whether views follow the user's own clock. */
  mine = $state(stored(key) === 'mine')
  /** The rooms' zone at the last visit: until rooms are loaded, the best guess. */
  lastZone = stored(zoneKey) ?? ''

  choose(mine: boolean) {
    this.mine = mine
    store(key, mine ? 'mine' : '')
  }

  remember(zone: string) {
    this.lastZone = zone
    store(zoneKey, zone)
  }
}

export const clockChoice = new ClockChoice()
