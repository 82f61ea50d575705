/** The scopes of topics, which an admin gives to programs; each may name one topic. */
export const topicScopes: string[] = ['topics:produce', 'topics:consume', 'topics:admin']

/** What the token of somebody can be limited to who is no administrator. */
export const memberScopes: string[] = ['meetings:read', 'meetings:write', 'rooms:read']

/** What a token can be limited to. */
export const scopes: string[] = [
  'meetings:read',
  'meetings:write',
  'rooms:read',
  'rooms:write',
  'users:read',
  'users:write',
  'notifications:read',
  'notifications:write',
  'jobs:admin',
  'audit:read',
  'webhooks:admin',
  'scim',
  ...topicScopes,
]
