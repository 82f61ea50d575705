import { readFile } from 'node:fs/promises'
import ts from 'typescript'

const loaded = new Map()

/** Imports a TypeScript module of src/ that imports nothing but types and others of its kind. */
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
