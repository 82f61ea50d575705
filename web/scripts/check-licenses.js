// Writes the licenses of everything in the program and in the tools that build the page:
//
//   node web/scripts/check-licenses.js FILE
//
// FILE gets a table and the texts. The script exits with 1 if a license is unknown or not in `allowed`, so that
// nobody adds a dependency whose conditions were not looked at.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'

const root = new URL('../../', import.meta.url).pathname
const allowed = ['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'blessing', 'BSD-2-Clause', 'BSD-3-Clause', 'CC-BY-4.0', 'CC0-1.0', 'ISC', 'MIT', 'MIT-0', 'MPL-2.0', 'OFL-1.1', 'Python-2.0', 'Unlicense', 'Zlib']

/**
 * What identifies the text of a license; the first that matches counts.
 * @type {[string, RegExp][]}
 */
const signs = [
  ['AGPL-3.0', /GNU AFFERO GENERAL PUBLIC LICENSE/],
  ['LGPL', /GNU LESSER GENERAL PUBLIC LICENSE|GNU LIBRARY GENERAL PUBLIC LICENSE/],
  ['GPL', /GNU GENERAL PUBLIC LICENSE/],
  ['MPL-2.0', /Mozilla Public License,? Version 2\.0/i],
  ['Apache-2.0', /Apache License,? Version 2\.0/i],
  ['OFL-1.1', /SIL OPEN FONT LICENSE/i],
  ['Unlicense', /This is free and unencumbered software/],
  ['CC0-1.0', /CC0 1\.0 Universal/],
  ['ISC', /Permission to use, copy, modify, and\/or distribute this software for any purpose with or without fee is hereby granted, provided/],
  ['BSD-3-Clause', /Redistribution and use in source and binary forms[^]*(Neither the name|names? of .* may not be used|nor the names)/],
  ['BSD-2-Clause', /Redistribution and use in source and binary forms/],
  ['blessing', /dedicated to the public domain/i], // of SQLite
  ['MIT', /Permission is hereby granted, free of charge, to any person obtaining a copy/],
]

/**
 * Returns the texts of licenses in a folder.
 * @param {string} dir
 */
function textsIn(dir) {
  if (!dir || !existsSync(dir)) return []
  return readdirSync(dir, { withFileTypes: true })
    .filter((f) => f.isFile() && /^(licen[cs]e|copying|unlicense)/i.test(f.name) && !/(-logo|\.(go|js|ts))$/i.test(f.name))
    .map((f) => readFileSync(`${dir}/${f.name}`, 'utf8'))
}

/** @param {string[]} texts */
const named = (texts) => [...new Set(texts.map((text) => signs.find(([, sign]) => sign.test(text.replace(/\s+/g, ' ')))?.[0] ?? 'unknown'))].sort().join(' AND ')

function modules() {
  const found = execFileSync('go', ['list', '-deps', '-f', '{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}', '.'], { cwd: root, encoding: 'utf8' })
  return [...new Set(found.split('\n').filter(Boolean))].map((line) => {
    const [name = '', version = '', dir = ''] = line.split('\t')
    const texts = textsIn(dir)
    return { part: 'program', name, version, license: named(texts) || 'unknown', texts }
  })
}

function packages() {
  const lock = JSON.parse(readFileSync(`${root}web/package-lock.json`, 'utf8'))
  return Object.entries(/** @type {Record<string, { link?: boolean, version: string, license?: string }>} */ (lock.packages))
    .filter(([at, p]) => at && !p.link)
    .map(([at, p]) => {
      const texts = textsIn(`${root}web/${at}`)
      return { part: 'page', name: at.replace(/^.*node_modules\//, ''), version: p.version, license: p.license ?? (named(texts) || 'unknown'), texts }
    })
}

/**
 * Whether all that an expression demands is allowed; of alternatives, one is enough.
 * @param {string} license
 */
const fine = (license) =>
  license
    .replace(/[()]/g, '')
    .split(' AND ')
    .every((all) => all.split(' OR ').some((one) => allowed.includes(one.trim())))

const all = [...modules(), ...packages()].sort((a, b) => a.part.localeCompare(b.part) || a.name.localeCompare(b.name))
const table = all.map((d) => [d.part, d.license, `${d.name} ${d.version}`].join('\t')).join('\n')
const rule = '\n\n' + '-'.repeat(80) + '\n'
writeFileSync(process.argv[2] ?? 'licenses.txt', table + '\n' + all.filter((d) => d.texts.length).map((d) => `${rule}${d.name} ${d.version}\n\n${d.texts.join('\n')}`).join(''))

const refused = all.filter((d) => !fine(d.license))
for (const d of refused) console.error(`${d.name} ${d.version} (${d.part}): license ${d.license} is not allowed; see web/scripts/check-licenses.js`)
/** @type {Record<string, number>} */
const counts = {}
for (const d of all) counts[d.license] = (counts[d.license] ?? 0) + 1
console.log(`${all.length} dependencies: ${Object.entries(counts).map(([l, n]) => `${n} ${l}`).join(', ')}`)
process.exitCode = refused.length ? 1 : 0
