import type { Dictionary } from '../en'

export default {
  decide: {
    title: 'Zu entscheiden',
    none: 'Nichts zu entscheiden',
    noneText: 'Anfragen für Räume, um die Sie sich kümmern, erscheinen hier.',
    asked: (who, ago) => `${who} hat ${ago} gefragt`,
    expires: (when) => `Verfällt ${when}`,
  },
} satisfies Pick<Dictionary, 'decide'>
