import { untrack } from 'svelte'
import { router } from '../../lib/router.svelte'

/**
 * The shown page of a section, by the rest of the address: "" is the list,
 * "new" is the form of a new record. Create it while a component initializes.
 */
export class Detail {
  name = $state('')
  #section: string
  #made = ''

  constructor(section: string) {
    this.#section = section
    $effect.pre(() => {
      const [, area, , wanted = ''] = router.path.split('/')
      // If a meeting opens above, the page stays as it is.
      if (area === 'admin') untrack(() => this.#show(wanted))
    })
  }

  #show(wanted: string) {
    // The form that created the record stays: the user may be typing.
    if (this.name === 'new' && wanted && wanted === this.#made) return
    this.name = wanted
  }

  /** Replaces the address of the new form with that of the created record. */
  made(id: number) {
    this.#made = String(id)
    router.go(`/admin/${this.#section}/${id}`, { replace: true, discard: true })
  }
}
