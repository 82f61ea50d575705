import { i18n, type Language } from '../../lib/i18n/index.svelte'
import type en from '../../lib/i18n/en/manage'

export type Words = typeof en

const load: Record<Language, () => Promise<{ default: Words }>> = {
  en: () => import('../../lib/i18n/en/manage'),
  de: () => import('../../lib/i18n/de/manage'),
  zh: () => import('../../lib/i18n/zh/manage'),
}

/** The texts of the admin pages, in the page's language. They are long, and few people read them: they are loaded with the first of the pages. */
class AdminWords {
  /** There before an admin page is drawn. */
  t = $state.raw<Words>(undefined as never)

  async use(language: Language) {
    const { default: t } = await load[language]()
    if (language === i18n.language) this.t = t
  }
}

export const words = new AdminWords()
