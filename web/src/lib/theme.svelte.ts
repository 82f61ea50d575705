export type Theme = 'system' | 'light' | 'dark'

const key = 'punctual.theme'

/** Colors the browser's own bars like the theme. The page names one color for each theme. */
function paint(theme: Theme) {
  for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[name=theme-color]')) {
    const { of } = meta.dataset
    meta.media = theme === 'system' ? `(prefers-color-scheme: ${of})` : theme === of ? 'all' : 'not all'
  }
}

function stored(): Theme {
  const t = document.documentElement.dataset.theme // set by theme.js before the first paint
  return t === 'light' || t === 'dark' ? t : 'system'
}

class ThemeChoice {
  chosen = $state<Theme>(stored())

  constructor() {
    paint(this.chosen)
  }

  choose(theme: Theme) {
    this.chosen = theme
    paint(theme)
    if (theme === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme
    try {
      if (theme === 'system') localStorage.removeItem(key)
      else localStorage.setItem(key, theme)
    } catch {
      // Without storage it lasts until the page is closed.
    }
  }

  /** Reports whether the page is dark right now. */
  get dark(): boolean {
    return this.chosen === 'system'
      ? matchMedia('(prefers-color-scheme: dark)').matches
      : this.chosen === 'dark'
  }
}

export const theme = new ThemeChoice()
