import type en from '../en/grid'

const de: typeof en = {
  grid: {
    help: 'Mit den Pfeiltasten wechseln Sie zwischen Zeiten, Besprechungen und Räumen. Umschalt und Pfeiltasten wählen eine Zeit aus. Die Eingabetaste bucht sie oder öffnet eine Besprechung. Auf eigenen Besprechungen verschiebt M die Besprechung, E ändert das Ende und S den Beginn. Die Tabulatortaste führt zur Seite des Raums.',
    room: 'Raum',
    rooms: (n) => (n === 1 ? '1 Raum' : `${n} Räume`),
    free: 'frei',
    past: 'vorbei',
    closed: 'Geschlossen',
    blackout: 'Nicht verfügbar',
    blackoutOf: (reason) => `Nicht verfügbar: ${reason}`,
    buffer: 'Puffer',
    checkedIn: 'Eingecheckt',
    checkInNow: 'Einchecken ist möglich',
    asksToMove: 'Verschiebung angefragt',
    inPast: 'Diese Zeit ist vorbei',
    taken: (title, range) => `Belegt: ${title}, ${range}`,
    closedThen: 'Der Raum ist zu dieser Zeit geschlossen',
    tooShort: (least) => `Mindestens ${least}`,
    tooLong: (most) => `Höchstens ${most}`,
    extended: 'Besprechung verlängert',
    requested: 'Wartet auf Genehmigung',
    notYours: 'Nur der Organisator kann diese Besprechung ändern.',
    moving: (title) => `${title} wird verschoben. Wählen Sie Zeit und Raum mit den Pfeiltasten.`,
    ending: (title) => `Das Ende von ${title} wird geändert. Verwenden Sie die Pfeiltasten links und rechts.`,
    starting: (title) => `Der Beginn von ${title} wird geändert. Verwenden Sie die Pfeiltasten links und rechts.`,
    howToDrop: 'Eingabetaste zum Ablegen, Esc zum Abbrechen.',
    asItWas: 'Abgebrochen. Nichts wurde geändert.',
    zoom: 'Breite einer Stunde',
    zoomIn: 'Breitere Stunden',
    zoomOut: 'Schmalere Stunden',
  },
}

export default de
