import { i18n } from '../../../lib/i18n/index.svelte'

export function kindName(kind: string): string {
  return (i18n.t.admin.kinds as Record<string, string>)[kind] ?? kind
}

export const tone: Record<string, string> = { sent: 'good', failed: 'bad', pending: 'warn', sending: 'warn' }
