import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'

// The files in public/ that door.html names.
const fixed = ['/door', '/theme.js', '/favicon.svg']

/**
 * A vite plugin that builds the service worker of the door page. The built file contains the list
 * of all files of the page `door`, a version that changes with them, and the source.
 */
export function doorWorker() {
  return {
    name: 'door-worker',
    apply: /** @type {const} */ ('build'),
    enforce: /** @type {const} */ ('post'), // after vite removed chunks that contained only styles
    /**
     * @this {import('vite').Rolldown.PluginContext}
     * @param {import('vite').Rolldown.NormalizedOutputOptions} _
     * @param {import('vite').Rolldown.OutputBundle} bundle
     */
    async generateBundle(_, bundle) {
      const files = [...fixed, ...filesOf('door', bundle).map((name) => '/' + name)]
      const source = await readFile(new URL('../src/door/worker.js', import.meta.url), 'utf8')
      const head = `const files = ${JSON.stringify(files)}\n`
      const version = createHash('sha256').update(head).update(source).digest('hex').slice(0, 12)
      this.emitFile({ type: 'asset', fileName: 'door-worker.js', source: `${head}const version = '${version}'\n\n${source}` })
    },
  }
}

/**
 * Returns the files that a page needs: its entry, everything it imports now or later, their styles,
 * and the fonts and images that those name.
 * @param {string} entry
 * @param {import('vite').Rolldown.OutputBundle} bundle
 */
function filesOf(entry, bundle) {
  const first = Object.values(bundle).find((f) => f.type === 'chunk' && f.isEntry && f.name === entry)
  if (!first) throw new Error(`no page is called ${entry}`)
  const found = new Set([first.fileName])
  for (const name of found) {
    const file = bundle[name]
    if (file?.type === 'chunk') {
      for (const other of [...file.imports, ...file.dynamicImports]) found.add(other)
      const { importedCss = [], importedAssets = [] } = /** @type {{ viteMetadata?: Record<string, Set<string>> }} */ (file).viteMetadata ?? {}
      for (const other of [...importedCss, ...importedAssets]) found.add(other)
    }
    const text = file?.type === 'asset' && name.endsWith('.css') ? String(file.source) : ''
    for (const [, url] of text.matchAll(/url\(["']?\/([^"')]+)/g)) if (url && bundle[url]) found.add(url)
  }
  return [...found].filter((name) => bundle[name]).sort()
}
