import { api, ask, idempotencyKey, onSignedOut, type User } from './api/client'
import { i18n, type Language } from './i18n/index.svelte'
import type { components } from './api/schema'
import { localZone } from './zone'

/** The signed-in user. The session cookie is set by the server; the page never sees it. */
class Session {
  user = $state.raw<User | null>(null)
  state = $state<'unknown' | 'in' | 'out' | 'unreachable'>('unknown')

  /** The user's zone: from the profile, else the browser's. */
  zone = $derived(this.user?.timezone || localZone())
  admin = $derived(this.user?.role === 'admin')
  decides = $derived(this.user?.role === 'admin' || this.user?.role === 'manager')

  constructor() {
    onSignedOut(() => this.#out())
  }

  #out() {
    this.user = null
    this.state = 'out'
  }

  async load() {
    try {
      const { user } = await ask(api.GET('/auth/session'))
      if (user) await this.#in(user)
      else this.#out()
    } catch {
      this.state = 'unreachable'
    }
  }

  async #in(user: User) {
    await i18n.settle(user.locale)
    this.user = user
    this.state = 'in'
  }

  async signIn(email: string, password: string) {
    const { user } = await ask(api.POST('/auth/login', { body: { email, password } }))
    await this.#in(user)
  }

  /** Creates the first admin with the one-time link, and signs in. */
  async setUp(first: { token: string; name: string; email: string; password: string; timezone: string; locale: string }) {
    const { user } = await ask(
      api.POST('/setup', { body: first, headers: { 'Idempotency-Key': idempotencyKey() } }),
    )
    await this.#in(user)
  }

  /** Chooses a password with the link of an invitation or a password reset, and signs in. */
  async choosePassword(body: components['schemas']['ConfirmResetInputBody']) {
    const { user } = await ask(api.POST('/auth/password-reset/confirm', { body }))
    await this.#in(user)
  }

  /** Switches the language here and for the user's mails. */
  async speak(language: Language) {
    await i18n.choose(language)
    if (this.user && this.user.locale?.split('-')[0] !== language) {
      this.user = await ask(api.PATCH('/me', { body: { locale: language } }))
    }
  }

  async signOut() {
    try {
      await ask(api.POST('/auth/logout'))
    } finally {
      this.#out()
    }
  }
}

export const session = new Session()
