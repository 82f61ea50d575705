import { Problem, type Fault } from '../api/client'
import { i18n } from './index.svelte'

/** What to tell somebody about a failure. */
export function describe(err: unknown): string {
  if (!(err instanceof Problem)) return String(err)
  const text = i18n.t.problem[err.code]
  if (typeof text === 'function') return text(err.retryAfter)
  return text ?? err.message
}

/** What to tell about one field. The server's words are English; ours come first. */
export function faultText(fault: Fault): string {
  return (fault.code && i18n.t.fault[fault.code]) || sentence(fault.message)
}

function sentence(text: string): string {
  const s = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?。]$/.test(s) ? s : s + '.'
}

/**
 * The faults of a failure sorted by form field: `field` maps a location such as
 * "body.attendees[2].email" to the name of a field of the form. What no field takes, and a
 * failure without faults, is under "".
 */
export function faultsByField(err: unknown, field: (location: string) => string): Record<string, string[]> {
  const faults: Record<string, string[]> = {}
  if (err instanceof Problem && err.faults.length) {
    for (const fault of err.faults) {
      const name = field((fault.location ?? '').replace(/^body\.?/, ''))
      ;(faults[name] ??= []).push(faultText(fault))
    }
  } else {
    faults[''] = [describe(err)]
  }
  return faults
}
