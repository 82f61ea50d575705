import { i18n } from '../lib/i18n/index.svelte'

interface Actor {
  kind: string
  name: string
}

/** Returns who did something, in words; for an automatic change, its cause. */
export function actorName({ kind, name }: Actor): string {
  if (kind === 'user') return name
  const door = /^door of (.*)$/s.exec(name)
  if (door) return i18n.t.meeting.atDoor(door[1]!)
  return i18n.t.meeting.timers[name] ?? (kind === 'timer' ? i18n.t.meeting.byTimer : i18n.t.meeting.bySystem)
}
