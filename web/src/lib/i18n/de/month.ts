import type en from '../en/month'

const de: typeof en = {
  overview: {
    label: 'Belegung der Räume, Tag für Tag',
    room: 'Raum',
    free: 'Frei',
    none: 'Keine Termine',
    meetings: (n) => (n === 1 ? '1 Termin' : `${n} Termine`),
    cell: (meetings, time, share) => `${meetings}, ${time}, zu ${share} belegt`,
  },
  month: {
    title: 'Monat',
    label: (month) => `Räume im ${month}`,
    words: (meetings, share) => `${meetings}, zu ${share} belegt`,
    own: 'Meine Termine',
    rest: (n) => `und ${n} weitere`,
    previous: 'Voriger Monat',
    next: 'Nächster Monat',
  },
  agenda: {
    label: 'Termine nach Tagen',
    group: 'Gruppieren',
    byDay: 'Nach Tagen',
    byRoom: 'Nach Räumen',
    none: 'Nichts gebucht',
    noneText: 'Ab diesem Tag hat niemand diese Räume gebucht.',
    end: 'Danach ist nichts gebucht.',
    more: 'Mehr anzeigen',
    loaded: (n) => `${n} Termine angezeigt`,
  },
}

export default de
