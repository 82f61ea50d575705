import { readFile } from 'node:fs/promises'
import ts from 'typescript'

/** Imports a TypeScript module of src/ that imports nothing but types. */
export async function load(path) {
  const source = await readFile(new URL(`../src/${path}`, import.meta.url), 'utf8')
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, verbatimModuleSyntax: true },
  })
  return import(`data:text/javascript,${encodeURIComponent(outputText)}`)
}
