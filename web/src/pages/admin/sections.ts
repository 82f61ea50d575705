import type { Component } from 'svelte'
import type { Dictionary } from '../../lib/i18n/en'
import type { IconName } from '../../lib/ui/Icon.svelte'

interface Section {
  /** In the address; its title is of the same name. */
  name: keyof Dictionary['admin']['sections']
  icon: IconName
  load: () => Promise<{ default: Component }>
}

interface Group {
  name: keyof Dictionary['admin']['groups']
  sections: Section[]
}

/** The admin pages by group, as the navigation shows them; each is loaded when it is opened. */
export const groups: Group[] = [
  {
    name: 'people',
    sections: [
      { name: 'start', icon: 'check', load: () => import('./start/Start.svelte') },
      { name: 'rooms', icon: 'grid', load: () => import('./Rooms.svelte') },
      { name: 'sites', icon: 'pin', load: () => import('./Sites.svelte') },
      { name: 'floorPlans', icon: 'pin', load: () => import('./plans/FloorPlans.svelte') },
      { name: 'types', icon: 'list', load: () => import('./Types.svelte') },
      { name: 'customFields', icon: 'text', load: () => import('./CustomFields.svelte') },
      { name: 'blackouts', icon: 'ban', load: () => import('./blackouts/Blackouts.svelte') },
      { name: 'holidays', icon: 'calendar', load: () => import('./holidays/Holidays.svelte') },
      { name: 'publicCalendar', icon: 'globe', load: () => import('./PublicCalendar.svelte') },
      { name: 'faults', icon: 'warn', load: () => import('./faults/Faults.svelte') },
      { name: 'people', icon: 'people', load: () => import('./People.svelte') },
      { name: 'groups', icon: 'people', load: () => import('./groups/Groups.svelte') },
      { name: 'imports', icon: 'calendar', load: () => import('./imports/Imports.svelte') },
      { name: 'tokens', icon: 'lock', load: () => import('./Tokens.svelte') },
    ],
  },
  {
    name: 'operations',
    sections: [
      { name: 'jobs', icon: 'hourglass', load: () => import('./queue/Queue.svelte') },
      { name: 'dead', icon: 'warn', load: () => import('./queue/Dead.svelte') },
      { name: 'topics', icon: 'list', load: () => import('./queue/Topics.svelte') },
      { name: 'webhooks', icon: 'globe', load: () => import('./hooks/Webhooks.svelte') },
      { name: 'notifications', icon: 'bell', load: () => import('./notifications/Notifications.svelte') },
      { name: 'mailroom', icon: 'inbox', load: () => import('./mailroom/Mailroom.svelte') },
      { name: 'outbox', icon: 'inbox', load: () => import('./Outbox.svelte') },
    ],
  },
  {
    name: 'insight',
    sections: [
      { name: 'utilisation', icon: 'chart', load: () => import('./reports/Utilisation.svelte') },
      { name: 'meetings', icon: 'list', load: () => import('./reports/Meetings.svelte') },
      { name: 'punctuality', icon: 'clock', load: () => import('./reports/Punctuality.svelte') },
      { name: 'forgotten', icon: 'repeat', load: () => import('./reports/Forgotten.svelte') },
      { name: 'audit', icon: 'text', load: () => import('./audit/History.svelte') },
    ],
  },
  {
    name: 'system',
    sections: [
      { name: 'branding', icon: 'star', load: () => import('./branding/Branding.svelte') },
      { name: 'config', icon: 'gear', load: () => import('./config/Config.svelte') },
    ],
  },
]

/** All sections, by name. */
export const sections = new Map<string, Section>(groups.flatMap((g) => g.sections).map((s) => [s.name, s]))
