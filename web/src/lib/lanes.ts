/** An item that takes a lane beside others. */
export interface Laned {
  from: number
  to: number
}

/**
 * Puts overlapping items side by side: for each item its lane, and the number of lanes of its group.
 */
export function lanes<T extends Laned>(items: T[]): Map<T, { lane: number; of: number }> {
  const placed = new Map<T, { lane: number; of: number }>()
  let group: T[] = []
  let ends: number[] = []
  const close = () => {
    for (const item of group) placed.get(item)!.of = ends.length
    group = []
    ends = []
  }
  for (const item of [...items].sort((a, b) => a.from - b.from || b.to - a.to)) {
    if (ends.every((end) => end <= item.from)) close()
    const free = ends.findIndex((end) => end <= item.from)
    const lane = free < 0 ? ends.length : free
    ends[lane] = item.to
    placed.set(item, { lane, of: 0 })
    group.push(item)
  }
  close()
  return placed
}
