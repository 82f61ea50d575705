import { readdir, readFile } from 'node:fs/promises'

// Packages that end up in the bundle.
const bundled = ['svelte', 'openapi-fetch', 'uqr', 'swagger-ui-dist', 'chart.js', '@kurkle/color', '@fontsource-variable/figtree']

/** A vite plugin that ships the licenses of the bundled packages, as the licenses require. */
export function licenses() {
  return {
    name: 'licenses',
    apply: /** @type {const} */ ('build'),
    /** @this {import('vite').Rolldown.PluginContext} */
    async generateBundle() {
      const texts = await Promise.all(bundled.map(licenseOf))
      this.emitFile({ type: 'asset', fileName: 'licenses.txt', source: texts.join('\n\n' + '-'.repeat(78) + '\n\n') })
    },
  }
}

/** @param {string} name */
async function licenseOf(name) {
  const dir = new URL(`../node_modules/${name}/`, import.meta.url)
  const { version, license } = JSON.parse(await readFile(new URL('package.json', dir), 'utf8'))
  const files = (await readdir(dir)).filter((f) => /^(licen[cs]e|notice)(\.\w+)?$/i.test(f)).sort()
  const texts = await Promise.all(files.map((f) => readFile(new URL(f, dir), 'utf8')))
  return [`${name} ${version} (${license})`, ...texts.map((t) => t.trim())].join('\n\n')
}
