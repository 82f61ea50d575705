import { tick } from 'svelte'

/** Brings the first field with a fault into view, with the focus. */
export async function firstFault(form: HTMLElement | undefined) {
  await tick()
  const at = form?.querySelector<HTMLElement>('[aria-invalid="true"], [data-fault], .notice')
  at?.scrollIntoView({ block: 'center' })
  at?.focus({ preventScroll: true })
}
