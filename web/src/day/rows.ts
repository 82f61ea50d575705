/** Rows of different heights, one below the other. */
export class Rows {
  /** The top of each row, and the bottom of the last. */
  readonly tops: number[] = [0]

  constructor(heights: number[]) {
    for (const h of heights) this.tops.push(this.tops.at(-1)! + h)
  }

  get height(): number {
    return this.tops.at(-1)!
  }

  /** Returns the row at a height; beyond the ends the first or the last. */
  at(y: number): number {
    let low = 0
    let high = this.tops.length - 2
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.tops[middle]! <= y) low = middle
      else high = middle - 1
    }
    return low
  }

  heightOf(i: number): number {
    return this.tops[i + 1]! - this.tops[i]!
  }
}
