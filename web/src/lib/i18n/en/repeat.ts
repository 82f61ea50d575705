const ordinal = new Intl.PluralRules('en', { type: 'ordinal' })
const suffix = { one: 'st', two: 'nd', few: 'rd', other: 'th', zero: 'th', many: 'th' }
const th = (n: number) => `${n}${suffix[ordinal.select(n)]}`
const every = (n: number, unit: string) => (n === 1 ? `Every ${unit}` : n === 2 ? `Every other ${unit}` : `Every ${n} ${unit}s`)

export default {
  // Recurrence rules in words.
  repeat: {
    daily: (n: number) => every(n, 'day'),
    workdays: 'Every weekday' as string,
    weekly: (n: number, days: string, count: number) => n === 1 ? `Every ${days}` : n === 2 && count === 1 ? `Every other ${days}` : `${every(n, 'week')} on ${days}`,
    monthlyDate: (n: number, day: number) => `${every(n, 'month')} on the ${th(day)}`,
    monthlyLastDay: (n: number) => `${every(n, 'month')} on the last day`,
    monthlyWeekday: (n: number, nth: string, day: string) => `${every(n, 'month')} on the ${nth} ${day}`,
    yearly: (n: number, day: string) => `${every(n, 'year')} on ${day}`,
    /** By ordinal number; the first entry means "last". */
    nth: ['last', 'first', 'second', 'third', 'fourth', 'fifth'] as string[],
    times: (n: number) => (n === 1 ? 'once' : `${n} times`),
    until: (date: string) => `until ${date}`,
    joined: (how: string, end: string) => [how, end].filter(Boolean).join(end.startsWith('until') ? ' ' : ', '),
    own: 'Custom rule' as string,

    label: 'Repeats' as string,
    presets: {
      none: 'Does not repeat',
      day: 'Every day',
      workdays: 'Every weekday',
      custom: 'Custom…',
      expert: 'Custom rule (RRULE)…',
    },
    every: 'Every' as string,
    units: { DAILY: 'days', WEEKLY: 'weeks', MONTHLY: 'months', YEARLY: 'years' },
    unit: 'Unit' as string,
    onDays: 'On' as string,
    onWhich: 'On' as string,
    ends: 'Ends' as string,
    endsUntil: 'on' as string,
    endsCount: 'after' as string,
    endsNever: 'as far ahead as allowed',
    occurrences: 'times' as string,
    missing: (day: number) => `Months without a ${th(day)} are skipped.`,
    text: 'Rule' as string,
    textHint: 'For example FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=1;COUNT=6. The start must match the rule.' as string,

    dates: (n: number) => (n === 1 ? '1 date' : `${n} dates`),
    conflicts: (n: number) => (n === 0 ? 'all available' : `${n} unavailable`),
    left: (n: number) => `${n} skipped`,
    preview: 'Dates' as string,
    needRoom: 'Choose a room and a time to see all dates.' as string,
    onConflict: 'For unavailable dates' as string,
    conflictChoices: { fail: 'Choose one by one', skip: 'Skip them', other_room: 'Find other rooms' },
    stay: 'Keep them as they are',
    stays: 'Unchanged' as string,
    choice: (date: string) => `What to do with ${date}`,
    keep: 'Keep' as string,
    skip: 'Skip' as string,
    otherRoom: 'Other room…' as string,
    inRoom: (room: string) => `In ${room}`,
    noOther: 'No other room is available.' as string,
    skipped: 'Skipped' as string,
    fresh: 'New' as string,
    itself: 'This meeting',
    changed: 'Changed' as string,
    dropped: 'Will be canceled' as string,
    unchanged: 'No changes.' as string,
    onlyConflicts: 'Show only unavailable dates' as string,
    unsolved: 'Some dates are unavailable. Skip them or choose another room.' as string,
  },
}
