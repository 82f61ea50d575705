import type en from '../en/requests'

const de: typeof en = {
  decide: {
    title: 'Genehmigungen',
    none: 'Keine offenen Anfragen',
    noneText: 'Hier erscheinen Anfragen für Räume, die Sie genehmigen.',
    asked: (who, ago) => `${who} hat ${ago} angefragt`,
    expires: (when) => `Wird ${when} automatisch abgelehnt`,
    passes: (when) => `Wird ${when} automatisch genehmigt`,
    agreed: (names) => `Genehmigt von ${names}`,
    move: 'Gewünschte Zeit',
    all: 'Alle auswählen',
    mark: (title) => `${title} auswählen`,
    chosen: (n) => `${n} ausgewählt`,
    approveAll: (n) => `${n} genehmigen`,
    rejectAll: (n) => `${n} ablehnen`,
  },
}

export default de
