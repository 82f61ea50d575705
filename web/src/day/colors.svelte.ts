import type { GridMeeting } from '../lib/api/client'
import { session } from '../lib/session.svelte'
import { store, stored } from '../lib/stored'

const key = 'punctual.colors'
const ways = ['mine', 'status', 'organizer'] as const
type Way = (typeof ways)[number]

/** The number of tones for organizers, as app.css defines them. */
const tones = 8

/** What the color of a meeting says: whether it is the user's, its status, or its organizer. */
class Colors {
  readonly ways = ways
  by = $state<Way>(ways.find((w) => w === stored(key)) ?? 'mine')

  choose(by: Way) {
    this.by = by
    store(key, by === 'mine' ? '' : by)
  }

  /** Returns the class of a meeting's color; "" for the color of its status. */
  toneOf(m: Pick<GridMeeting, 'organizer' | 'status'>): string {
    if (this.by === 'status' || m.status === 'ended') return ''
    if (this.by === 'organizer') return m.organizer.id ? `tone-${m.organizer.id % tones}` : 'tone-other'
    return m.organizer.id === session.user?.id ? '' : 'tone-other'
  }
}

export const colors = new Colors()
