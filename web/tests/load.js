import { readFile } from 'node:fs/promises'
import ts from 'typescript'

const loaded = new Map()

// Stands in for what needs a browser: tests set the language of the page in globalThis.language.
const i18n = new URL('../src/lib/i18n/index.svelte.ts', import.meta.url)
loaded.set(i18n.href, `data:text/javascript,${encodeURIComponent('export const i18n = { get tag() { return globalThis.language } }')}`)

/** Imports a TypeScript module of src/ that imports nothing but types, i18n and others of its kind. */
export async function load(path) {
  return import(await compiled(new URL(`../src/${path}`, import.meta.url)))
}

async function compiled(url) {
  if (!loaded.has(url.href)) loaded.set(url.href, await compile(url))
  return loaded.get(url.href)
}

async function compile(url) {
  const { outputText } = ts.transpileModule(await readFile(url, 'utf8'), {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, verbatimModuleSyntax: true },
  })
  let text = outputText
  for (const [, name] of outputText.matchAll(/from '(\.{1,2}\/[^']+)'/g)) {
    const module = JSON.stringify(await compiled(new URL(name + '.ts', url)))
    text = text.replace(`'${name}'`, () => module)
  }
  return `data:text/javascript,${encodeURIComponent(text)}`
}
