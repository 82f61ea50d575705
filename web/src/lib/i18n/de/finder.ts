import type { Dictionary } from '../en'

const texts: Pick<Dictionary, 'now' | 'find'> = {
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
    details: 'Details',
  },
  find: {
    why: {
      favorite: 'Ihr Favorit',
      recent: (ago) => `Zuletzt genutzt: ${ago}`,
      fits: (persons, seats) => `Passt: ${persons} von ${seats} Plätzen`,
      has: (feature) => `Mit ${feature}`,
      floor: (floor) => `Gleiche Etage: ${floor}`,
    },
  },
}

export default texts
