// Durations as the API writes them: "90s", "15m", "1h30m", "24h".

const unit: Record<string, number> = { s: 1, m: 60, h: 3600 }

/** Seconds of a duration, or NaN if it is not one. */
export function seconds(text: string): number {
  if (!/^(\d+(\.\d+)?[smh])+$/.test(text)) return NaN
  let sum = 0
  for (const [, n, u] of text.matchAll(/(\d+(?:\.\d+)?)([smh])/g)) sum += Number(n) * unit[u!]!
  return sum
}

/** A duration in minutes; null if there is none. */
export function toMinutes(text: string | null | undefined): number | null {
  const s = text ? seconds(text) : NaN
  return Number.isNaN(s) || s === 0 ? null : s / 60
}
