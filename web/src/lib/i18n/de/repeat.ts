import { sentence } from '../sentence'
import type en from '../en/repeat'

const every = (n: number, one: string, second: string, many: string) => (n === 1 ? one : n === 2 ? second : `Alle ${n} ${many}`)
const months = (n: number) => every(n, 'Jeden Monat', 'Jeden zweiten Monat', 'Monate')

const de: typeof en = {
  repeat: {
    daily: (n) => every(n, 'Jeden Tag', 'Jeden zweiten Tag', 'Tage'),
    workdays: 'Jeden Wochentag (Montag bis Freitag)',
    weekly: (n, days, count) =>
      n === 1 ? `Jeden ${days}` : n === 2 && count === 1 ? `Jeden zweiten ${days}` : `${every(n, '', 'Jede zweite Woche', 'Wochen')} am ${days}`,
    monthlyDate: (n, day) => sentence(`${months(n)} am ${day}.`),
    monthlyLastDay: (n) => `${months(n)} am letzten Tag`,
    monthlyWeekday: (n, nth, day) => `${months(n)} am ${nth} ${day}`,
    yearly: (n, day) => `${every(n, 'Jedes Jahr', 'Jedes zweite Jahr', 'Jahre')} am ${day}`,
    nth: ['letzten', 'ersten', 'zweiten', 'dritten', 'vierten', 'fünften'],
    times: (n) => (n === 1 ? 'einmal' : `${n}-mal`),
    until: (date) => `bis ${date}`,
    joined: (how, end) => [how, end].filter(Boolean).join(end.startsWith('bis') ? ' ' : ', '),
    own: 'Benutzerdefinierte Regel',

    label: 'Wiederholung',
    presets: {
      none: 'Keine Wiederholung',
      day: 'Jeden Tag',
      workdays: 'Jeden Wochentag (Montag bis Freitag)',
      custom: 'Benutzerdefiniert …',
      expert: 'Benutzerdefinierte Regel (RRULE) …',
    },
    every: 'Alle',
    units: { DAILY: 'Tage', WEEKLY: 'Wochen', MONTHLY: 'Monate', YEARLY: 'Jahre' },
    unit: 'Einheit',
    onDays: 'Am',
    onWhich: 'Am',
    ends: 'Endet',
    endsUntil: 'am',
    endsCount: 'nach',
    endsNever: 'so weit im Voraus wie erlaubt',
    occurrences: 'Terminen',
    missing: (day) => `Monate ohne einen ${day}. werden übersprungen.`,
    text: 'Regel',
    textHint: 'Zum Beispiel FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=1;COUNT=6. Der Beginn muss zur Regel passen.',

    dates: (n) => (n === 1 ? '1 Termin' : `${n} Termine`),
    conflicts: (n) => (n === 0 ? 'alle verfügbar' : `${n} nicht verfügbar`),
    left: (n) => `${n} übersprungen`,
    preview: 'Termine',
    needRoom: 'Wählen Sie Raum und Zeit, um alle Termine zu sehen.',
    onConflict: 'Bei nicht verfügbaren Terminen',
    conflictChoices: { fail: 'Einzeln entscheiden', skip: 'Überspringen', other_room: 'Andere Räume suchen' },
    stay: 'Unverändert lassen',
    stays: 'Unverändert',
    choice: (date) => `Auswahl für ${date}`,
    keep: 'Behalten',
    skip: 'Überspringen',
    otherRoom: 'Anderer Raum …',
    inRoom: (room) => `In ${room}`,
    noOther: 'Kein anderer Raum ist verfügbar.',
    skipped: 'Übersprungen',
    fresh: 'Neu',
    itself: 'Diese Besprechung',
    changed: 'Geändert',
    dropped: 'Wird abgesagt',
    unchanged: 'Keine Änderungen.',
    onlyConflicts: 'Nur nicht verfügbare Termine anzeigen',
    unsolved: 'Einige Termine sind nicht verfügbar. Überspringen Sie sie, oder wählen Sie einen anderen Raum.',
  },
}

export default de
