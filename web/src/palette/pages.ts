import { views, type View } from '../day/filters.svelte'
import { i18n } from '../lib/i18n/index.svelte'
import { session } from '../lib/session.svelte'
import type { IconName } from '../lib/ui/Icon.svelte'
import { groups } from '../pages/admin/sections'

export interface Page {
  name: string
  path: string
  icon: IconName
}

/** The pages that the user can open. */
export function pages(): Page[] {
  const { nav, day, profile, admin } = i18n.t
  const named = day.views as Record<View, string>
  return [
    ...(Object.keys(views) as View[]).map((v) => ({ name: `${nav.rooms}: ${named[v]}`, path: views[v], icon: 'grid' as const })),
    { name: nav.find, path: '/find', icon: 'search' as const },
    { name: nav.mine, path: '/mine', icon: 'calendar' as const },
    { name: profile.title, path: '/me', icon: 'user' as const },
    ...(session.decides ? [{ name: nav.decide, path: '/requests', icon: 'inbox' as const }] : []),
    ...(session.admin ? groups.flatMap((g) => g.sections).map((s) => ({ name: `${nav.admin}: ${admin.sections[s.name]}`, path: `/admin/${s.name}`, icon: s.icon })) : []),
  ]
}
