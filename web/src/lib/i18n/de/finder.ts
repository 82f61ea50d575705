import type { Dictionary } from '../en'

const texts: Pick<Dictionary, 'now' | 'find' | 'palette'> = {
  now: {
    button: 'Raum jetzt',
    choose: 'Raum und Dauer wählen',
    title: 'Ein Raum jetzt',
    meeting: (name) => `Besprechung von ${name}`,
    booked: (room, until) => `${room} gebucht bis ${until}`,
    isBooked: (room) => `${room} ist gebucht`,
    until: (time) => `bis ${time}`,
    otherRoom: 'Anderer Raum',
    none: 'Gerade ist kein Raum frei.',
    soonest: 'Gerade ist kein Raum frei. Die nächsten:',
    from: (time) => `ab ${time}`,
    details: 'Details',
  },
  find: {
    title: 'Raum finden',
    freeDates: (free, all) => `An ${free} von ${all} Terminen frei`,
    why: {
      favorite: 'Ihr Favorit',
      recent: (ago) => `Zuletzt genutzt: ${ago}`,
      fits: (persons, seats) => `Passt: ${persons} von ${seats} Plätzen`,
      has: (feature) => `Mit ${feature}`,
      floor: (floor) => `Gleiche Etage: ${floor}`,
    },
  },
  palette: {
    title: 'Suchen oder buchen',
    open: 'Suchen oder buchen (Strg+K)',
    example: 'Turing morgen 10-11 Uhr wöchentlich mit Grace',
    understood: 'Verstanden',
    assumed: 'angenommen',
    results: 'Ergebnisse',
    nobody: (name) => `Niemand namens „${name}“`,
    people: (n) => (n === 1 ? '1 Person' : `${n} Personen`),
    book: (room) => `${room} buchen`,
    bookAt: (room, time) => `${room} buchen, ${time}`,
    request: (room) => `${room} anfragen`,
    resolve: (n, room) => (n === 1 ? `1 Konflikt in ${room} lösen` : `${n} Konflikte in ${room} lösen`),
    booked: (room, time) => `${room} gebucht für ${time}`,
    details: 'Weitere Angaben…',
    detailsHint: 'Buchungsformular öffnen',
    check: 'Gäste prüfen…',
    checkHint: 'Buchungsformular öffnen und Namen korrigieren',
    room: 'Raum',
    page: 'Seite',
    hint: 'Auswählen mit Tab oder Pfeiltasten, bestätigen mit der Eingabetaste. Ein Titel in Anführungszeichen bleibt unverändert. Zeiten sind die des Raums.',
  },
}

export default texts
