import type en from '../en/month'

const de: typeof en = {
  overview: {
    label: 'Auslastung der Räume nach Tagen',
    room: 'Raum',
    free: 'Frei',
    none: 'Keine Besprechungen',
    meetings: (n) => (n === 1 ? '1 Besprechung' : `${n} Besprechungen`),
    cell: (meetings, time, share) => `${meetings}, ${time}, zu ${share} belegt`,
  },
  month: {
    title: 'Monat',
    label: (month) => `Räume im ${month}`,
    words: (meetings, share) => `${meetings}, zu ${share} belegt`,
    own: 'Meine Besprechungen',
    rest: (n) => `${n} weitere`,
    previous: 'Voriger Monat',
    next: 'Nächster Monat',
  },
  calendar: {
    label: 'Kalender',
    weeks: 'Woche',
    week: (n) => `Woche ${n}`,
    own: (n) => (n === 1 ? '1 meiner Besprechungen' : `${n} meiner Besprechungen`),
    none: 'Keine eigenen Besprechungen',
    help: 'Die Pfeiltasten wechseln den Tag, Bild auf und Bild ab den Monat. Umschalt mit den Pfeiltasten wählt bis zu 7 Tage aus. Die Eingabetaste zeigt sie an.',
  },
  agenda: {
    label: 'Besprechungen nach Tagen',
    group: 'Gruppieren',
    byDay: 'Nach Tagen',
    byRoom: 'Nach Räumen',
    none: 'Keine Besprechungen gebucht',
    noneText: 'Für diese Räume gibt es ab diesem Tag keine Buchungen.',
    end: 'Keine weiteren Buchungen.',
    more: 'Mehr anzeigen',
    loaded: (n) => `${n} Besprechungen angezeigt`,
  },
}

export default de
