import { api, ask, type MeetingType } from './api/client'
import { i18n } from './i18n/index.svelte'

const ranks = { member: 1, manager: 2, admin: 3 }

/** The types of meetings that admins define. They are loaded when a view needs them. */
class Types {
  list = $state.raw<MeetingType[]>([])
  byID = $derived(new Map(this.list.map((t) => [t.id, t])))
  loaded = $state(false)
  #loading: Promise<void> | undefined

  /** Waits until they were loaded once. */
  ready(): Promise<void> {
    return this.loaded ? Promise.resolve() : this.load()
  }

  load(): Promise<void> {
    this.#loading ??= ask(api.GET('/types'))
      .then(({ items }) => {
        this.list = items
        this.loaded = true
      })
      .finally(() => (this.#loading = undefined))
    return this.#loading
  }

  /** The name in the language of the page; empty for none. */
  name(id: number | null | undefined): string {
    const type = this.byID.get(id ?? 0)
    return type ? nameOf(type) : ''
  }

  /** The types that a user with the role can book in the rooms, and the one that the meeting has. */
  choices(role: keyof typeof ranks, rooms: { id: number; site_id: number | null }[], has: number): MeetingType[] {
    return this.list.filter(
      (t) => t.id === has || (t.active && ranks[role] >= ranks[t.min_role as keyof typeof ranks] && rooms.every((r) => takes(t, r))),
    )
  }
}

export function nameOf(type: MeetingType): string {
  return type.names[i18n.tag.slice(0, 2)] || type.name
}

function takes(type: MeetingType, room: { id: number; site_id: number | null }): boolean {
  return !(type.site_ids.length + type.room_ids.length) || type.room_ids.includes(room.id) || type.site_ids.includes(room.site_id ?? 0)
}

export const types = new Types()
