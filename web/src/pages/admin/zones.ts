/** The zones that this browser knows, and the one in use. */
export function zones(current: string): string[] {
  const known = Intl.supportedValuesOf('timeZone')
  const all = new Set([...known, 'UTC'])
  if (current) all.add(current)
  return [...all].sort()
}
