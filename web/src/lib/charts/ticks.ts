/** Returns the bounds of a logarithmic axis: whole powers of ten around all values, at least one decade. */
export function decades(all: (number | null)[]): { min?: number; max?: number } {
  const values = all.filter((v): v is number => v !== null && v > 0)
  if (!values.length) return {}
  const low = Math.floor(Math.log10(Math.min(...values)))
  const high = Math.ceil(Math.log10(Math.max(...values)))
  return { min: 10 ** low, max: 10 ** Math.max(high, low + 1) }
}

/** Returns the label of a grid line; "" if it would repeat the one before. A logarithmic axis labels only powers of ten. */
export function tick(v: number, before: number | undefined, { log, format }: { log?: boolean; format: (n: number) => string }): string {
  if (log && Math.abs(Math.log10(v) - Math.round(Math.log10(v))) > 1e-6) return ''
  const label = format(v)
  return before !== undefined && !log && format(before) === label ? '' : label
}
