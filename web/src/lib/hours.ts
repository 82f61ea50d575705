import { clockTime, weekdays } from './i18n/format'

/** Opening hours on some days, as the API writes them. */
export interface Hours {
  days?: string[] | null
  from: string
  to: string
}

const week = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU']

/** Returns opening hours in words, days with the same hours together: "Mon – Fri", "08:00 – 20:00". */
export function hoursInWords(list: Hours[]): { days: string; hours: string }[] {
  const byHours = new Map<string, boolean[]>()
  for (const h of list) {
    const key = `${h.from}-${h.to}`
    const on = byHours.get(key) ?? week.map(() => false)
    for (const day of h.days ?? []) on[week.indexOf(day)] = true
    byHours.set(key, on)
  }
  return [...byHours].map(([key, on]) => {
    const [from, to] = key.split('-') as [string, string]
    return { days: runs(on), hours: `${clockTime(from)} – ${clockTime(to === '24:00' ? '00:00' : to)}` }
  })
}

/** Parses "MO TU 08:00-12:00, WE 08:00-18:00", the format in violations; returns none for any other text. */
export function hoursOf(text: string): Hours[] {
  const parts = text.split(', ').map((part) => /^((?:[A-Z]{2} )+)(\d\d:\d\d)-(\d\d:\d\d)$/.exec(part))
  return parts.every((p) => p !== null) ? parts.map(([, days, from, to]) => ({ days: days!.trim().split(' '), from: from!, to: to! })) : []
}

/** "Mon – Wed, Fri" */
function runs(on: boolean[]): string {
  const names = weekdays()
  const out: string[] = []
  for (let i = 0; i < 7; i++) {
    if (!on[i]) continue
    let j = i
    while (j < 6 && on[j + 1]) j++
    out.push(j > i + 1 ? `${names[i]} – ${names[j]}` : j > i ? `${names[i]}, ${names[j]}` : names[i]!)
    i = j
  }
  return out.join(', ')
}
