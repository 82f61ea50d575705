import { i18n } from '../../../lib/i18n/index.svelte'
import { operations } from '../operations.svelte'

/** The kinds of notifications that have names. */
export function kinds(): string[] {
  return Object.keys({ ...i18n.t.admin.kinds, ...operations.t.ledger.kinds })
}

export function kindName(kind: string): string {
  const names: Record<string, string> = { ...operations.t.ledger.kinds, ...i18n.t.admin.kinds }
  return names[kind] ?? kind
}

export const tone: Record<string, string> = { sent: 'good', failed: 'bad', pending: 'warn', sending: 'warn' }
