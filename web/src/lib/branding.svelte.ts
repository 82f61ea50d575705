import { api, ask, type Branding } from './api/client'
import { i18n } from './i18n/index.svelte'
import { clock } from './live.svelte'
import { store, stored } from './stored'

const key = 'punctual.branding'

/** Name, message and logo of the organization. They are stored, so that the next visit shows them at once. */
class Organization {
  #is = $state.raw<Branding | null>(read())

  /** Whether an earlier visit stored it: then the first view does not wait for it. */
  known = this.#is !== null

  /** The name of the page: of the organization, if it has one. */
  name = $derived(this.#is?.name ?? i18n.t.app.name)
  /** The address of the logo. */
  logo = $derived(this.#is?.logo ? `/api/v1/branding/logo?v=${this.#is.logo}` : '/favicon.svg')
  own = $derived(Boolean(this.#is?.logo))
  message = $derived.by(() => {
    const { message, message_until: until } = this.#is ?? {}
    return message && (!until || clock.now < new Date(until)) ? message : ''
  })

  async load() {
    try {
      this.put(await ask(api.GET('/branding')))
    } catch {
      // What is stored stays.
    }
  }

  put(b: Branding) {
    if (JSON.stringify(b) === JSON.stringify(this.#is)) return
    this.#is = b
    store(key, JSON.stringify(b))
  }
}

function read(): Branding | null {
  try {
    return JSON.parse(stored(key) || 'null') as Branding | null
  } catch {
    return null
  }
}

export const organization = new Organization()
