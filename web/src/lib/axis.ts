import { addDays, instantOf, minutesBetween, offsetAt, wallOf } from './zone'

// Days drawn side by side with their hours down. A position on the axis is minutes from its top. On
// the day on which clocks go back, one hour occurs twice, so the axis is longer. On other days that
// extra hour is a gap, like the hour that clocks skip in spring.

const quarter = 900_000

/** The position and length, in minutes, of the hour that occurs twice. */
interface Again {
  at: number
  minutes: number
}

/** A column: a date on the axis. */
export interface Column {
  date: string
  /** Its first instant, and the instant after its last. */
  start: Date
  end: Date
  /** Positions that the day does not have. */
  gaps: [from: number, to: number][]
}

/** A label of the axis; `again` for the second occurrence of an hour. */
export interface Tick {
  at: number
  wall: string
  again: boolean
}

export class Axis {
  readonly zone: string
  readonly columns: Column[]
  /** Minutes from top to bottom. */
  readonly length: number
  readonly ticks: Tick[]
  #again: Again | undefined
  #folded = -1 // the column with the hour that occurs twice

  constructor(from: string, days: number, zone: string) {
    this.zone = zone
    this.columns = Array.from({ length: days }, (_, i) => {
      const date = addDays(from, i)
      return { date, start: midnight(date, zone), end: midnight(addDays(date, 1), zone), gaps: [] }
    })
    this.columns.forEach((c, i) => {
      const minutes = (c.end.getTime() - c.start.getTime()) / 60_000 - 1440
      const change = minutes && changeOf(c, zone)
      if (!change) return
      const at = minutesBetween(c.date + 'T00:00:00', wallBefore(change, zone))
      if (minutes > 0 && !this.#again) {
        this.#again = { at, minutes }
        this.#folded = i
      } else if (minutes < 0) {
        c.gaps.push([at, at - minutes])
      }
    })
    const again = this.#again
    this.length = 1440 + (again?.minutes ?? 0)
    if (again) {
      this.columns.forEach((c, i) => {
        c.gaps = c.gaps.map(([a, b]) => [this.#shift(a), this.#shift(b)])
        if (i !== this.#folded) c.gaps.push([again.at, again.at + again.minutes])
      })
    }
    this.ticks = []
    for (let at = 0; at < 1440; at += 60) {
      if (again && at === again.at) this.#tick(again.at, again.at - again.minutes, true)
      this.#tick(this.#shift(at), at, false)
    }
    if (again?.at === 1440) this.#tick(1440, 1440 - again.minutes, true)
  }

  #tick(at: number, wall: number, again: boolean) {
    this.ticks.push({ at, wall: clockOf(wall), again })
  }

  #shift(minutes: number): number {
    const again = this.#again
    return again && minutes >= again.at ? minutes + again.minutes : minutes
  }

  /** Returns the position of an instant in a column; 0 before the column, the axis' length after it. */
  place(column: number, instant: Date): number {
    const c = this.columns[column]!
    if (instant < c.start) return 0
    if (instant >= c.end) return this.length
    if (column === this.#folded) return (instant.getTime() - c.start.getTime()) / 60_000
    return this.#shift(minutesBetween(c.date + 'T00:00:00', wallOf(instant, this.zone)))
  }

  /** Returns the instant at a position of a column; in a gap, the instant of the change. */
  instant(column: number, place: number): Date {
    const c = this.columns[column]!
    if (column === this.#folded) return new Date(c.start.getTime() + place * 60_000)
    const again = this.#again
    let minutes = place
    if (again && place > again.at) minutes = Math.max(again.at, place - again.minutes)
    if (minutes >= 1440) return c.end
    const gap = c.gaps.find(([from, to]) => place > from && place < to)
    return instantOf(clocked(c.date, gap && !again ? gap[1] : minutes), this.zone)
  }

  /** Returns the position of a time of day, in minutes after midnight; the first if the time occurs twice. */
  clock(minutes: number): number {
    return this.#shift(minutes)
  }

  /** Returns by how many minutes clocks of another zone are ahead on the whole axis; 0 if that changes on it. */
  ahead(zone: string): number {
    const at = (t: Date) => offsetAt(t, zone) - offsetAt(t, this.zone)
    const [first, last] = [this.columns[0]!, this.columns.at(-1)!]
    const by = at(first.start)
    return at(last.start) === by && at(last.end) === by ? by : 0
  }

  /** Returns the column whose day contains the instant; -1 if there is none. */
  column(instant: Date): number {
    return this.columns.findIndex((c) => c.start <= instant && instant < c.end)
  }
}

function midnight(date: string, zone: string): Date {
  return instantOf(date + 'T00:00:00', zone)
}

/** Returns the first instant of the day at which the offset differs from its start. */
function changeOf(c: Column, zone: string): Date | undefined {
  const offset = offsetAt(c.start, zone)
  for (let t = c.start.getTime(); t < c.end.getTime(); t += quarter) {
    if (offsetAt(new Date(t), zone) !== offset) return new Date(t)
  }
  return undefined
}

/** Returns what clocks would show at the instant if they had not changed. */
function wallBefore(change: Date, zone: string): string {
  const offset = offsetAt(new Date(change.getTime() - quarter), zone)
  return new Date(change.getTime() + offset * 60_000).toISOString().slice(0, 19)
}

function clocked(date: string, minutes: number): string {
  return `${date}T${clockOf(minutes)}:00`
}

function clockOf(minutes: number): string {
  return `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`
}
