import type en from '../en/repeat'

const every = (n: number, one: string, second: string, many: string) => (n === 1 ? one : n === 2 ? second : `Alle ${n} ${many}`)
const months = (n: number) => every(n, 'Jeden Monat', 'Jeden zweiten Monat', 'Monate')

const de: typeof en = {
  repeat: {
    daily: (n) => every(n, 'Jeden Tag', 'Jeden zweiten Tag', 'Tage'),
    workdays: 'Jeden Werktag (Montag bis Freitag)',
    weekly: (n, days, count) =>
      n === 1 ? `Jeden ${days}` : n === 2 && count === 1 ? `Jeden zweiten ${days}` : `${every(n, '', 'Jede zweite Woche', 'Wochen')} am ${days}`,
    monthlyDate: (n, day) => `${months(n)} am ${day}.`,
    monthlyLastDay: (n) => `${months(n)} am letzten Tag`,
    monthlyWeekday: (n, nth, day) => `${months(n)} am ${nth} ${day}`,
    yearly: (n, day) => `${every(n, 'Jedes Jahr', 'Jedes zweite Jahr', 'Jahre')} am ${day}`,
    nth: ['letzten', 'ersten', 'zweiten', 'dritten', 'vierten', 'fünften'],
    times: (n) => (n === 1 ? 'einmal' : `${n}-mal`),
    until: (date) => `bis ${date}`,
    joined: (how, end) => [how, end].filter(Boolean).join(end.startsWith('bis') ? ' ' : ', '),
    own: 'Nach einer eigenen Regel',

    label: 'Wiederholung',
    presets: {
      none: 'Keine Wiederholung',
      day: 'Jeden Tag',
      workdays: 'Jeden Werktag (Montag bis Freitag)',
      custom: 'Andere …',
      expert: 'Eigene Regel (RFC 5545) …',
    },
    every: 'Alle',
    units: { DAILY: 'Tage', WEEKLY: 'Wochen', MONTHLY: 'Monate', YEARLY: 'Jahre' },
    unit: 'Einheit',
    onDays: 'Am',
    onWhich: 'Am',
    ends: 'Endet',
    endsUntil: 'am',
    endsCount: 'nach',
    endsNever: 'so spät, wie gebucht werden kann',
    occurrences: 'Terminen',
    missing: (day) => `Monate ohne einen ${day}. werden ausgelassen.`,
    text: 'Regel',
    textHint: 'Zum Beispiel FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=1;COUNT=6. Der Beginn muss einer ihrer Termine sein.',

    dates: (n) => (n === 1 ? '1 Termin' : `${n} Termine`),
    conflicts: (n) => (n === 0 ? 'alle möglich' : n === 1 ? '1 nicht möglich' : `${n} nicht möglich`),
    left: (n) => (n === 1 ? '1 ausgelassen' : `${n} ausgelassen`),
    preview: 'Termine',
    needRoom: 'Wählen Sie Raum und Zeit, um jeden Termin zu sehen.',
    onConflict: 'Was mit Terminen geschieht, die nicht möglich sind',
    conflictChoices: { fail: 'Einzeln entscheiden', skip: 'Auslassen', other_room: 'Andere Räume suchen' },
    stay: 'Lassen, wie sie sind',
    stays: 'Bleibt, wie er ist',
    choice: (date) => `Was mit ${date} geschieht`,
    keep: 'Behalten',
    skip: 'Auslassen',
    otherRoom: 'Anderer Raum …',
    inRoom: (room) => `In ${room}`,
    noOther: 'Dann ist kein anderer Raum frei.',
    skipped: 'Ausgelassen',
    fresh: 'Neu',
    changed: 'Ändert sich',
    dropped: 'Wird abgesagt',
    unchanged: 'Es ändert sich nichts.',
    onlyConflicts: 'Nur die, die nicht möglich sind',
    unsolved: 'Einige Termine sind nicht möglich. Entscheiden Sie, was mit ihnen geschieht.',
  },
}

export default de
