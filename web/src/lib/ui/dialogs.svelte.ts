import { untrack } from 'svelte'

/** The open modal dialogs, the topmost last. Everything outside the topmost one is inert. */
class Dialogs {
  open = $state.raw<HTMLDialogElement[]>([])

  add(el: HTMLDialogElement) {
    this.open = [...untrack(() => this.open), el]
  }

  remove(el: HTMLDialogElement) {
    this.open = untrack(() => this.open).filter((d) => d !== el)
  }
}

export const dialogs = new Dialogs()
