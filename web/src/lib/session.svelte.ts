import { api, ask, idempotencyKey, onSignedOut, Problem, type User } from './api/client'
import { i18n, type Language } from './i18n/index.svelte'
import type { components } from './api/schema'
import { store, stored } from './stored'
import { localZone } from './zone'

/** The user of the last visit, without what only the profile shows. */
const key = 'punctual.user'

/** The signed-in user. The session cookie is set by the server; the page never sees it. */
class Session {
  user = $state.raw<User | null>(null)
  state = $state<'unknown' | 'in' | 'out' | 'unreachable'>('unknown')
  /** Whether the server said who the user is. Until then it is the user of the last visit. */
  confirmed = $state(false)
  /** Identity providers to sign in with. */
  providers = $state.raw<components['schemas']['ProviderBody'][]>([])
  /** Whether people can use passkeys here. */
  passkeys = $state(false)
  /** Set while a code or a passkey must confirm the sign-in. */
  challenge = $state('')
  /** Which of them the user has: code, passkey. */
  factors = $state.raw<string[]>([])
  /** Whether the user must set up two-step verification before anything else. */
  enroll = $state(false)

  /** The user's zone: from the profile, else the browser's. */
  zone = $derived(this.user?.timezone || localZone())
  admin = $derived(this.user?.role === 'admin')
  decides = $derived(this.user?.role === 'admin' || this.user?.role === 'manager')

  /** Whether the user acts for another user; in a private meeting, whether they may do so there. */
  actsFor(id: number, isPrivate: boolean): boolean {
    return this.user?.acts_for?.some((p) => p.id === id && (p.private || !isPrivate)) ?? false
  }

  /** Whether the user organizes a meeting, or acts for its organizer. */
  organizes(m: { organizer: { id: number }; visibility?: string }): boolean {
    return m.organizer.id === this.user?.id || this.actsFor(m.organizer.id, m.visibility === 'private')
  }

  constructor() {
    onSignedOut(() => this.#out())
  }

  /** Assumes the user of the last visit until [load] has the answer of the server. Returns null if nobody is known. */
  resume(): User | null {
    try {
      const user = JSON.parse(stored(key) || 'null') as User | null
      if (!user?.id || !user.role) return null
      this.user = user
      this.state = 'in'
      return user
    } catch {
      store(key, '')
      return null
    }
  }

  #out() {
    store(key, '')
    this.user = null
    this.confirmed = false
    this.enroll = false
    this.state = 'out'
  }

  async load() {
    try {
      const { user, providers, enroll, passkeys } = await ask(api.GET('/auth/session'))
      this.providers = providers ?? []
      this.passkeys = passkeys ?? false
      if (user) await this.#in({ user, enroll })
      else this.#out()
    } catch {
      this.state = 'unreachable'
    }
  }

  async #in({ user, enroll = false }: { user: User; enroll?: boolean }) {
    await i18n.settle(user.locale)
    this.user = user
    this.confirmed = true
    this.enroll = enroll
    this.challenge = ''
    this.state = 'in'
    store(key, enroll ? '' : JSON.stringify({ ...user, phone: '' }))
  }

  /** Signs in, or keeps the challenge if a second factor must confirm it. */
  async #confirmable(call: Promise<components['schemas']['SessionBody']>) {
    try {
      await this.#in(await call)
    } catch (err) {
      if (!(err instanceof Problem) || !err.challenge) throw err
      this.challenge = err.challenge
      this.factors = err.factors
      this.state = 'out'
    }
  }

  async signIn(email: string, password: string) {
    await this.#confirmable(ask(api.POST('/auth/login', { body: { email, password } })))
  }

  /** Finishes a sign-in with a code. */
  async confirm(code: string) {
    await this.#in(await ask(api.POST('/auth/login/confirm', { body: { challenge: this.challenge, code } })))
  }

  /** Returns the options by which the browser asks for a passkey: of anybody, or of the user who is signing in. */
  async passkeyOptions() {
    return (await ask(api.POST('/auth/passkey/options', { body: this.challenge ? { challenge: this.challenge } : {} }))).options
  }

  /** Signs in, or finishes a sign-in, with the answer of the browser. */
  async signInWithPasskey(answer: Record<string, unknown>) {
    await this.#in(
      await ask(
        this.challenge
          ? api.POST('/auth/login/confirm', { body: { challenge: this.challenge, passkey: answer } })
          : api.POST('/auth/passkey', { body: { credential: answer } }),
      ),
    )
  }

  /** Continues after two-step verification has been set up. */
  enrolled() {
    this.enroll = false
  }

  /** Creates the first admin with the one-time link, and signs in. */
  async setUp(first: { token: string; name: string; email: string; password: string; timezone: string; locale: string }) {
    await this.#in(await ask(api.POST('/setup', { body: first, headers: { 'Idempotency-Key': idempotencyKey() } })))
  }

  /** Chooses a password with the link of an invitation or a password reset, and signs in, or keeps the challenge. */
  async choosePassword(body: components['schemas']['ConfirmResetInputBody']) {
    await this.#confirmable(ask(api.POST('/auth/password-reset/confirm', { body })))
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
