import en, { type Dictionary } from './en'

export const languages = { en: 'English', de: 'Deutsch', zh: '中文' } as const
export type Language = keyof typeof languages

const load: Record<Language, () => Promise<{ default: Dictionary }>> = {
  en: async () => ({ default: en }),
  de: () => import('./de'),
  zh: () => import('./zh'),
}

const key = 'punctual.language'

function known(tag: string | null | undefined): Language | undefined {
  const language = tag?.toLowerCase().split(/[-_]/)[0] ?? ''
  return language in languages ? (language as Language) : undefined
}

function chosen(): Language | undefined {
  try {
    return known(localStorage.getItem(key))
  } catch {
    return undefined
  }
}

/**
 * The language of the page: the one chosen here, else the user's, else the browser's.
 * Dictionaries other than English are loaded on demand.
 */
class I18n {
  language = $state<Language>('en')
  t = $state.raw<Dictionary>(en)

  /**
   * The BCP 47 tag for Intl. It is the browser's variant of the language, since that includes
   * the 12- or 24-hour clock and the order of day and month.
   */
  tag = $derived(
    (navigator.languages ?? [navigator.language]).find((l) => known(l) === this.language) ??
      { en: 'en-GB', de: 'de-DE', zh: 'zh-CN' }[this.language],
  )

  async #use(language: Language) {
    const { default: t } = await load[language]()
    this.t = t
    this.language = language
    document.documentElement.lang = language === 'zh' ? 'zh-Hans' : language
  }

  /** Sets the language for a user whose profile names one, or for a visitor. */
  async settle(profile?: string) {
    const browser = (navigator.languages ?? []).map(known).find((l) => l)
    await this.#use(chosen() ?? known(profile) ?? browser ?? 'en')
  }

  /** Uses a language from now on, regardless of profile and browser. */
  async choose(language: Language) {
    try {
      localStorage.setItem(key, language)
    } catch {
      // Without storage it lasts until the page is closed.
    }
    await this.#use(language)
  }
}

export const i18n = new I18n()
