/** A value as one would write it in the file. */
export function valueText(v: unknown): string {
  if (v === '') return '""'
  if (Array.isArray(v)) return v.length ? v.map(valueText).join('\n') : '[]'
  if (typeof v === 'object' && v) {
    const parts = Object.entries(v).filter(([, x]) => x !== 0 && x !== '0s')
    return parts.length ? parts.map(([k, x]) => `${k}: ${Array.isArray(x) ? x.join(', ') : valueText(x)}`).join(', ') : '{}'
  }
  return String(v)
}
