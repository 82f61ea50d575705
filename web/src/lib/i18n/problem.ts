import { Problem, type Fault } from '../api/client'
import { i18n } from './index.svelte'

/** Returns the message to show for a failure. */
export function describe(err: unknown): string {
  if (!(err instanceof Problem)) return String(err)
  const text = i18n.t.problem[err.code]
  if (typeof text === 'function') return text(err.retryAfter)
  return text ?? err.message
}

/** Returns the message to show for one field. Server messages are in English; translations take precedence. */
export function faultText(fault: Fault): string {
  return (fault.code && i18n.t.fault[fault.code]) || sentence(fault.message)
}

function sentence(text: string): string {
  const s = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?。]$/.test(s) ? s : s + '.'
}

/**
 * Sorts the errors of a failure by form field. `field` maps a location such as
 * "body.attendees[2].email" to the name of a form field. Errors without a field, and a
 * failure without field errors, are under "".
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
