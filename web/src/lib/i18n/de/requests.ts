import type en from '../en/requests'

const de: typeof en = {
  decide: {
    title: 'Zu entscheiden',
    none: 'Nichts zu entscheiden',
    noneText: 'Anfragen für Räume, um die Sie sich kümmern, erscheinen hier.',
    asked: (who, ago) => `${who} hat ${ago} gefragt`,
    expires: (when) => `Wird ${when} von selbst abgelehnt`,
    passes: (when) => `Gilt ${when} von selbst als genehmigt`,
    agreed: (names) => `Zugestimmt: ${names}`,
    move: 'Stattdessen gewünscht',
    all: 'Alle auswählen',
    mark: (title) => `${title} auswählen`,
    chosen: (n) => `${n} ausgewählt`,
    approveAll: (n) => `${n} zustimmen`,
    rejectAll: (n) => `${n} ablehnen`,
  },
}

export default de
