/** A value as one would write it in the file. */
export function show(v: unknown): string {
  if (v === '') return '""'
  if (Array.isArray(v)) return v.length ? v.map(show).join('\n') : '[]'
  if (typeof v === 'object' && v) {
    const parts = Object.entries(v).filter(([, x]) => x !== 0 && x !== '0s')
    return parts.length ? parts.map(([k, x]) => `${k}: ${Array.isArray(x) ? x.join(', ') : show(x)}`).join(', ') : '{}'
  }
  return String(v)
}
