import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'vitest'

const src = new URL('../src/', import.meta.url)
const areas = readdirSync(new URL('lib/i18n/en/', src))
  .map((name) => name.replace('.ts', ''))
  .filter((name) => name !== 'index')

const languages = ['en', 'de', 'zh']
const dictionaries = {}
for (const l of languages) {
  dictionaries[l] = {}
  for (const a of areas) dictionaries[l][a] = (await import(`../src/lib/i18n/${l}/${a}.ts`)).default
}

/** The texts of a dictionary by their paths. */
function leaves(tree, path = []) {
  if (typeof tree !== 'object') return [[path, tree]]
  return Object.entries(tree).flatMap(([key, value]) => leaves(value, [...path, key]))
}

const paths = (l, a) => leaves(dictionaries[l][a]).map(([path]) => path.join('.')).sort()
// The API's messages are English: what its faults are called is told for the others alone.
const told = (path) => path.startsWith('fault.')

for (const l of languages.slice(1)) {
  test(`${l} says what English says`, () => {
    for (const a of areas) {
      const own = new Set(paths(l, a))
      assert.deepEqual(paths('en', a).filter((path) => !own.has(path)), [], `${a}: missing`)
      const english = new Set(paths('en', a))
      assert.deepEqual([...own].filter((path) => !english.has(path) && !told(path)), [], `${a}: too much`)
    }
  })

  test(`${l} uses the figures that English uses`, () => {
    for (const a of areas) {
      const texts = new Map(leaves(dictionaries[l][a]).map(([path, text]) => [path.join('.'), text]))
      for (const [path, text] of leaves(dictionaries.en[a])) {
        const other = texts.get(path.join('.'))
        assert.equal(typeof other, typeof text, path.join('.'))
        if (typeof text === 'function') assert.deepEqual(placeholders(other), placeholders(text), `${a}: ${path.join('.')}`)
      }
    }
  })
}

/** Which of its parameters a text uses, by their places; "count" serves the grammar alone. */
function placeholders(text) {
  const source = text.toString()
  const [, list, body] = /^\(?([^)]*?)\)?\s*=>\s*([\s\S]*)$/.exec(source)
  return list
    .split(',')
    .map((p) => p.split('=')[0].trim())
    .filter(Boolean)
    .map((p, i) => [i, p !== 'count' && new RegExp(`\\b${p}\\b`).test(body)])
    .filter(([, used]) => used)
    .map(([i]) => i)
}

test('languages that translate faults translate the same', () => {
  for (const a of areas) assert.deepEqual(paths('zh', a), paths('de', a), a)
})

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.(svelte|ts)$/.test(name) && !/i18n[\\/](en|de|zh)[\\/]|schema\.d\.ts/.test(name))
  .map((name) => readFileSync(new URL(name, src), 'utf8'))
const words = new Set(files.flatMap((text) => text.match(/[A-Za-z_]\w*/g) ?? []))
/** Texts that are looked up by what the API sent. */
const tables = new Set(files.flatMap((text) => [...text.matchAll(/\b(\w+)\??\.?\[|\bword\([\w.]*\.(\w+),/g)].map(([, index, argument]) => index ?? argument)))

/** The files that name a group of texts, each with the names it uses: "i18n.t.group", or what it calls that. */
const groups = new Map(
  [...new Set(areas.flatMap((a) => Object.keys(dictionaries.en[a])))].map((group) => {
    const alias = new RegExp(`(\\w+) = (?:\\$derived\\()?[\\w.]*\\bt\\.${group}\\b`, 'g')
    const found = files.filter((text) => text.includes(group)).map((text) => ({ text, names: [group, ...[...text.matchAll(alias)].map(([, name]) => name)] }))
    return [group, found]
  }),
)

function used([group, key, ...rest]) {
  const found = groups.get(group)
  // "words={operations.t.chart}" hands all of a group on.
  if (found.some(({ text }) => new RegExp(`=\\{\\w+\\.t\\.${group}\\}`).test(text))) return true
  const direct = found.some(({ text, names }) => (text.includes(key) || text.includes('[')) && names.some((name) => new RegExp(`\\b${name}(\\??\\.${key}\\b|\\??\\.?\\[)`).test(text)))
  const known = (at) => rest.slice(0, at).some((k) => tables.has(k)) || tables.has(key) || words.has(rest[at])
  return direct && rest.every((_, i) => known(i))
}

test('every text is used', () => {
  const unused = areas.flatMap((a) =>
    leaves(dictionaries.en[a])
      .filter(([path]) => path.length > 1 && !used(path))
      .map(([path]) => `${a}: ${path.join('.')}`),
  )
  assert.deepEqual(unused, [])
})

// German units and months are abbreviated with a full stop.
test('no German sentence ends in two full stops', () => {
  const doubled = []
  for (const a of areas) {
    for (const [path, text] of leaves(dictionaries.de[a])) {
      if (typeof text !== 'function') continue
      try {
        const said = text(...Array(text.length).fill('5 Sek.'))
        if (/[^.]\.\.$/.test(said)) doubled.push(`${a}.${path.join('.')}: ${said}`)
      } catch {
        // it wants something else than text
      }
    }
  }
  assert.deepEqual(doubled, [])
})
