import { api, ask, type CustomField } from './api/client'
import { number } from './i18n/format'
import { i18n } from './i18n/index.svelte'

/** A value of a custom field; null is none. */
export type Value = string | number | boolean | null

/** The fields of meetings that admins define. They are loaded when a view needs them. */
class CustomFields {
  list = $state.raw<CustomField[]>([])
  byName = $derived(new Map(this.list.map((f) => [f.name, f])))
  loaded = $state(false)
  #loading: Promise<void> | undefined

  /** Waits until they were loaded once. */
  ready(): Promise<void> {
    return this.loaded ? Promise.resolve() : this.load()
  }

  load(): Promise<void> {
    this.#loading ??= ask(api.GET('/custom-fields'))
      .then(({ items }) => {
        this.list = items
        this.loaded = true
      })
      .finally(() => (this.#loading = undefined))
    return this.#loading
  }

  /** The fields that a booking of the rooms is asked for. */
  asked(rooms: { site_id: number | null }[]): CustomField[] {
    return this.list.filter((f) => f.active && (!f.site_ids.length || rooms.some((r) => r.site_id !== null && f.site_ids.includes(r.site_id))))
  }

  /** The label in the language of the page; the name for a field that was deleted. */
  label(name: string): string {
    const field = this.byName.get(name)
    return field ? labelOf(field) : name
  }
}

export function labelOf(field: CustomField): string {
  return field.labels[i18n.tag.slice(0, 2)] || field.label
}

/** A value in words; empty for none. */
export function inWords(value: unknown): string {
  if (typeof value === 'boolean') return value ? i18n.t.booking.yes : i18n.t.booking.no
  if (typeof value === 'number') return number(value)
  return value == null ? '' : String(value)
}

export const customFields = new CustomFields()
