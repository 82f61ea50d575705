import { api, ask } from '../../lib/api/client'
import type { components } from '../../lib/api/schema'

export type Config = components['schemas']['ConfigAnswerBody']

/** The settings in force, for what rooms inherit. */
class Installation {
  config = $state.raw<Config | null>(null)

  async load() {
    this.config = await ask(api.GET('/config'))
  }

  /** The value of a key, as text; "" while it is not known. */
  text(key: string): string {
    const found = this.config?.keys.find((k) => k.key === key)
    return found ? String(found.value) : ''
  }
}

export const installation = new Installation()
