import { i18n, type Language } from '../../lib/i18n/index.svelte'
import type en from '../../lib/i18n/en/operations'

export type Words = typeof en

const load: Record<Language, () => Promise<{ default: Words }>> = {
  en: () => import('../../lib/i18n/en/operations'),
  de: () => import('../../lib/i18n/de/operations'),
  zh: () => import('../../lib/i18n/zh/operations'),
}

/** The texts of the pages about operations and figures; they are loaded with the admin pages. */
class OperationsWords {
  /** There before such a page is drawn. */
  t = $state.raw<Words>(undefined as never)

  async use(language: Language) {
    const { default: t } = await load[language]()
    if (language === i18n.language) this.t = t
  }
}

export const operations = new OperationsWords()
