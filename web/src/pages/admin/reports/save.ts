import { ask } from '../../../lib/api/client'
import { describe } from '../../../lib/i18n/problem'
import { toasts } from '../../../lib/toast.svelte'

/** Saves the report at a path of the API as a file; shows a message if there is none. */
export async function save(path: string, query: URLSearchParams, name: string) {
  try {
    const answer = fetch(`/api/v1/reports/${path}?${query}`)
    const file = await ask(answer.then(async (response) => (response.ok ? { response, data: await response.blob() } : { response, error: await response.json() })))
    // Spreadsheets know UTF-8 by the mark in front.
    const url = URL.createObjectURL(name.endsWith('.csv') ? new Blob(['\ufeff', file], { type: 'text/csv' }) : file)
    const a = document.createElement('a')
    a.href = url
    a.download = name
    a.target = '_self'
    a.click()
    setTimeout(() => URL.revokeObjectURL(url), 10_000)
  } catch (err) {
    toasts.show(describe(err), 'bad')
  }
}
