import type { GridMeeting, GridRoom } from '../lib/api/client'
import { day } from './day.svelte'

/** What is at an element of the grid. */
export interface Target {
  room?: GridRoom
  meeting?: GridMeeting
  edge?: 'start' | 'end'
  /** Whether it is the name of the room, not its hours. */
  name: boolean
}

export function targetOf(at: Element): Target {
  const room = day.byID.get(Number(at.closest<HTMLElement>('.row')?.dataset.room))
  const id = Number(at.closest<HTMLElement>('[data-meeting]')?.dataset.meeting)
  return {
    room,
    meeting: room && day.of(room).find((m) => m.id === id),
    edge: at.closest<HTMLElement>('[data-edge]')?.dataset.edge as Target['edge'],
    name: Boolean(at.closest('.label')),
  }
}
