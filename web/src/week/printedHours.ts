import type { Segment, Shade } from './layout'

/** The hours between the first and the last that anybody needs, with room for their names: minutes of the axis. */
export function printedHours(columns: Segment[][], grounds: Shade[][], length: number): { from: number; length: number } {
  const needed = grounds.flatMap((g, i) => {
    const used = columns[i]!.flatMap((s) => [s.from, s.to])
    const closed = g.filter((s) => s.kind === 'closed')
    if (closed.some((s) => s.from === 0 && s.to === length)) return used
    const opens = closed.find((s) => s.from === 0)?.to ?? 420
    const closes = closed.find((s) => s.to === length)?.from ?? 1200
    return [opens, closes, ...used]
  })
  const from = Math.floor(Math.min(...needed, 600) / 60) * 60
  const to = Math.ceil(Math.max(...needed, 960) / 60) * 60
  return { from: from - 20, length: to - from + 40 }
}
