import type { GridMeeting, GridRoom } from '../lib/api/client'
import { day } from './day.svelte'

/** The target of an event of the grid. */
export interface Target {
  room?: GridRoom
  meeting?: GridMeeting
  edge?: 'start' | 'end'
  /** Whether it is the name of the room, not its hours. */
  name: boolean
}

export function targetOf(e: Event): Target {
  const at = e.target as Element
  const room = day.byID.get(Number(at.closest<HTMLElement>('.row')?.dataset.room))
  const id = Number(at.closest<HTMLElement>('[data-meeting]')?.dataset.meeting)
  return {
    room,
    meeting: room && day.of(room).find((m) => m.id === id),
    edge: at.closest<HTMLElement>('[data-edge]')?.dataset.edge as Target['edge'],
    name: Boolean(at.closest('.label')),
  }
}
