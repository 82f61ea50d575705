import type en from '../en/grid'

const de: typeof en = {
  grid: {
    help: 'Die Pfeiltasten führen über Zeiten, Termine und Räume. Umschalt mit Pfeiltasten wählt eine Zeit. Die Eingabetaste bucht sie oder öffnet einen Termin. Auf einem eigenen Termin verschiebt M ihn, E ändert das Ende und S den Beginn. Die Tabulatortaste führt von einem Raum zu seiner Seite.',
    room: 'Raum',
    rooms: (n) => (n === 1 ? '1 Raum' : `${n} Räume`),
    free: 'frei',
    past: 'vorbei',
    closed: 'Geschlossen',
    blackout: 'Gesperrt',
    blackoutOf: (reason) => `Gesperrt: ${reason}`,
    buffer: 'Freigehalten',
    checkedIn: 'Angemeldet',
    checkInNow: 'Anmeldung ist offen',
    asksToMove: 'Soll hierher',
    inPast: 'Diese Zeit ist vorbei',
    taken: (title, range) => `Belegt: ${title}, ${range}`,
    closedThen: 'Der Raum ist dann geschlossen',
    tooShort: (least) => `Mindestens ${least}`,
    tooLong: (most) => `Höchstens ${most}`,
    extended: 'Der Termin geht weiter',
    requested: 'Wartet auf Genehmigung',
    notYours: 'Nur wer diesen Termin gebucht hat, kann ihn ändern.',
    moving: (title) => `${title} verschieben: Die Pfeiltasten wählen Zeit und Raum.`,
    ending: (title) => `Ende von ${title}: links und rechts ändern es.`,
    starting: (title) => `Beginn von ${title}: links und rechts ändern ihn.`,
    howToDrop: 'Die Eingabetaste legt ihn dort ab, Escape lässt ihn, wie er war.',
    asItWas: 'Alles bleibt, wie es war.',
    zoom: 'Breite einer Stunde',
    zoomIn: 'Breitere Stunden',
    zoomOut: 'Schmalere Stunden',
  },
}

export default de
