import type { components } from '../../../lib/api/schema'

export type Mail = components['schemas']['Mail']
export type Outcome = components['schemas']['MailOutcome']

/** The states of a mail. */
export const states = ['new', 'done', 'outdated', 'refused', 'quarantined', 'dead'] as const satisfies Mail['state'][]

/** How the tag of a state looks. */
export const tone: Record<Mail['state'], string> = { new: 'warn', done: 'good', outdated: '', refused: '', quarantined: 'warn', dead: 'bad' }

/** How the tag of an answer looks. */
export const answerTone = { ACCEPTED: 'good', TENTATIVE: 'warn', DECLINED: 'bad' }
