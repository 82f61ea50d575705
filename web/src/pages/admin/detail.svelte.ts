import { untrack } from 'svelte'
import { router } from '../../lib/router.svelte'

/**
 * Which page of a section is shown, by what follows the section in the address: "" the list,
 * "new" the form of what is not there yet. It is to be made where a component is.
 */
export class Detail {
  name = $state('')
  #section: string
  #made = ''

  constructor(section: string) {
    this.#section = section
    $effect.pre(() => {
      const [, area, , wanted = ''] = router.path.split('/')
      // A meeting may open above; then the page stays as it is.
      if (area === 'admin') untrack(() => this.#show(wanted))
    })
  }

  #show(wanted: string) {
    // The form in which it was made goes on: somebody may be typing.
    if (this.name === 'new' && wanted && wanted === this.#made) return
    this.name = wanted
  }

  /** Gives the form of what was new the address of what was made. */
  made(id: number) {
    this.#made = String(id)
    router.go(`/admin/${this.#section}/${id}`, { replace: true, discard: true })
  }
}
