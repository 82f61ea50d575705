import type { Dictionary } from '../en'

export default {
  mine: {
    title: 'Meine Termine',
    upcoming: 'Bevorstehend',
    past: 'Vergangen',
    organized: 'Sie organisieren',
    invited: 'Sie sind eingeladen',
    none: 'Nichts steht an',
    noneText: 'Termine, die Sie buchen oder zu denen Sie eingeladen sind, erscheinen hier.',
    nonePast: 'Nichts in den letzten 30 Tagen',
    tomorrow: 'Morgen',
  },
} satisfies Pick<Dictionary, 'mine'>
