const ordinal = new Intl.PluralRules('en', { type: 'ordinal' })
const suffix = { one: 'st', two: 'nd', few: 'rd', other: 'th', zero: 'th', many: 'th' }
const th = (n: number) => `${n}${suffix[ordinal.select(n)]}`
const every = (n: number, unit: string) => (n === 1 ? `Every ${unit}` : n === 2 ? `Every second ${unit}` : `Every ${n} ${unit}s`)

export default {
  // Rules of recurrence in words.
  repeat: {
    daily: (n: number) => every(n, 'day'),
    workdays: 'Every weekday' as string,
    weekly: (n: number, days: string, count: number) =>
      n === 1 ? `Every ${days}` : n === 2 && count === 1 ? `Every second ${days}` : `${every(n, 'week')} on ${days}`,
    monthlyDate: (n: number, day: number) => `${every(n, 'month')} on the ${th(day)}`,
    monthlyLastDay: (n: number) => `${every(n, 'month')} on its last day`,
    monthlyWeekday: (n: number, nth: string, day: string) => `${every(n, 'month')} on the ${nth} ${day}`,
    yearly: (n: number, day: string) => `${every(n, 'year')} on ${day}`,
    /** By their number; the first stands for "last". */
    nth: ['last', 'first', 'second', 'third', 'fourth', 'fifth'] as string[],
    times: (n: number) => (n === 1 ? 'once' : `${n} times`),
    until: (date: string) => `until ${date}`,
    joined: (how: string, end: string) => [how, end].filter(Boolean).join(end.startsWith('until') ? ' ' : ', '),
    own: 'By a rule of its own' as string,

    label: 'Repeats' as string,
    presets: {
      none: 'Does not repeat',
      day: 'Every day',
      workdays: 'Every weekday',
      custom: 'Other…',
      expert: 'A rule of my own (RFC 5545)…',
    },
    every: 'Every' as string,
    units: { DAILY: 'days', WEEKLY: 'weeks', MONTHLY: 'months', YEARLY: 'years' },
    unit: 'Unit' as string,
    onDays: 'On' as string,
    onWhich: 'On' as string,
    ends: 'Ends' as string,
    endsUntil: 'on' as string,
    endsCount: 'after' as string,
    endsNever: 'as late as can be booked' as string,
    occurrences: 'times' as string,
    missing: (day: number) => `Months without a ${th(day)} are left out.`,
    text: 'Rule' as string,
    textHint: 'Such as FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=1;COUNT=6. The start must be one of its dates.' as string,

    dates: (n: number) => (n === 1 ? '1 date' : `${n} dates`),
    conflicts: (n: number) => (n === 0 ? 'all can be had' : n === 1 ? '1 cannot be had' : `${n} cannot be had`),
    left: (n: number) => (n === 1 ? '1 left out' : `${n} left out`),
    preview: 'Dates' as string,
    needRoom: 'Choose a room and a time to see every date.' as string,
    onConflict: 'What becomes of dates that cannot be had' as string,
    conflictChoices: { fail: 'Decide for each', skip: 'Leave them out', other_room: 'Find other rooms' },
    stay: 'Leave them as they are' as string,
    stays: 'Stays as it is' as string,
    choice: (date: string) => `What becomes of ${date}`,
    keep: 'Keep' as string,
    skip: 'Leave out' as string,
    otherRoom: 'Other room…' as string,
    inRoom: (room: string) => `In ${room}`,
    noOther: 'No other room is free then.' as string,
    skipped: 'Left out' as string,
        fresh: 'New' as string,
    changed: 'Changes' as string,
    dropped: 'Is cancelled' as string,
    unchanged: 'Nothing changes.' as string,
    onlyConflicts: 'Only those that cannot be had' as string,
    unsolved: 'Some dates cannot be had. Decide what becomes of them.' as string,
  },
}
