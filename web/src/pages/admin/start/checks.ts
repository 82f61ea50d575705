// What a new installation needs, and what of it is done.

export const steps = ['site', 'rooms', 'people', 'mail', 'address', 'backup'] as const
export type Step = (typeof steps)[number]

export interface Facts {
  sites: number
  rooms: number
  people: number
  /** email.driver */
  driver: string
  /** Whether a test mail was sent from this page. */
  mailed: boolean
  /** http.base_url */
  baseURL: string
  /** The address in the browser. */
  origin: string
  /** Whether the admin has confirmed that backups run. */
  backedUp: boolean
}

export function done(f: Facts): Record<Step, boolean> {
  return {
    site: f.sites > 0,
    rooms: f.rooms > 0,
    people: f.people > 1, // besides the first admin
    mail: f.driver === 'smtp' && f.mailed,
    address: f.baseURL.replace(/\/+$/, '') === f.origin,
    backup: f.backedUp,
  }
}
